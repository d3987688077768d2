"""Landmarks of photographed hand signs, each seen several times as a tracker would see it: from slightly different regions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.signs.hands import regions
from core.signs.hands.finder import LANDMARKS, HandFinder
from core.signs.hands.regions import Region
from core.signs.hands.tracks import Floats
from core.signs.synthetic.photo_set import SIDE, PhotoSet

VIEWS: Final = 4
MIRRORED: Final = 2
"""The view in which the photo is mirrored."""
MARGIN: Final = SIDE // 2
"""Pixels by which a photo's border is continued on each side."""
FIRST_SIDE: Final = 1.15
"""Of the region in which a hand is expected at first, in photo sides: these photos show nothing but a hand."""


@dataclass(frozen=True, kw_only=True)
class PhotoLandmarks:
    """Landmarks of n photos.

    Attributes:
        points: (n, VIEWS, 21, 2) pixels of the continued photo, NaN where no hand was found.
        digits: (n,). signers: (n,).
    """

    points: Floats
    digits: NDArray[np.int64]
    signers: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def found(self) -> NDArray[np.bool_]:
        """(n,) whether a hand was found in a photo's first view."""
        return np.asarray(np.isfinite(self.points[:, 0, 0, 0]))

    def of(self, signers: NDArray[np.int64]) -> PhotoLandmarks:
        """The photos of some signers only."""
        kept = np.isin(self.signers, signers)
        return PhotoLandmarks(points=self.points[kept], digits=self.digits[kept], signers=self.signers[kept])

    def save(self, path: Path) -> None:
        """Write them as .npz."""
        np.savez(path, points=self.points, digits=self.digits, signers=self.signers)


def load(path: Path) -> PhotoLandmarks:
    """Read what `PhotoLandmarks.save` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return PhotoLandmarks(points=arrays["points"], digits=arrays["digits"], signers=arrays["signers"])


def find_landmarks(
    finder: HandFinder, photos: PhotoSet, *, seed: int = 5, on_photo: Callable[[int], None] = lambda done: None
) -> PhotoLandmarks:
    """The landmarks of each photo in `VIEWS` views: the first as it is, others in another light and region, one mirrored."""
    from PIL import Image

    random = np.random.default_rng(seed)
    points = np.full((len(photos), VIEWS, LANDMARKS, 2), np.nan, np.float32)
    for index, photo in enumerate(photos.images):
        padded = Image.fromarray(np.pad(photo, ((MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0)), mode="edge"))
        middle = padded.width / 2
        hand = finder.landmarks(padded, Region(x=middle, y=middle, side=FIRST_SIDE * SIDE, angle=0.0))
        if hand is None:
            hand = next(iter(finder.find(padded)), None)
        if hand is not None:
            first = regions.of_landmarks(hand.points)
            for view in range(VIEWS):
                seen = finder.landmarks(*_varied(padded, first, view, random))
                if seen is not None:
                    points[index, view] = seen.points
        on_photo(index + 1)
    return PhotoLandmarks(points=points, digits=photos.digits, signers=photos.signers)


def _varied(picture: Any, region: Region, view: int, random: np.random.Generator) -> tuple[Any, Region]:
    """The picture and region of one view; the first is left as it is."""
    from PIL import Image, ImageEnhance

    if view == MIRRORED:
        picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        region = replace(region, x=picture.width - region.x, angle=-region.angle)
    if view:
        picture = ImageEnhance.Brightness(picture).enhance(random.uniform(0.7, 1.3))
        picture = ImageEnhance.Contrast(picture).enhance(random.uniform(0.7, 1.3))
        x, y = region.x + random.normal(0, 0.04) * region.side, region.y + random.normal(0, 0.04) * region.side
        side, angle = region.side * np.exp(random.normal(0, 0.08)), region.angle + random.normal(0, 0.15)
        region = Region(x=float(x), y=float(y), side=float(side), angle=float(angle))
    return picture, region
