"""A reading agrees with the classifier it comes from, and its three measures with the functions that define them."""

import numpy as np
import pytest

from attention_light.rollout import rollout
from core.vision.analysis import PictureAnalysis, analyse
from core.vision.classifier import Classifier, load_classifier
from core.vision.gallery import gallery
from tests.core.vision.tiny_vit import FOLDER

IMAGE = gallery()[0][4]


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return load_classifier(folder=FOLDER)


@pytest.fixture(scope="module")
def reading(classifier: Classifier) -> PictureAnalysis:
    return analyse(classifier, IMAGE.copy())


def test_the_answer_is_the_classifiers(classifier: Classifier, reading: PictureAnalysis) -> None:
    np.testing.assert_allclose(reading.probabilities, classifier.probabilities(IMAGE[None].copy())[0], atol=1e-5)
    assert reading.likeliest == int(reading.probabilities.argmax())
    assert sorted(reading.ranking) == list(range(10))
    assert (np.diff(reading.probabilities[reading.ranking]) <= 0).all()
    assert reading.garment == (reading.strangeness <= classifier.threshold)


def test_the_measures_are_rows_over_the_patches(classifier: Classifier, reading: PictureAnalysis) -> None:
    maps = classifier.attention(IMAGE[None].copy())
    weights = list(maps.values())[-1][0]
    np.testing.assert_allclose(reading.attention(), weights.mean(axis=0)[0], atol=1e-6)
    np.testing.assert_allclose(reading.rollout(), rollout([m[0] for m in maps.values()])[0], atol=1e-6)


def test_relevance_depends_on_the_class_and_is_never_negative(reading: PictureAnalysis) -> None:
    first, second = (reading.relevance(label) for label in reading.ranking[:2])
    assert first.shape == (50,) and (first >= 0).all()
    assert not np.allclose(first[1:], second[1:])


def test_relevance_finds_the_patch_that_alone_decides(classifier: Classifier) -> None:
    """On a blank image with one bright patch, no other patch differs, so the most relevant for some class is that one."""
    image = np.zeros((28, 28), np.uint8)
    image[12:16, 12:16] = 255
    reading = analyse(classifier, image)
    best = max((reading.relevance(label) for label in range(10)), key=lambda one: float(one[1:].max()))
    assert int(best[1:].argmax()) == 24
