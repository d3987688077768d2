"""Reading of a camera, frame by frame, by the network that sees anything: what stands out, or what one head looks at."""

import time
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.messages import BadValue
from core.vision.pictures import Bytes, from_pixels
from core.vision.sight import PATCH, SightReader, square

SIDE: Final = 196
"""Pixels along a side of a frame as it is read, 14 x 14 patches: one core reads more than four a second."""
CELL: Final = 7
"""Pixels along a side of the cells of salience that are drawn: half a patch."""
Head = tuple[int, int]
"""Layer and head, from 1."""


@dataclass(frozen=True, kw_only=True)
class LiveSeen:
    """A frame as it is seen.

    Attributes:
        light: (n, n) in 0..1 over the frame, padded to a square: salience, or a head's row of the class token by its largest.
        share: of the frame that stands out; of the class token's weight that the brightest patch has, for a head.
        took_s: seconds.
    """

    light: NDArray[np.float64]
    share: float
    took_s: float


def live_seen(reader: SightReader, rgb: Bytes, head: Head | None) -> LiveSeen:
    """A frame (height, width, 3), read as it is held: what stands out, or what the class token looks at by one head.

    Raises:
        BadValue: for a layer or a head that the network does not have.
    """
    began, config = time.perf_counter(), reader.placement.model.config
    if head is not None and not (1 <= head[0] <= config.layers and 1 <= head[1] <= config.heads):
        raise BadValue("a head is one of {heads} in one of {layers} layers", heads=config.heads, layers=config.layers)
    pixels, (left, top, right, bottom) = square(from_pixels(rgb, name=""), SIDE)
    if head is None:
        salience = reader.salience(pixels)
        share = float((salience[top:bottom, left:right] > 0.5).mean())
        light = salience.reshape(SIDE // CELL, CELL, SIDE // CELL, CELL).mean(axis=(1, 3))
    else:
        row = reader.class_row(pixels, *head)[1:]
        share = float(row.max())
        light = row.reshape(SIDE // PATCH, SIDE // PATCH) / max(share, 1e-12)
    return LiveSeen(light=np.asarray(light, dtype=np.float64), share=share, took_s=time.perf_counter() - began)
