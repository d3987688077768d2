"""ONNX files of the shipped checkpoints, run by ONNX Runtime beside PyTorch."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest
import torch

import attention_observatory as library
from core import checkpoints, onnx_file
from core.messages import BadValue
from core.models import MODELS


@pytest.mark.parametrize(("name", "shape", "fewer"), [
    ("tlob", (3, 128, 52), {}),
    ("cct", (1, 3, 128, 128), {"layers": 1, "repeats": [1, 1, 1, 1, 1]}), ("iiga_hands", (1, 31, 96), {"layers": 1}),
])  # fmt: skip
def test_a_file_answers_as_the_network_does_with_every_map(
    name: str, shape: tuple[int, ...], fewer: dict[str, Any], tmp_path: Path
) -> None:
    """On another number of samples, or frames, than it was traced with; deep ones with one block of each kind, untrained."""
    folder = checkpoints.FOLDER
    if fewer:
        folder, kept = tmp_path / "untrained", checkpoints.read_card(name)
        kept["config"] |= fewer
        network, _config = MODELS[kept["model"]]
        torch.manual_seed(0)
        checkpoints.save(name, network(checkpoints.read_config(kept, network)), kept, folder=folder)
    model, _example, card = onnx_file.network(name, folder=folder)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        logits, maps = model.model(x, return_attention=True)
    file = tmp_path / f"{name}.onnx"
    library.export_onnx(str(folder / name) if fewer else name, file)
    session = onnxruntime.InferenceSession(file)
    assert [one.name for one in session.get_outputs()] == ["logits", *maps]
    answers = session.run(None, {"x": x.numpy()})
    for answer, expected in zip(answers, [logits, *maps.values()], strict=True):
        np.testing.assert_allclose(answer, expected.numpy(), atol=1e-4)
    assert json.loads(session.get_modelmeta().custom_metadata_map["card"]) == card == checkpoints.read_card(name, folder=folder)


def test_a_model_of_two_inputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="dates has no file of one input"):
        onnx_file.export("dates", tmp_path / "dates.onnx")
    assert not list(tmp_path.iterdir())
