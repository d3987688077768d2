"""Numbers that the film player draws."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from core.signs.hands.tracks import HandTracks


def hands_of_frames(hands: HandTracks, side: int) -> list[list[list[list[float]]]]:
    """For each frame the hands that are seen, each 21 points in shares of the picture.

    Args:
        side: height and width of the frames, pixels.
    """
    shares = np.round(hands.points / side, 4)
    return [[shares[at, slot].tolist() for slot in np.flatnonzero(seen)] for at, seen in enumerate(hands.seen)]


def attention_bytes(attention: Mapping[str, NDArray[np.float32]]) -> bytes:
    """The last attention, averaged over heads: T rows of T bytes, each row's largest weight 255; empty without attention."""
    if not attention:
        return b""
    weights = list(attention.values())[-1].mean(axis=0)
    scaled = 255 * weights / weights.max(axis=1, keepdims=True).clip(1e-12)
    return bytes(np.rint(scaled).astype(np.uint8).tobytes())
