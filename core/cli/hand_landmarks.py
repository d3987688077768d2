"""Landmarks of photographed digits, as the hand finder sees them: found once, and kept where asked."""

from __future__ import annotations

import argparse

from core.signs.hands import photo_landmarks
from core.signs.hands.finder import HandFinder
from core.signs.hands.photo_finder import find_landmarks
from core.signs.hands.photo_landmarks import PhotoLandmarks
from core.signs.synthetic.photos import read_photos
from core.training.progress import counting_bar


def read(o: argparse.Namespace) -> PhotoLandmarks:
    """The landmarks that `train iiga-hands` learns from, by its options."""
    if o.landmarks is not None and o.landmarks.exists():
        return photo_landmarks.load(o.landmarks)
    whole = read_photos(o.data, "train")
    bar = counting_bar("photo")
    photos = find_landmarks(HandFinder(), whole, on_photo=lambda done: bar(done, len(whole)))
    if o.landmarks is not None:
        photos.save(o.landmarks)
    return photos
