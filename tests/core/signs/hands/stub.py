"""A hand finder that sees a bright square as a hand, for tests without the models."""

import numpy as np
from PIL import Image

from core.signs.hands.regions import Region
from core.signs.hands.tracker import Hand

RNG = np.random.default_rng(9)
SHAPE = np.concatenate([[[0.0, 1.0]], RNG.uniform(-1, 1, (20, 2))]).astype(np.float32)


class SquareFinder:
    """Finds one hand where a picture is bright: its landmarks spread over the bright part.

    Attributes:
        searched: pictures in which palms were sought.
    """

    def __init__(self) -> None:
        self.searched = 0

    def _hand(self, picture: Image.Image) -> Hand | None:
        bright = np.argwhere(np.asarray(picture).mean(axis=2) > 128)
        if not len(bright):
            return None
        low, high = bright.min(axis=0)[::-1], bright.max(axis=0)[::-1]
        points = ((low + high) / 2 + SHAPE * (high - low) / 2).astype(np.float32)
        return Hand(points=points, presence=1.0)

    def opened(self, frame: np.ndarray) -> Image.Image:
        return Image.fromarray(frame)

    def find(self, picture: Image.Image, *, most: int = 1, windows: object = ()) -> list[Hand]:
        self.searched += 1
        hand = self._hand(picture)
        return [hand] if hand else []

    def landmarks(self, picture: Image.Image, region: Region) -> Hand | None:
        return self._hand(picture)


def film(shown: list[bool], *, size: int = 64) -> np.ndarray:
    """Frames that show the square or nothing."""
    frames = np.zeros((len(shown), size, size, 3), np.uint8)
    for at, there in enumerate(shown):
        if there:
            frames[at, 20:44, 16 + at % 3 : 40 + at % 3] = 255
    return frames
