"""Frames of a clip along a figure's time axis: photographs as they are, tracks as little pictures of the hands' way."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.figures.style import BLUE, GREY, ORANGE

PARTS: Final = ((0, BLUE), (2, ORANGE), (4, GREY))
"""Column of x and colour of what is tracked: left hand, right hand, nose."""

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


def images(strip: Strip, ends: tuple[float, float], *, top: float, height: float, yref: str = "paper") -> list[dict[str, Any]]:
    """The strip as layout images over the x axis, each in its share of it.

    Args:
        ends: of the clip on the x axis. top: upper edge of the strip, in the unit of `yref`. height: likewise.
    """
    width = (ends[1] - ends[0]) / max(1, len(strip))
    return [
        {"source": address(picture), "xref": "x", "yref": yref, "x": ends[0] + (place + 0.5) * width, "y": top,
         "sizex": width * 0.96, "sizey": height, "xanchor": "center", "yanchor": "top", "sizing": "contain", "layer": "above"}
        for place, (_index, picture) in enumerate(strip)
    ]  # fmt: skip


def hands_picture(tracks: NDArray[np.floating], first: int, last: int) -> bytes:
    """Both hands and the nose at one frame with the way they came since another, as a square SVG.

    Args:
        tracks: (T, 6); all of it sets the scale, so that pictures of one clip can be compared.
    """
    x, y = tracks[:, 0::2], tracks[:, 1::2]
    side = 1.15 * max(float(np.ptp(x)), float(np.ptp(y)), 20.0)
    left, top = (float(axis.min() + axis.max()) / 2 - side / 2 for axis in (x, y))
    size = side / 100
    drawn = []
    for column, colour in PARTS:
        way = tracks[first : last + 1, column : column + 2]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in way)
        drawn.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{3 * size:.2f}" stroke-linejoin="round"/>'
            f'<circle cx="{way[-1, 0]:.1f}" cy="{way[-1, 1]:.1f}" r="{6 * size:.2f}" fill="{colour}"/>'
        )
    frame = f'x="{left:.1f}" y="{top:.1f}" width="{side:.1f}" height="{side:.1f}"'
    whole = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.1f} {top:.1f} {side:.1f} {side:.1f}" width="240" height="240">'
        f'<rect {frame} rx="{6 * size:.1f}" fill="{GREY}" fill-opacity="0.16"/>{"".join(drawn)}</svg>'
    )
    return whole.encode()


def hands_strip(tracks: NDArray[np.floating], most: int) -> list[tuple[int, bytes]]:
    """A picture for each share of the clip: where the hands went in it, and where they are at its end."""
    indices = even_indices(len(tracks), most)
    edges = np.linspace(0, len(tracks), len(indices) + 1).astype(int)
    return [
        (index, hands_picture(tracks, int(edges[place]), max(int(edges[place]), int(edges[place + 1]) - 1)))
        for place, index in enumerate(indices)
    ]


def address(picture: bytes) -> str:
    """A data URL of a picture, JPEG or SVG."""
    kind = "svg+xml" if picture.startswith(b"<svg") else "jpeg"
    return f"data:image/{kind};base64," + b64encode(picture).decode()
