"""Strangeness against scikit-learn's covariance and SciPy's Mahalanobis distance."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis

from core.vision.familiarity import RIDGE, Familiarity

RANDOM = np.random.default_rng(3)
LABELS = np.arange(600) % 3
FEATURES = RANDOM.normal(size=(600, 5)) @ RANDOM.normal(size=(5, 5)) + 4 * np.eye(3, 5)[LABELS]
KNOWN = Familiarity.fit(FEATURES, LABELS, 3)


def test_it_is_the_mahalanobis_distance_to_the_nearest_class() -> None:
    means = [FEATURES[label == LABELS].mean(axis=0) for label in range(3)]
    within = np.concatenate([FEATURES[label == LABELS] - means[label] for label in range(3)])
    inverse = np.linalg.inv(np.cov(within.T, bias=True) + RIDGE * np.eye(5))
    asked = RANDOM.normal(size=(20, 5)) * 5
    expected = [min(mahalanobis(one, mean, inverse) for mean in means) for one in asked]
    np.testing.assert_allclose(KNOWN.distance(asked), expected, rtol=1e-4)


def test_what_was_trained_on_is_near_and_what_was_not_is_far() -> None:
    assert np.median(KNOWN.distance(FEATURES)) < np.sqrt(5) + 0.5
    assert KNOWN.distance(FEATURES + 40).min() > KNOWN.distance(FEATURES).max()


def test_a_card_holds_it_whole() -> None:
    again = Familiarity.from_dict(json.loads(json.dumps(KNOWN.to_dict())), 5)
    np.testing.assert_array_equal(again.distance(FEATURES), KNOWN.distance(FEATURES))
    with pytest.raises(ValueError, match="reshape"):
        Familiarity.from_dict(KNOWN.to_dict(), 7)
