"""Photographed digits to train on: as pictures, or as landmarks that the hand finder sees, found once and kept where asked."""

import argparse

from core import checkpoints
from core.training.progress import counting_bar
from lab.signs.photo_landmarks import PhotoLandmarks
from lab.signs.photo_set import MANIFEST
from lab.signs.photos import read_photos
from lab.training.iiga import DigitsFiles


def read_digits(o: argparse.Namespace) -> DigitsFiles | None:
    """The photos that `train iiga` learns from, by its options; None where the folder holds tracked sentences."""
    if not o.photos:
        return None
    return DigitsFiles(
        train=read_photos(o.data, "train"),
        dev=read_photos(o.data, "dev") if o.test else None,
        described=checkpoints.describe_files([o.data / MANIFEST]),
    )


def read_landmarks(o: argparse.Namespace) -> PhotoLandmarks:
    """The landmarks that `train iiga-hands` learns from, by its options."""
    if o.landmarks is not None and o.landmarks.exists():
        return PhotoLandmarks.load(o.landmarks)
    from core.signs.hands.finder import HandFinder  # needs the models of `make hands`
    from lab.signs.photo_finder import find_landmarks

    whole = read_photos(o.data, "train")
    bar = counting_bar("photo")
    photos = find_landmarks(HandFinder(), whole, on_photo=lambda done: bar(done, len(whole)))
    if o.landmarks is not None:
        photos.save(o.landmarks)
    return photos
