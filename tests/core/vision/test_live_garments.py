"""Garments before a camera: one frame as the classifier answers it, the average over frames, maps by the clock."""

import numpy as np
import pytest

from core.vision.analysis import analyse
from core.vision.classifier import Classifier, load_classifier
from core.vision.gallery import gallery
from core.vision.live_garments import FINE, KEPT, LiveGarments, over_frame
from tests.core.vision.tiny_vit import FOLDER


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return load_classifier(folder=FOLDER)


def frame(item: int) -> np.ndarray:
    return np.repeat(gallery()[0][item][..., None], 3, axis=-1)


def test_a_frame_is_answered_as_a_picture_is_and_averaged_with_those_before(classifier: Classifier) -> None:
    live = LiveGarments(classifier)
    alone = [classifier.shares(classifier.answer(gallery()[0][item]))[0] for item in (0, 7)]
    np.testing.assert_allclose(live.step(frame(0)).probabilities, alone[0], atol=1e-6)
    np.testing.assert_allclose(live.step(frame(7)).probabilities, KEPT * alone[0] + (1 - KEPT) * alone[1], atol=1e-6)


def test_the_map_is_the_relevance_to_the_likeliest_class_and_waits_for_the_clock(classifier: Classifier) -> None:
    now = [0.0]
    live = LiveGarments(classifier, clock=lambda: now[0])
    first = live.step(frame(0)).relevance
    seen = analyse(classifier, gallery()[0][0])
    expected = seen.relevance(seen.likeliest)[1:].reshape(seen.grid, seen.grid).clip(min=0)
    np.testing.assert_allclose(first, expected / expected.max(), atol=1e-6)
    assert live.step(frame(7)).relevance is first, "a third of a second has not passed"
    now[0] = 1.0
    assert live.step(frame(7)).relevance is not first


def test_a_map_over_a_part_of_a_frame_lies_where_that_part_is() -> None:
    """A frame of 200 x 100 pixels, padded to 200 x 200; its right half below the middle, 100 x 50, padded to 100 x 100."""
    relevance = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = over_frame(relevance, (50, 50, 100, 100), (100, 200))
    expected = np.zeros((FINE, FINE))
    # it is shown from row 100 to 150 of the square, and its own square reaches from row 75 to 175
    expected[12:20, 16:24], expected[12:20, 24:] = 1, 2
    expected[20:28, 16:24], expected[20:28, 24:] = 3, 4
    np.testing.assert_array_equal(found, expected)
