"""Hands to copy: recorded examples of every sign that a model of hands knows, and which fingers of a hand differ from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.signs import spelling
from core.signs.hands import tracks
from core.signs.hands.tracker import LANDMARKS
from core.signs.hands.tracks import Floats
from core.signs.letters import LETTERS
from core.signs.samples import FOLDER

BUNDLED: Final = "signs.npz"
DIFFERS: Final = 0.5
"""Mean distance of a finger's landmarks from the example's, in palm sizes, from which it is shown as another shape.

Of two people's hands for one digit a finger in a hundred lies further apart; of hands for two digits 99 % have one that does."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """A sign to copy.

    Attributes:
        stills: (n, 21, 2) hands of several people; none of a sign that moves.
        film: (T, HANDS, 21, 2) of one that moves, in shares of the picture's height; no frames otherwise.
    """

    stills: Floats
    film: Floats


@cache
def examples() -> Mapping[str, Example]:
    """The examples of each sign, in natural order: 0, 1, 2, ... then words, then letters."""
    found: dict[str, Example] = {}
    with np.load(FOLDER / BUNDLED, allow_pickle=False) as arrays:
        stills, names = arrays["stills"].astype(np.float32), arrays["names"].astype(str)
        films, of_films, offsets = arrays["films"].astype(np.float32), arrays["of_films"].astype(str), arrays["offsets"]
    nothing = np.zeros((0, LANDMARKS, 2), np.float32)
    for name in sorted(set(names.tolist())):
        found[name] = Example(stills=stills[names == name], film=films[:0])
    for place, name in enumerate(of_films.tolist()):
        found[name] = Example(stills=nothing, film=films[offsets[place] : offsets[place + 1]])
    hands = spelling.bundled_hands()
    for index, letter in enumerate(LETTERS, start=1):
        found[letter] = Example(stills=hands.points[hands.letters == index, :, :2], film=films[:0])
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


def fingers_that_differ(hand: Floats, gloss: str) -> list[int]:
    """Fingers, 0 for the thumb, whose shape is not that of the nearest example of a sign; none for a sign that moves.

    Args:
        hand: (21, 2) pixels.
    """
    example = examples().get(gloss)
    if example is None or not len(example.stills):
        return []
    distances = finger_distances(hand, example.stills)
    return np.flatnonzero(distances[distances.sum(axis=1).argmin()] > DIFFERS).tolist()
