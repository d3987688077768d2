"""Hands to copy: recorded examples of every sign that a model of hands knows, and how a hand that was read differs from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.signs.hands import tracks
from core.signs.hands.palms import Floats
from core.signs.hands.tracker import LANDMARKS
from core.signs.hands.tracks import HANDS, HandTracks
from core.signs.samples import FOLDER

BUNDLED: Final = "signs.parquet"
DIFFERS: Final = 0.5
"""Mean distance of a finger's landmarks from the example's, in palm sizes, from which it is shown as another shape.

Of two people's hands for one digit a finger in a hundred lies further apart; of hands for two digits 99 % have one that does."""

MAX_APART: Final = 0.85
"""The same, beyond which a hand is not of a held sign: one in two hundred photographed digits is so far from all examples."""
MIN_WAYS: Final = {"APPLE": 0.28, "HAPPY": 5.0, "LOVE": 0.65, "SORRY": 1.5}
"""Way of a palm, in palm sizes, in 98 of 100 recordings of each sign that moves; a hand that holds something goes less far."""
AROUND: Final = 5
"""Frames before and after what is read as such a sign, in which it moves too."""


@dataclass(frozen=True, kw_only=True)
class SignExample:
    """A sign to copy.

    Attributes:
        stills: (n, 21, 2) hands of several people; none of a sign that moves.
        film: (T, HANDS, 21, 2) of one that moves, in shares of the picture's height; no frames otherwise.
    """

    stills: Floats
    film: Floats


@cache
def examples() -> Mapping[str, SignExample]:
    """The examples of each sign, in natural order: 0, 1, 2, ... then words."""
    found: dict[str, SignExample] = {}
    table = pd.read_parquet(FOLDER / BUNDLED)
    none, still = np.zeros((0, HANDS, LANDMARKS, 2), np.float32), np.zeros((0, LANDMARKS, 2), np.float32)
    for (name, moves), rows in table.groupby(["gloss", "moves"]):
        points = np.stack(rows["points"].to_list()).reshape(len(rows), -1, LANDMARKS, 2).astype(np.float32)
        found[str(name)] = SignExample(stills=still, film=points) if moves else SignExample(stills=points[:, 0], film=none)
    return found


def photograph(gloss: str) -> bytes | None:
    """A bundled photograph of a sign, JPEG; None where there is none."""
    path = FOLDER / f"sign_{gloss}.jpg"
    return path.read_bytes() if path.exists() else None


def finger_distances(hand: Floats, others: Floats) -> NDArray[np.float64]:
    """(n, 5) mean distance of each finger's landmarks from those of other hands (n, 21, 2), in palm sizes.

    Both lie upright about the palm; each of the others is mirrored where the hand is then nearer.
    """
    own = tracks.canonical(hand[None])[0]
    mirrored = others * np.array([-1, 1], others.dtype)
    apart = [np.linalg.norm(tracks.canonical(some)[0] - own, axis=2)[:, 1:] for some in (others, mirrored)]
    fingers = np.stack([one.reshape(-1, 5, 4).mean(axis=2) for one in apart])  # (2, n, 5)
    nearer = fingers.sum(axis=2).argmin(axis=0)
    return np.asarray(fingers[nearer, np.arange(len(others))], dtype=np.float64)


def fingers_that_differ(hand: Floats, gloss: str) -> list[int] | None:
    """Fingers, 0 for the thumb, whose shape is not that of the nearest example of a sign; None for one that moves.

    Args:
        hand: (21, 2) pixels.
    """
    example = examples().get(gloss)
    if example is None or not len(example.stills):
        return None
    distances = finger_distances(hand, example.stills)
    return np.flatnonzero(distances[distances.sum(axis=1).argmin()] > DIFFERS).tolist()


def can_be(gloss: str, hands: HandTracks, first: int, last: int) -> bool:
    """Tells whether the hands from the first frame to the last may be this sign: by its shape, or by how far it moves."""
    example = examples().get(gloss)
    if example is None:
        return True
    span = slice(first, last + 1)
    if not len(example.stills):
        return _way(hands, slice(max(0, first - AROUND), last + AROUND + 1)) >= MIN_WAYS.get(gloss, 0.0)
    seen = hands.points[span][hands.seen[span]]
    return any(finger_distances(hand, example.stills).max(axis=1).min() <= MAX_APART for hand in seen)


def _way(hands: HandTracks, span: slice) -> float:
    """Largest way of a hand's palm in these frames, in palm sizes."""
    ways = [0.0]
    for slot in range(hands.seen.shape[1]):
        seen = hands.points[span, slot][hands.seen[span, slot]]
        if len(seen) > 1:
            _, place, size, _ = tracks.canonical(seen)
            ways.append(float(np.linalg.norm(place.max(axis=0) - place.min(axis=0)) / np.median(size)))
    return max(ways)
