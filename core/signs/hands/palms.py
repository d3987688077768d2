"""Palms in a picture, from what the palm detector puts out: anchors, decoding, weighted non-maximum suppression.

The detector is MediaPipe's (Zhang et al. 2020, "MediaPipe Hands"): a single-shot detector of square boxes and seven key points,
with one set of anchors of size 1 at two strides. Its input is a square of 192 pixels.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

SIDE: Final = 192
"""Height and width of the detector's input, pixels."""
LAYERS: Final = ((8, 2), (16, 6))
"""Stride in pixels and anchors a cell of the detector's two grids."""
MIN_SCORE: Final = 0.5
OVERLAP: Final = 0.3
"""Intersection over union from which two boxes are of the same palm."""
WRIST, MIDDLE_KNUCKLE = 0, 2
"""Key points between which a palm points upwards."""

Floats = NDArray[np.floating]


@dataclass(frozen=True, kw_only=True)
class Palm:
    """One palm, in shares of the detector's input.

    Attributes:
        box: left, top, right, bottom. points: (7, 2) key points, right and down. score: 0 to 1.
    """

    box: Floats
    points: Floats
    score: float


@cache
def anchors() -> Floats:
    """(2016, 2) centres of the anchors, right and down, as shares of the input."""
    grids = []
    for stride, count in LAYERS:
        cells = SIDE // stride
        rows, columns = np.mgrid[0:cells, 0:cells]
        centres = (np.stack([columns, rows], axis=-1).reshape(-1, 2) + 0.5) / cells
        grids.append(np.repeat(centres, count, axis=0))
    return np.concatenate(grids).astype(np.float32)


def decode(boxes: Floats, scores: Floats) -> list[Palm]:
    """The palms among the detector's outputs, surest first.

    Args:
        boxes: (2016, 18), for each anchor the box's centre, width and height and seven key points, pixels from the anchor.
        scores: (2016,) logits.
    """
    sure = 1 / (1 + np.exp(-np.clip(scores, -100, 100)))
    kept = np.flatnonzero(sure >= MIN_SCORE)
    values = (boxes[kept] / SIDE).reshape(-1, 9, 2)  # (n, 18) -> (n, 9, 2): centre, size, seven key points
    centre, half = values[:, 0] + anchors()[kept], values[:, 1] / 2
    corners = np.concatenate([centre - half, centre + half], axis=1)
    points = values[:, 2:] + anchors()[kept][:, None]
    return _merged(corners, points, sure[kept])


def overlap(box: Floats, boxes: Floats) -> Floats:
    """Intersection over union of one box (4,) with each of (n, 4)."""
    size = np.clip(np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2]), 0, None)
    shared = size.prod(axis=1)
    union = (box[2:] - box[:2]).prod() + (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) - shared
    return np.where(union > 0, shared / np.maximum(union, 1e-12), 0.0).astype(np.float32)


def _merged(corners: Floats, points: Floats, scores: Floats) -> list[Palm]:
    """Boxes of the same palm averaged, weighted by their scores."""
    merged = []
    order = np.argsort(-scores, kind="stable")
    while len(order):
        same = overlap(corners[order[0]], corners[order]) > OVERLAP
        same[0] = True
        group = order[same]
        weight = scores[group] / scores[group].sum()
        box, mean = np.einsum("n,nk->k", weight, corners[group]), np.einsum("n,nkx->kx", weight, points[group])
        merged.append(Palm(box=box, points=mean, score=float(scores[order[0]])))
        order = order[~same]
    return merged
