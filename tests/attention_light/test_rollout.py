"""Rollout against a product written out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_light.rollout import fuse_heads, rollout


def test_two_layers_by_hand():
    first = np.array([[0.5, 0.5], [0.2, 0.8]])
    second = np.array([[1.0, 0.0], [0.6, 0.4]])
    # Half identity, half attention: [[.75, .25], [.1, .9]], then [[1, 0], [.3, .7]].
    by_hand = np.array([[1.0 * 0.75 + 0.0 * 0.1, 1.0 * 0.25 + 0.0 * 0.9], [0.3 * 0.75 + 0.7 * 0.1, 0.3 * 0.25 + 0.7 * 0.9]])
    np.testing.assert_allclose(rollout([first, second]), by_hand, atol=1e-12)
    np.testing.assert_allclose(by_hand, [[0.75, 0.25], [0.295, 0.705]])


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 7), st.integers(0, 9))
def test_rows_sum_to_one(layers, heads, size, seed):
    weights = np.random.default_rng(seed).dirichlet(np.ones(size), (layers, heads, size))
    rolled = rollout(list(weights))
    np.testing.assert_allclose(rolled.sum(axis=1), 1, atol=1e-9)
    assert (rolled >= 0).all()


def test_heads_fuse_to_their_mean():
    heads = np.random.default_rng(1).dirichlet(np.ones(3), (4, 3))
    np.testing.assert_allclose(fuse_heads(heads), sum(heads) / 4)
    np.testing.assert_array_equal(fuse_heads(heads[0]), heads[0])


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="no attention maps"):
        rollout([])
    with pytest.raises(ValueError, match="square maps of one size"):
        rollout([np.eye(2), np.eye(3)])
