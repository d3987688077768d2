"""Hands followed through films: what a find is, and where it is looked for next."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from core.signs.hands import regions
from core.signs.hands.palms import Floats
from core.signs.hands.regions import Region

LANDMARKS: Final = 21
"""Of a hand: the wrist, then four for each finger from the thumb on, base to tip."""
Window = tuple[float, float, float]
"""A square in which palms are sought: its side, in the picture's longer sides, and its centre, in shares of the picture."""
MARGINS: Final[tuple[Window, ...]] = ((1.3, 0.5, 0.5), (1.0, 0.5, 0.5), (2.4, 0.5, 0.5), (1.7, 0.5, 0.5))
"""Windows round the whole picture, in turn: a hand that fills the picture needs a margin.

Of hands laid over photographs (46 frames of held-out train signers) 1 and 1.7 find 57 %, all four 83 %.
"""
TILES: Final[tuple[Window, ...]] = tuple((0.6, x, y) for x, y in ((0.5, 0.5), (0.3, 0.3), (0.7, 0.3), (0.3, 0.7), (0.7, 0.7)))
"""Windows for a hand that is small in the picture: all in a film in which no hand is seen otherwise, in turn before a camera."""
EVERY: Final = 4
"""Frames between two searches for a further hand while one is followed, and for any after long patience."""
A_FRAME: Final = 2
"""Margins that are tried in a frame without a hand."""
SAME: Final = 0.35
"""Two regions whose centres are nearer than this share of a side are of one hand."""
REMEMBERED: Final = 4
"""Frames for which a lost hand is looked for where it was."""
SURE: Final = 0.9
"""Presence of a hand that was not followed: photographed hands reach 0.98, fruit and packages in shops up to 0.88."""
NEARER: Final = 1.25
"""The larger of two hands comes first from this ratio of their sides on: who signs is nearer than who is behind them."""
EXPECTED: Final = ((0.5, 0.5, 1.15), (0.5, 0.55, 0.9))
"""Regions in which an upright hand is sought where no palm is: centre and side, in shares of the frame, in turn."""


@dataclass(frozen=True, kw_only=True)
class Hand:
    """One hand in one picture.

    Attributes:
        points: (21, 2) pixels, right and down. presence: 0 to 1.
    """

    points: Floats
    presence: float


class Finder(Protocol):
    """Finder of hands in one picture: `core.signs.hands.finder.HandFinder`, or a stand-in."""

    def opened(self, frame: NDArray[np.uint8]) -> Any:
        """A frame (H, W, 3) as the other methods take it."""
        ...

    def landmarks(self, picture: Any, region: Region) -> Hand | None:
        """The hand in a region, None where there is none."""
        ...

    def find(self, picture: Any, *, most: int = 1, windows: Iterable[Window] = MARGINS) -> list[Hand]:
        """Up to `most` hands of a picture."""
        ...


class HandTracker:
    """Hands followed from frame to frame: the landmarks of one say where to look in the next, palms are sought where none is.

    A hand that is lost is looked for where it was, then where a large one would be. Of two hands the larger one comes first.

    Args:
        most: hands at once. tiles: how many of `TILES`, in turn, a frame without a hand is searched in too.
        patience: frames in a row without a hand after which only every fourth is searched; None: all are.
    """

    def __init__(self, finder: Finder, *, most: int = 2, tiles: int = 0, patience: int | None = None) -> None:
        self.finder, self.most, self.tiles, self.patience = finder, most, tiles, patience
        self._followed: list[Region] = []
        self._lost: list[tuple[Region, int]] = []
        self._frame = self._alone = self._empty = 0

    def step(self, frame: NDArray[np.uint8]) -> list[Hand]:
        """The hands in the next frame (H, W, 3), the nearest first, else the longest followed."""
        if self.patience is not None and self._empty >= self.patience and self._empty % EVERY:
            self._empty, self._frame = self._empty + 1, self._frame + 1
            return []
        picture = self.finder.opened(frame)
        hands: list[Hand] = []
        lost: list[tuple[Region, int]] = []
        for region in self._followed:
            hand = self.finder.landmarks(picture, region)
            if hand is None:
                lost.append((region, 1))
            elif not any(same_hand(hand, other) for other in hands):
                hands.append(hand)
        for region, missed in self._lost:
            hand = self.finder.landmarks(picture, region) if len(hands) < self.most else None
            if hand is not None and hand.presence >= SURE and not any(same_hand(hand, other) for other in hands):
                hands.append(hand)
            elif hand is None and missed < REMEMBERED:
                lost.append((region, missed + 1))
        self._lost = lost
        if not hands:
            hands = self._expected(picture, frame)
        self._alone = self._alone + 1 if hands else 0
        if not hands or (len(hands) < self.most and self._alone % EVERY == 1):
            # some of the windows, in turn, so that a frame without a hand does not cost all of them
            further = self._frame // EVERY % len(MARGINS)
            both = in_turn(MARGINS, A_FRAME, self._frame) + in_turn(TILES, self.tiles, self._frame)
            windows = MARGINS[further : further + 1] if hands else both
            for hand in self.finder.find(picture, most=self.most, windows=windows):
                if len(hands) < self.most and not any(same_hand(hand, other) for other in hands):
                    hands.append(hand)
        if len(hands) == 2 and _side(hands[1]) > NEARER * _side(hands[0]):
            hands.reverse()
        self._followed = [regions.of_landmarks(hand.points) for hand in hands]
        self._frame += 1
        self._empty = 0 if hands else self._empty + 1
        return hands

    def _expected(self, picture: Any, frame: NDArray[np.uint8]) -> list[Hand]:
        """The hand of one of the regions in which one would fill the frame, none where it is not sure."""
        x, y, side = EXPECTED[self._frame % len(EXPECTED)]
        height, width = frame.shape[:2]
        hand = self.finder.landmarks(picture, Region(x=x * width, y=y * height, side=side * min(height, width), angle=0.0))
        if hand is not None:
            hand = self.finder.landmarks(picture, regions.of_landmarks(hand.points)) or hand
        return [hand] if hand is not None and hand.presence >= SURE else []


def in_turn(windows: tuple[Window, ...], count: int, frame: int) -> tuple[Window, ...]:
    """So many of the windows, so that following frames go through all of them and begin anew."""
    return tuple(windows[(frame * count + at) % len(windows)] for at in range(count))


def _side(hand: Hand) -> float:
    return regions.of_landmarks(hand.points).side


def same_hand(one: Hand, other: Hand) -> bool:
    """Tells whether two finds are of one hand."""
    a, b = regions.of_landmarks(one.points), regions.of_landmarks(other.points)
    return bool(np.hypot(a.x - b.x, a.y - b.y) < SAME * max(a.side, b.side) / 2)
