"""Finds the landmarks of photographed hand signs, in several views of each."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from PIL import Image, ImageEnhance

from core.signs.hands import regions
from core.signs.hands.finder import HandFinder
from core.signs.hands.regions import Region
from core.signs.hands.tracker import LANDMARKS
from lab.signs.photo_landmarks import MIRRORED, VIEWS, PhotoLandmarks
from lab.signs.photo_set import SIDE, PhotoSet

MARGIN: Final = SIDE // 2
"""Pixels by which a photo's border is continued on each side."""
FIRST_SIDE: Final = 1.15
"""Of the region in which a hand is expected at first, in photo sides: these photos show nothing but a hand."""


def find_landmarks(
    finder: HandFinder, photos: PhotoSet, *, seed: int = 5, on_photo: Callable[[int], None] = lambda done: None
) -> PhotoLandmarks:
    """The landmarks of each photo in `VIEWS` views: the first as it is, others in another light and region, one mirrored."""
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


def _varied(picture: Image.Image, region: Region, view: int, random: np.random.Generator) -> tuple[Image.Image, Region]:
    """The picture and region of one view; the first is left as it is."""
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
