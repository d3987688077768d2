"""Loads a visitor's own checkpoint after checking it, and keeps visitors' clips for links."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import torch

from core import checkpoints
from core.checkpoints import CheckpointError
from core.models.iiga import IIGA, IIGAConfig
from core.signs.recogniser import Recogniser
from core.signs.video import MAX_FRAMES, Footage
from core.store import BoundedStore

MAX_MIB: Final = 400
"""Of a checkpoint's weights: the document's 1,232 glosses at width 1280 take 315 MiB."""
MAX_CARD_BYTES: Final = 8 * 2**20
MAX_LAYERS: Final = 24
MAX_WIDTH: Final = 4096
KEPT: Final = 8


def load_own(card: bytes, weights: bytes) -> Recogniser:
    """A recogniser of an uploaded pair, card and safetensors.

    The card's digest, the sizes that it asks for and the tensors' names and shapes are compared before a network is built.

    Raises:
        CheckpointError: where they do not hold together, are no IIGA, or are too large.
    """
    if len(weights) > MAX_MIB * 2**20:
        raise CheckpointError(
            "the weights take {size:.0f} MiB: up to {most} MiB can be loaded", size=len(weights) / 2**20, most=MAX_MIB
        )
    if len(card) > MAX_CARD_BYTES:
        raise CheckpointError(
            "the card takes {size:.0f} MiB: up to {most} MiB can be read", size=len(card) / 2**20, most=MAX_CARD_BYTES // 2**20
        )
    checkpoint = checkpoints.from_bytes(card, weights)
    if checkpoint.card["model"] != "iiga":
        raise CheckpointError("the card is of a {model!r}: this page takes an 'iiga'", model=checkpoint.card["model"])
    shapes = {name: tuple(tensor.shape) for name, tensor in checkpoint.weights.items()}
    _compare(_config(checkpoint.card), shapes)
    return Recogniser(checkpoint)


def _config(card: dict[str, Any]) -> IIGAConfig:
    config: IIGAConfig = checkpoints.read_config(card, IIGA)
    sizes = (config.width, config.image_channels, config.track_features, config.image_size, config.vocabulary // 16)
    if config.layers > MAX_LAYERS or config.track_convolutions > MAX_LAYERS or max(sizes) > MAX_WIDTH:
        raise CheckpointError(
            "the card asks for a larger network than can be built here: up to {layers} layers of width {width}",
            layers=MAX_LAYERS,
            width=MAX_WIDTH,
        )
    return config


def _compare(config: IIGAConfig, shapes: dict[str, tuple[int, ...]]) -> None:
    try:
        with torch.device("meta"):  # shapes without memory
            wanted = {name: tuple(tensor.shape) for name, tensor in IIGA(config).state_dict().items()}
    except (ValueError, TypeError, RuntimeError, AssertionError) as error:
        raise CheckpointError("no IIGA can be built from the card's config: {reason}", reason=error) from error
    if lacking := wanted.keys() - shapes.keys():
        raise CheckpointError("the weights do not fit the card's config: they lack {name}", name=min(lacking))
    if superfluous := shapes.keys() - wanted.keys():
        raise CheckpointError("the weights do not fit the card's config: it has no place for their {name}", name=min(superfluous))
    for name, shape in wanted.items():
        if shapes[name] != shape:
            raise CheckpointError(
                "the weights do not fit the card's config: {name} is {found}, not {shape}",
                name=name,
                found=shapes[name],
                shape=shape,
            )


STORE: Final[BoundedStore[tuple[str, Footage]]] = BoundedStore(
    key=lambda clip: hashlib.sha256(clip[1].frames.tobytes()).hexdigest()[:12],
    size=lambda clip: clip[1].frames.nbytes,
    most=KEPT,
    max_bytes=KEPT * MAX_FRAMES * 224 * 224 * 3,
)
"""The process's own clips, each with its name: `STORE.keep((name, footage))` gives the id for a link."""
