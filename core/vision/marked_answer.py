"""The answer on one picture in short: the class with its probability, and the patch without which it loses most."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from core.explain.erasing import mask
from core.vision.analysis import PictureAnalysis
from core.vision.evidence import hidden_answers
from core.vision.preprocessing import PreparedPicture

Shares = tuple[float, float, float, float]
"""Left, top, right and bottom edge of a part of a picture, percent of its width and height."""
SHOWN: Final = 720
"""Longest side of the picture as it is shown, pixels."""


def marked_answer(analysis: PictureAnalysis, losses: NDArray[np.float64], prepared: PreparedPicture) -> dict[str, Any]:
    """The answer of an analysis of a prepared photograph, and its losses without each patch, (patches,).

    Returns:
        `picture`, set upright, without its border: a JPEG in base64, and its `proportion` of width to height; the `box` that is
        read, and the `mark` of the patch that counts most, as far as it lies on the picture (`Shares`); the `answer`, its
        `probability` with "none of these" among the answers, that of `none` (D37), and whether it is like a `garment`; patches
        along a side of what is read (`grid`), which `patch` counts most, from 0, row by row, and the probability `left` without.
    """
    patch = int(losses.argmax())
    (without,) = hidden_answers(analysis, mask([patch], analysis.grid**2))
    upright = prepared.upright
    height, width = upright.shape[:2]
    picture, shown = Image.fromarray(upright), BytesIO()
    picture.thumbnail((SHOWN, SHOWN))
    picture.save(shown, "JPEG", quality=90)
    return {
        "picture": b64encode(shown.getvalue()).decode(),
        "proportion": round(width / height, 4),
        "box": percent_edges(prepared.box, (width, height)),
        "mark": patch_edges(patch, analysis.grid, prepared.box, (width, height)),
        "answer": analysis.classifier.class_names[analysis.likeliest],
        "probability": round(float(analysis.shares[analysis.likeliest]), 4),
        "none": round(analysis.none, 4),
        "garment": analysis.garment,
        "grid": analysis.grid,
        "patch": patch,
        "left": round(float(without[analysis.likeliest]), 4),
    }


def patch_edges(patch: int, grid: int, box: tuple[int, int, int, int], size: tuple[int, int]) -> Shares:
    """The place of a patch on a picture of which a box was padded to a square and read in grid x grid patches.

    Args:
        box, size: left, top, right, bottom; width, height. Pixels.
    """
    middle = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    side = max(box[2] - box[0], box[3] - box[1])
    cells = patch % grid, patch // grid
    edges = [
        min(max(middle[axis] + side * ((cells[axis] + end) / grid - 0.5), box[axis]), box[axis + 2])
        for end in (0, 1)
        for axis in (0, 1)
    ]
    return percent_edges(edges, size)


def percent_edges(edges: Sequence[float], size: tuple[int, int]) -> Shares:
    """Edges in pixels as percentages of a picture's width and height."""
    left, top, right, bottom = (round(100 * edge / size[at % 2], 2) for at, edge in enumerate(edges))
    return left, top, right, bottom
