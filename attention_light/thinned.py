"""Layers on their way: maps that stay behind until they are asked for, and what stands for them until then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attention_light.layers import Layer
from attention_light.message import MessageParts, framed
from attention_light.stages import Stage


@dataclass(frozen=True)
class ThinMaps:
    """Maps of blocks of tokens, for the small squares: how bright each block of keys is for a block of queries.

    Attributes:
        light: (heads and their mean, blocks of queries, blocks of keys), uint8: 255 times the root of the mean weight over the
            largest one, of its row where a square shows one row at a time.
        queries: (n,) the block of each query. keys: (m,) that of each key.
    """

    light: NDArray[np.uint8]
    queries: NDArray[np.intp]
    keys: NDArray[np.intp]

    def described(self, add: MessageParts) -> dict[str, Any]:
        """Its arrays."""
        return {name: add(getattr(self, name).astype(kind)) for name, kind in FORMS.items()}


FORMS = {"light": np.uint8, "queries": np.uint16, "keys": np.uint16}


@dataclass(frozen=True)
class SentLayer:
    """A layer on its way.

    Attributes:
        mean: of its heads, (n, m); None where no rollout is made of it.
        strongest: the largest weight between two tokens that mean something, 0 where there are none, its head and its query.
        thin: its thinned maps, where it stays behind.
    """

    layer: Layer
    mean: NDArray[np.float32] | None
    strongest: tuple[float, int, int]
    thin: ThinMaps | None

    @classmethod
    def of(cls, layer: Layer, stage: Stage, cells: int, *, rolled: bool) -> Self:
        """Go through the heads once.

        Args:
            cells: that a thinned map may have; 0 where the layer travels as it is. rolled: whether a rollout is made of its mean.
        """
        heads, n, m = layer.shape
        mean = np.zeros((n, m), dtype=np.float32) if rolled else None
        meant = stage.meant(layer.of, layer.kind)
        blocks = _blocks(stage, n, m, cells) if cells else None
        down, across = map(_averages, blocks) if blocks else (None, None)
        strongest, small = (0.0, 0, 0), []
        for head, one in enumerate(layer.maps()):
            weights = np.asarray(one, dtype=np.float32)
            if mean is not None:
                mean += weights / heads
            if down is not None and across is not None:
                small.append(down @ weights @ across.T)
            weights = weights * meant
            query, key = divmod(int(weights.argmax()), m)
            if weights[query, key] > strongest[0]:
                strongest = float(weights[query, key]), head, query
        if not blocks:
            return cls(layer, mean, strongest, None)
        light = np.sqrt(np.stack([*small, np.mean(small, axis=0)]))
        light /= np.maximum(light.max(axis=-1 if stage.row_by_row else (-2, -1), keepdims=True), np.finfo(np.float32).tiny)
        return cls(layer, mean, strongest, ThinMaps(np.round(255 * light).astype(np.uint8), *blocks))

    def part(self) -> bytes:
        """The message that brings the layer."""
        add = MessageParts()
        return framed(self.layer.described(add), add)


def _blocks(stage: Stage, n: int, m: int, cells: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Blocks of queries and of keys; finer ones of keys where a square shows one row at a time."""
    keys = stage.blocks(m, max(int(cells**0.5), 160 if stage.row_by_row else 1))
    return stage.blocks(n, max(1, cells // (int(keys.max()) + 1))), keys


def _averages(blocks: NDArray[np.intp]) -> NDArray[np.float32]:
    """(blocks, n): what makes block means of n values."""
    chosen = np.arange(int(blocks.max()) + 1)[:, None] == blocks
    return np.asarray(chosen / chosen.sum(axis=1, keepdims=True), dtype=np.float32)
