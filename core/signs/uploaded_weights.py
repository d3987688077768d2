"""What a visitor brings along: a checkpoint of their own, checked before anything is built of it; and clips, kept for a link."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final

import torch

from core import checkpoints
from core.checkpoints import CheckpointError
from core.models.iiga import IIGA, IIGAConfig
from core.signs.recogniser import Recogniser
from core.signs.video import Footage

MOST_MIB: Final = 400
"""Of a checkpoint's weights: the document's 1,232 glosses at width 1280 take 315 MiB."""
MOST_CARD_BYTES: Final = 8 * 2**20
MOST_LAYERS: Final = 24
MOST_WIDTH: Final = 4096
KEPT: Final = 8


def load_own(card: bytes, weights: bytes) -> Recogniser:
    """A recogniser of an uploaded pair, card and safetensors.

    The card's digest, the sizes it asks for and the names and shapes in the file's header are compared before memory is taken.

    Raises:
        CheckpointError: where they do not hold together, are no IIGA, or are too large.
    """
    if len(weights) > MOST_MIB * 2**20:
        raise CheckpointError(f"the weights take {len(weights) / 2**20:.0f} MiB: up to {MOST_MIB} MiB can be loaded")
    if len(card) > MOST_CARD_BYTES:
        raise CheckpointError(f"the card takes {len(card) / 2**20:.0f} MiB: up to {MOST_CARD_BYTES // 2**20} MiB can be read")
    told = _parsed(card)
    if hashlib.sha256(weights).hexdigest() != told.get("weights_sha256"):
        raise CheckpointError("the weights are not those of the card: their SHA-256 differs from its weights_sha256")
    if told.get("model") != "iiga":
        raise CheckpointError(f"the card is of a {told.get('model')!r}: this page takes an 'iiga'")
    _compare(_config(told), _shapes(weights))
    name = "own"  # of the files alone; the card keeps its own
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{name}.safetensors").write_bytes(weights)
        (Path(folder) / f"{name}.json").write_text(json.dumps({**told, "name": name}), encoding="utf-8")
        found = checkpoints.load(name, folder=Path(folder))
    return Recogniser(checkpoints.Checkpoint(card=told, weights=found.weights))


def _parsed(card: bytes) -> dict[str, Any]:
    try:
        told = json.loads(card)
    except ValueError as error:
        raise CheckpointError("the card is not valid JSON: choose the .json file that belongs to the weights") from error
    if not isinstance(told, dict):
        raise CheckpointError("the card is not a JSON object: choose the .json file that belongs to the weights")
    return told


def _config(told: dict[str, Any]) -> IIGAConfig:
    try:
        config = IIGAConfig(**told["config"])
        sizes = (config.width, config.image_channels, config.track_features, config.image_size, config.vocabulary // 16)
        if config.layers > MOST_LAYERS or config.track_convolutions > MOST_LAYERS or max(sizes) > MOST_WIDTH:
            raise CheckpointError(
                f"the card asks for a larger network than can be built here: up to {MOST_LAYERS} layers of width {MOST_WIDTH}"
            )
    except CheckpointError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"the card's config does not describe an IIGA: {error}") from error
    return config


def _shapes(weights: bytes) -> dict[str, tuple[int, ...]]:
    """Names and shapes by the file's header alone."""
    try:
        length = int.from_bytes(weights[:8], "little")
        if not 2 <= length <= len(weights) - 8:
            raise ValueError("no header")
        header = json.loads(weights[8 : 8 + length])
        return {name: tuple(map(int, entry["shape"])) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError("the weights are no safetensors file: choose the one that belongs to the card") from error


def _compare(config: IIGAConfig, shapes: dict[str, tuple[int, ...]]) -> None:
    try:
        with torch.device("meta"):  # shapes without memory
            wanted = {name: tuple(tensor.shape) for name, tensor in IIGA(config).state_dict().items()}
    except (ValueError, TypeError, RuntimeError, AssertionError) as error:
        raise CheckpointError(f"no IIGA can be built from the card's config: {error}") from error
    for kind, names in (("lack", wanted.keys() - shapes.keys()), ("have besides", shapes.keys() - wanted.keys())):
        if names:
            raise CheckpointError(f"the weights do not fit the card's config: they {kind} {min(names)}")
    for name, shape in wanted.items():
        if shapes[name] != shape:
            raise CheckpointError(f"the weights do not fit the card's config: {name} is {shapes[name]}, not {shape}")


def mebibytes(config: IIGAConfig) -> float:
    """What the weights of a configuration take in float32."""
    with torch.device("meta"):
        return sum(math.prod(tensor.shape) for tensor in IIGA(config).state_dict().values()) * 4 / 2**20


class ClipStore:
    """Sampled clips by their id, the newest few of a process, so that a link to an upload works while the app runs."""

    def __init__(self, capacity: int = KEPT) -> None:
        self._capacity = capacity
        self._clips: OrderedDict[str, tuple[str, Footage]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, name: str, footage: Footage) -> str:
        """Keep a clip under the digest of its frames, and return that."""
        key = hashlib.sha256(footage.frames.tobytes()).hexdigest()[:12]
        with self._lock:
            self._clips[key] = name, footage
            self._clips.move_to_end(key)
            while len(self._clips) > self._capacity:
                self._clips.popitem(last=False)
        return key

    def find(self, key: str) -> tuple[str, Footage] | None:
        """Name and clip; None where this process has none (any longer)."""
        with self._lock:
            return self._clips.get(key)


STORE: Final = ClipStore()
"""The process's own."""
