"""The growth of a layer's cost with T and D, and the documents' numbers beside counts (iiga-equations section 14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.lecture import cost, cost_count
from core.lecture.cost_count import Setup
from core.models.iiga import DOCUMENT, IIGAConfig
from core.models.tlob import BTC

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
        tokens=tokens, width=width, heads=heads,
        projections=cost.projection_macs(tokens, tokens, width), scores=cost.score_macs(tokens, tokens, width),
        feed_forward=cost.feed_forward_macs(tokens, width, 4 * width), counted=cost_count.layer_macs(tokens, width, heads),
        maps=cost.BYTES * cost.map_numbers(tokens, tokens, heads), middle=cost.BYTES * tokens * 4 * width,
    )  # fmt: skip


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
        tokens=t, projections=4 * t * width**2, scores=2 * t**2 * width, feed_forward=8 * t * width**2,
        maps=cost.BYTES * heads * t**2, middle=cost.BYTES * t * 4 * width,
        crossing_attention=cost.crossing_attention(width), crossing_layer=cost.crossing_layer(width),
        crossing_memory=cost.crossing_memory(width, heads),
    )  # fmt: skip


def places(setups: Mapping[str, Setup]) -> list[tuple[str, int, int]]:
    """Code, T and D of each model's attention; TLOB has two kinds, of which the second swaps T and D."""
    marks = []
    for code, setup in setups.items():
        t, d = cost.tokens_of(setup.config, setup.tokens), setup.config.width
        marks.append((code, t, d))
        if setup.config.attends_to_channels:
            marks.append((code, d, t))
    return marks


def token_choices(setup: Setup) -> list[int]:
    """Values of T that the model takes, the configured one included."""
    return sorted(setup.config.sequence_lengths(TOKENS) | {cost.tokens_of(setup.config, setup.tokens)})


def width_choices(setup: Setup) -> list[int]:
    """Values of D that the model takes, the configured one included."""
    config = setup.config
    return sorted({d for d in WIDTHS if d % config.width_step == 0 and d <= max(512, config.width)} | {config.width})


def sized(setup: Setup, tokens: int, width: int) -> Setup:
    """The setup with another T and D."""
    if setup.config.sequence_length is None:
        return replace(setup, config=setup.config.resized(width=width), tokens=tokens)
    return replace(setup, config=setup.config.resized(length=tokens, width=width))


@dataclass(frozen=True)
class DocumentNumber:
    """A document's number beside the counted one, parameters, MACs or FLOPs; `code` is that of its label on the page."""

    code: str
    document: float
    counted: int


def claims(frames: int = 12, batch: int = 2, iiga: IIGAConfig = DOCUMENT) -> list[DocumentNumber]:
    """The numbers of tlob-architecture 6.1 and 6.3 and iiga-equations 14.3, beside counts of one clip and of a batch (FLOPs)."""
    lean, listing = cost_count.count(replace(BTC, qkv="single"), 0), cost_count.count(BTC, 0)
    one, many = cost.iiga_split(iiga, frames), cost.iiga_split(iiga, frames, batch)
    return [
        DocumentNumber("tlob_table", 883_275, lean.all_parameters),
        DocumentNumber("tlob_listing", 883_275, listing.all_parameters),
        DocumentNumber("tlob_scores", 109e6, cost.tlob_score_product(BTC, 32)),
        DocumentNumber("tlob_batch", 109e6, 2 * 32 * listing.all_macs),
        DocumentNumber("iiga_cnn_one", 3.6e9, one["cnn"]),
        DocumentNumber("iiga_cnn_batch", 3.6e9, 2 * many["cnn"]),
        DocumentNumber("iiga_layers_one", 0.8e9, one["transformer"]),
        DocumentNumber("iiga_layers_batch", 0.8e9, 2 * many["transformer"]),
        DocumentNumber("iiga_total_one", 4.4e9, sum(one.values())),
        DocumentNumber("iiga_total_batch", 4.4e9, 2 * sum(many.values())),
    ]
