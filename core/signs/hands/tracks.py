"""Hands followed through a film as arrays, and the features that IIGA reads of them.

A feature frame describes each hand by its shape alone (place, size and tilt taken out), its tilt, and how it moves; and where the
second hand is from the first.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.signs.hands.palms import Floats
from core.signs.hands.tracker import LANDMARKS, TILES, Finder, Hand, HandTracker

HANDS: Final = 2
"""Hands that are followed."""
PALM: Final = (0, 5, 9, 13, 17)
"""Landmarks whose mean is a hand's place, and whose spread its size: they move little as fingers do."""
PATIENCE: Final = 16
"""Frames without a hand, two seconds of a film, after which only some are searched, so that "no hand" comes soon."""
A_HAND: Final = 2 * LANDMARKS + 5
"""Features of a hand: shape, cosine and sine of the tilt, steps right and down since the frame before, and whether it is seen."""
FEATURES: Final = HANDS * A_HAND + 2
LARGEST_STEP: Final = 2.0
"""A hand's step a frame, in its sizes, is cut off there."""


@dataclass(frozen=True, kw_only=True)
class HandTracks:
    """Hands through a film.

    Attributes:
        points: (T, HANDS, 21, 2) pixels, right and down; 0 where a hand is not seen. seen: (T, HANDS).
    """

    points: Floats
    seen: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def visible(self) -> NDArray[np.bool_]:
        """(T,) whether any hand is seen."""
        return np.asarray(self.seen.any(axis=1))


def of_hands(frames: Sequence[Sequence[Hand]]) -> HandTracks:
    """The hands of each frame, as `HandTracker.step` returns them, in slots that keep to one hand.

    A single hand takes the first slot; of two the one that is nearer to the first slot's last place takes it.
    """
    points = np.zeros((len(frames), HANDS, LANDMARKS, 2), np.float32)
    seen = np.zeros((len(frames), HANDS), np.bool_)
    for at, hands in enumerate(frames):
        for slot, hand in enumerate(hands[:HANDS]):
            points[at, slot], seen[at, slot] = hand.points, True
    return HandTracks(points=points, seen=seen)


def follow(
    finder: Finder,
    frames: Iterable[NDArray[np.uint8]],
    *,
    on_frame: Callable[[int], None] = lambda done: None,
    tiles: bool = False,
) -> HandTracks:
    """Follow the hands of a film's frames (H, W, 3); in tiles too for hands that are small.

    After `PATIENCE` frames without a hand the next one is seen up to three frames late.
    """
    tracker = HandTracker(finder, most=HANDS, tiles=len(TILES) if tiles else 0, patience=PATIENCE)
    hands = []
    for frame in frames:
        hands.append(tracker.step(frame))
        on_frame(len(hands))
    return of_hands(hands)


def canonical(points: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Landmarks (n, 21, 2) -> shapes (n, 21, 2), upright and of size 1 about the palm; places (n, 2), sizes (n,), tilts (n,).

    A tilt is in radians, clockwise on screen, 0 for fingers that point upwards.
    """
    palm = points[:, PALM]
    place = palm.mean(axis=1)
    size = np.sqrt(((palm - place[:, None]) ** 2).sum(axis=2).mean(axis=1)).clip(1e-6)
    up = (points[:, 5] + points[:, 13]) / 4 + points[:, 9] / 2 - points[:, 0]
    tilt = np.arctan2(up[:, 0], -up[:, 1])
    cos, sin = np.cos(tilt), np.sin(tilt)
    turn = np.stack([np.stack([cos, sin], axis=1), np.stack([-sin, cos], axis=1)], axis=1)  # (n, 2, 2)
    shape = np.einsum("nij,nkj->nki", turn, points - place[:, None]) / size[:, None, None]
    return shape.astype(np.float32), place.astype(np.float32), size.astype(np.float32), tilt.astype(np.float32)


def features(points: Floats, seen: NDArray[np.bool_]) -> Floats:
    """(T, HANDS, 21, 2) pixels and (T, HANDS) -> (T, FEATURES), zeros for a hand that is not seen."""
    steps = len(points)
    shape, place, size, tilt = canonical(points.reshape(-1, LANDMARKS, 2))
    place, size = place.reshape(steps, HANDS, 2), size.reshape(steps, HANDS)
    step = np.zeros_like(place)
    step[1:] = (place[1:] - place[:-1]) / size[1:, :, None]
    both = seen.copy()
    both[1:] &= seen[:-1]
    both[0] = False
    step = step.clip(-LARGEST_STEP, LARGEST_STEP) * both[:, :, None]
    hands = np.concatenate(
        [
            shape.reshape(steps, HANDS, -1),
            np.cos(tilt).reshape(steps, HANDS, 1),
            np.sin(tilt).reshape(steps, HANDS, 1),
            2 * step,
            np.ones((steps, HANDS, 1), np.float32),
        ],
        axis=2,
    )
    hands *= seen[:, :, None]
    apart = (place[:, 1] - place[:, 0]) / size[:, :1] / 4 * seen.all(axis=1, keepdims=True)
    return np.concatenate([hands.reshape(steps, -1), apart.clip(-3, 3)], axis=1).astype(np.float32)
