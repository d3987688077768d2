"""The answer on one picture in short: the picture lit by what stands out, and the garment's name where it is one."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

import numpy as np
from PIL import Image

from core.vision.analysis import PictureAnalysis
from core.vision.pictures import Bytes, Picture
from core.vision.preprocessing import PreparedPicture
from core.vision.sight import SeenPicture

Shares = tuple[float, float, float, float]
"""Left, top, right and bottom edge of a part of a picture, percent of its width and height."""
WHOLE: Final[Shares] = (0, 0, 100, 100)
SHOWN: Final = 720
"""Longest side of the picture as it is shown, pixels."""
DARKEST: Final = 0.25
"""Light of what does not stand out."""
HALF_SHADE: Final = 0.25
"""On either side of a half, from where a pixel stands out: the light rises from `DARKEST` to whole over these saliences."""


def shown_pixels(analysis: PictureAnalysis, prepared: PreparedPicture, picture: Picture) -> Bytes:
    """A garment's photograph set upright, without its border; anything else as it was given, (height, width, 3)."""
    return prepared.upright if analysis.garment else picture.rgb


def lit_answer(analysis: PictureAnalysis, prepared: PreparedPicture, pixels: Bytes, seen: SeenPicture | None) -> dict[str, Any]:
    """The answer of an analysis of a prepared photograph.

    Args:
        pixels: `shown_pixels`. seen: these as the network that sees anything has them; None without it.

    Returns:
        `picture`, lit by what stands out: a JPEG in base64, and its `proportion` of width to height; `stands_out`, the share of
        it that does, None where nothing was asked; the `box` that is read of a garment (`Shares`); `named`, the likeliest kind
        and, where that is unsure, the next, each with its probability, "none of these" among the answers (D37); and whether it
        is like a `garment`.
    """
    height, width = pixels.shape[:2]
    picture, shown = Image.fromarray(pixels), BytesIO()
    picture.thumbnail((SHOWN, SHOWN))
    Image.fromarray(np.asarray(picture) if seen is None else lit(np.asarray(picture), seen)).save(shown, "JPEG", quality=90)
    return {
        "picture": b64encode(shown.getvalue()).decode(),
        "proportion": round(width / height, 4),
        "stands_out": None if seen is None else round(seen.standing_out, 4),
        "box": percent_edges(prepared.box, (width, height)) if analysis.garment else WHOLE,
        "named": [[analysis.classifier.class_names[one], round(float(analysis.shares[one]), 4)] for one in analysis.named],
        "garment": analysis.garment,
    }


def lit(pixels: Bytes, seen: SeenPicture) -> Bytes:
    """A picture (height, width, 3), lit where it stands out by `seen`, which has it in another size: half-way at a half."""
    left, top, right, bottom = seen.inside
    light = Image.fromarray(seen.salience[top:bottom, left:right]).resize(pixels.shape[1::-1], Image.Resampling.BILINEAR)
    rise = ((np.asarray(light) - 0.5) / (2 * HALF_SHADE) + 0.5).clip(0, 1)
    bright = DARKEST + (1 - DARKEST) * rise * rise * (3 - 2 * rise)
    return (pixels * bright[..., None]).round().astype(np.uint8)


def percent_edges(edges: Sequence[float], size: tuple[int, int]) -> Shares:
    """Edges in pixels as percentages of a picture's width and height."""
    left, top, right, bottom = (round(100 * edge / size[at % 2], 2) for at, edge in enumerate(edges))
    return left, top, right, bottom
