"""The growth of a layer's cost with T and D (iiga-equations section 14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.lecture import cost, cost_count

Array = NDArray[np.float64]
TOKENS: Final = (4, 8, 12, 16, 24, 32, 50, 64, 100, 128, 197, 256, 512, 1024, 2048, 4096, 8192)
WIDTHS: Final = (16, 32, 40, 64, 96, 128, 144, 256, 512, 768, 1280, 2048)
HEADS: Final = (1, 2, 4, 8)
"""Choices of the page; every number of heads divides every width."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One encoder layer of T tokens, width D, N heads and a feed-forward middle of 4 D.

    Attributes:
        projections, scores, feed_forward: MACs by formula. counted: MACs of the built layer, all three.
        maps, middle: bytes of N T^2 weights and of T * 4 D numbers, float32.
    """

    tokens: int
    width: int
    heads: int
    projections: int
    scores: int
    feed_forward: int
    counted: int
    maps: int
    middle: int

    @property
    def macs(self) -> int:
        """The sum of the formulas."""
        return self.projections + self.scores + self.feed_forward


def layer(tokens: int, width: int, heads: int) -> Layer:
    """The layer's terms, and PyTorch's count of it."""
    return Layer(
        tokens=tokens,
        width=width,
        heads=heads,
        projections=cost.projection_macs(tokens, tokens, width),
        scores=cost.score_macs(tokens, tokens, width),
        feed_forward=cost.feed_forward_macs(tokens, width, 4 * width),
        counted=cost_count.layer_macs(tokens, width, heads),
        maps=cost.BYTES * cost.map_numbers(tokens, tokens, heads),
        middle=cost.BYTES * tokens * 4 * width,
    )


@dataclass(frozen=True, kw_only=True)
class Growth:
    """A layer's terms along T, MACs and bytes, and the T at which two of them are equal.

    Attributes:
        tokens: (n,), evenly spread in the logarithm. The others: (n,).
        crossing_attention, crossing_layer, crossing_memory: T = 2 D, 6 D and 4 D / N.
    """

    tokens: Array
    projections: Array
    scores: Array
    feed_forward: Array
    maps: Array
    middle: Array
    crossing_attention: float
    crossing_layer: float
    crossing_memory: float


def growth(width: int, heads: int) -> Growth:
    """The terms of a layer of width D for T from 1 to the page's largest."""
    t = np.geomspace(1, TOKENS[-1], 120)
    return Growth(
        tokens=t,
        projections=4 * t * width**2,
        scores=2 * t**2 * width,
        feed_forward=8 * t * width**2,
        maps=cost.BYTES * heads * t**2,
        middle=cost.BYTES * t * 4 * width,
        crossing_attention=cost.crossing_attention(width),
        crossing_layer=cost.crossing_layer(width),
        crossing_memory=cost.crossing_memory(width, heads),
    )
