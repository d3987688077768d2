"""The bundled garments: their number, order and labels, and the recorded digests of what they were cut from."""

import hashlib

import numpy as np

from core.models.vit import CLASSES
from core.vision.gallery import gallery, photograph_gallery
from core.vision.photographs import KINDS
from core.vision.pictures import decode


def test_the_gallery_is_the_first_six_of_each_class() -> None:
    images, labels, indices = gallery()
    assert images.shape == (60, 28, 28)
    assert images.dtype == np.uint8
    assert np.bincount(labels).tolist() == [6] * len(CLASSES)
    assert np.all(np.diff(indices) > 0)
    # The first ten labels of the official test file, as every tutorial prints them.
    assert indices[:10].tolist() == list(range(10))
    assert labels[:10].tolist() == [9, 2, 1, 1, 6, 1, 4, 6, 5, 7]
    assert hashlib.sha256(images[0].tobytes()).hexdigest() == FIRST


FIRST = "ffc7351ed0f8bae542820866086177fa4e0b366b97bf9d998dffdb8dbe138787"
"""SHA-256 of the test set's first image, an ankle boot: bytes 16 to 800 of the official file."""


def test_the_photographs_are_three_of_each_kind_in_the_order_of_the_decision() -> None:
    assert [one.kind for one in photograph_gallery()] == [kind for kind in KINDS for _place in range(3)]
    assert all(min(decode(one.data).rgb.shape[:2]) >= 80 for one in photograph_gallery())
