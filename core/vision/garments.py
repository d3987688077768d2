"""Several garments in one photograph: up to three that lie apart on one ground, the largest first, each with a box of its own.

Regions are what has none of the colours of the picture's rim, grown together where they nearly touch. Each is asked about by
itself: only what the model takes for a garment counts, and neighbours of one kind are one, as two shoes are a pair.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch.nn import functional as F

from core.vision.pictures import Bytes

MAX_GARMENTS: Final = 3
MAX_REGIONS: Final = 5
"""Regions that are asked about."""
SIDE: Final = 96
"""Longest side of the picture in which regions are looked for, pixels."""
RIM: Final = 0.05
"""Share of a side that the rim takes, whose colours are the ground's."""
COLOURS: Final = 4
"""Of the ground."""
APART: Final = 24.0
"""Levels by which a garment's colour differs from all of the ground's at least; brightness counts half, as shadows change it."""
MIN_AREA: Final = 0.03
"""Share of the picture that a region covers at least."""
MIN_SHARE: Final = 0.15
"""Of the largest region's area."""
MIN_PROBABILITY: Final = 0.5
"""Of a garment's class."""
NEIGHBOURS: Final = 12
"""Percent of the picture's side: regions of one kind with a smaller gap are one garment."""
Edges = tuple[int, int, int, int]
"""Left, top, right and bottom, percent of width and height."""
Answer = Callable[[Edges], tuple[int, float, bool]]
"""A box's likeliest class, its probability, and whether it is flagged."""


@dataclass(frozen=True, kw_only=True)
class FoundGarment:
    """One of several garments: its box, its class by number, and how probable that is."""

    edges: Edges
    label: int
    probability: float

    @property
    def area(self) -> int:
        """Of the box, in percent of a percent."""
        left, top, right, bottom = self.edges
        return (right - left) * (bottom - top)


def several_garments(rgb: Bytes, answer: Answer) -> tuple[FoundGarment, ...]:
    """Two or three garments of a picture (height, width, 3), the largest first; none where it shows one, or cannot be parted."""
    boxes = regions(rgb)
    if len(boxes) < 2:
        return ()
    asked = [(edges, *answer(edges)) for edges in boxes]
    garments = [
        FoundGarment(edges=edges, label=label, probability=probability)
        for edges, label, probability, flagged in asked
        if not flagged and probability >= MIN_PROBABILITY
    ]
    joined = _pairs(garments)
    return tuple(sorted(joined, key=lambda one: -one.area)[:MAX_GARMENTS]) if len(joined) > 1 else ()


def _pairs(garments: Sequence[FoundGarment]) -> list[FoundGarment]:
    """Neighbours of one kind as one garment, with the box around both and the smaller probability."""
    joined: list[FoundGarment] = []
    for one in garments:
        near = next((other for other in joined if other.label == one.label and _gap(other.edges, one.edges) < NEIGHBOURS), None)
        if near is None:
            joined.append(one)
            continue
        (a, b, c, d), (e, f, g, h) = near.edges, one.edges
        around = (min(a, e), min(b, f), max(c, g), max(d, h))
        probability = min(near.probability, one.probability)
        joined[joined.index(near)] = FoundGarment(edges=around, label=one.label, probability=probability)
    return joined


def _gap(one: Edges, other: Edges) -> int:
    """Percent between two boxes, along the axis on which they lie further apart; below 0 where they overlap on both."""
    return max(max(one[0], other[0]) - min(one[2], other[2]), max(one[1], other[1]) - min(one[3], other[3]))


def regions(rgb: Bytes) -> list[Edges]:
    """Boxes of what stands apart from the ground of a picture (height, width, 3), the largest region first."""
    image = Image.fromarray(rgb)
    image.thumbnail((SIDE, SIDE), Image.Resampling.BOX)
    outside = _closed(_not_ground(np.asarray(image.convert("YCbCr"), np.float32)))
    height, width = outside.shape
    found = pieces(outside, MAX_REGIONS)
    least = max(MIN_AREA * outside.size, MIN_SHARE * found[0][1]) if found else 0.0
    boxes = []
    for (left, top, right, bottom), area in found:
        if area >= least:
            low = max(0, 100 * left // width - 2), max(0, 100 * top // height - 2)
            boxes.append((*low, min(100, -(-100 * right // width) + 2), min(100, -(-100 * bottom // height) + 2)))
    return boxes


def _not_ground(ycc: NDArray[np.float32]) -> NDArray[np.bool_]:
    """(height, width): what has none of the colours that fill the rim of a picture in Y, Cb and Cr."""
    ycc = ycc * np.array([0.5, 1.0, 1.0], np.float32)
    height, width, _ = ycc.shape
    thick = max(1, round(RIM * min(height, width)))
    inner = np.zeros((height, width), bool)
    inner[thick:-thick, thick:-thick] = True
    rim = ycc[~inner]
    apart = np.full((height, width), np.inf, np.float32)
    left = np.ones(len(rim), bool)
    for _ in range(COLOURS):  # the commonest colour of what is left of the rim, while it is a fair part of it
        if left.mean() < 0.1:
            break
        colour = np.median(rim[left], axis=0)
        apart = np.minimum(apart, np.abs(ycc - colour).sum(axis=-1))
        left &= np.abs(rim - colour).sum(axis=-1) > APART
    return np.asarray(apart > APART)


def _closed(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Without specks of a pixel, and with gaps of up to four pixels filled."""
    cells = torch.from_numpy(mask)[None, None].float()
    opened = F.max_pool2d(-F.max_pool2d(-cells, 3, 1, 1), 3, 1, 1)
    closed = -F.max_pool2d(-F.max_pool2d(opened, 5, 1, 2), 5, 1, 2)
    return np.asarray(closed[0, 0].numpy() > 0.5)


def pieces(mask: NDArray[np.bool_], most: int) -> list[tuple[Edges, int]]:
    """Edges and areas of the largest connected regions of a mask (height, width), in its cells, the largest first."""
    cells = torch.from_numpy(mask)[None, None].float()
    spread, labels = cells * torch.arange(1, mask.size + 1).reshape(1, 1, *mask.shape), cells
    while not torch.equal(spread, labels):
        labels, spread = spread, F.max_pool2d(spread, 3, 1, 1) * cells
    numbered = labels[0, 0].long().numpy()  # a number above 0 for each region
    numbers, areas = np.unique(numbered[numbered > 0], return_counts=True)
    largest = numbers[np.argsort(-areas, kind="stable")][:most]
    places = [np.nonzero(numbered == number) for number in largest]
    return [((int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1), len(y)) for y, x in places]
