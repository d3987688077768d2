"""The answer in short: light by what stands out, and one name or two."""

from dataclasses import replace

import numpy as np
import pytest

from core.vision.analysis import PictureAnalysis
from core.vision.classifier import load_classifier
from core.vision.lit_answer import DARKEST, lit, percent_edges
from tests.core.vision.made_pictures import made_reading
from tests.core.vision.tiny_vit import FOLDER


def test_a_picture_is_dark_where_nothing_stands_out() -> None:
    salience = np.zeros((112, 112), np.float32)
    salience[:, 56:] = 1  # of a picture twice as wide as high, whose room begins at row 28
    salience[70:] = 0.5  # its lower quarter stands out by halves
    found = lit(np.full((100, 200, 3), 200, np.uint8), made_reading(salience, inside=(0, 28, 112, 84)))
    assert (found[:70, :90] == round(200 * DARKEST)).all() and (found[:70, 110:] == 200).all()
    assert (found[80:] == round(200 * (1 + DARKEST) / 2)).all()
    assert percent_edges((10, 20, 60, 80), (200, 100)) == (5, 20, 30, 80)


@pytest.mark.parametrize(("first", "garment", "count"), [(0.9, True, 1), (0.7, True, 2), (0.7, False, 1)])
def test_a_garment_that_is_unsure_has_two_names(first: float, garment: bool, count: int) -> None:
    classifier = load_classifier(folder=FOLDER)
    probabilities = np.array([0.0, 1 - first, 0, first, *[0.0] * 6])
    strangeness = classifier.threshold - 1e3 if garment else classifier.threshold + 1e3
    seen = PictureAnalysis(
        classifier=classifier, image=np.zeros((28, 28), np.uint8), probabilities=probabilities, strangeness=strangeness, maps={}
    )
    assert seen.named == [3, 1][:count]
    sure = replace(seen, strangeness=classifier.threshold)  # half of it is "none of these"
    assert sure.named == [3, 1]
