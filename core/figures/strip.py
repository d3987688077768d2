"""Frames of a clip along a figure's time axis."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.figures.pictures import data_url

STRIP_PX: Final = 84
"""Height of a strip over a figure, with room under it."""

Strip = Sequence[tuple[int, bytes]]
"""Index and picture (JPEG, or SVG) of some frames, evenly over the clip: each stands for its share of it."""


def even_indices(count: int, most: int) -> list[int]:
    """At most so many frames of a clip, evenly, each in the middle of its share."""
    wanted = min(count, most)
    return [int((place + 0.5) * count / wanted) for place in range(wanted)]


def step_of(seconds: NDArray[np.float64]) -> float:
    """Between the frames of a clip, which are evenly spaced."""
    return float(seconds[1] - seconds[0]) if len(seconds) > 1 else 1.0


def ends(seconds: NDArray[np.float64]) -> tuple[float, float]:
    """Begin and end of a clip on a time axis, half a frame before its first and after its last."""
    half = step_of(seconds) / 2
    return float(seconds[0]) - half, float(seconds[-1]) + half


def images(strip: Strip, ends: tuple[float, float], *, top: float, height: float) -> list[dict[str, Any]]:
    """The strip as layout images over the x axis, each in its share of it.

    Args:
        ends: of the clip on the x axis. top: upper edge of the strip, as a share of the plot. height: likewise.
    """
    width = (ends[1] - ends[0]) / max(1, len(strip))
    return [
        {"source": data_url(picture), "xref": "x", "yref": "paper", "x": ends[0] + (place + 0.5) * width, "y": top,
         "sizex": width * 0.96, "sizey": height, "xanchor": "center", "yanchor": "top", "sizing": "contain", "layer": "above"}
        for place, (_index, picture) in enumerate(strip)
    ]  # fmt: skip
