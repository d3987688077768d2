"""Rollout against a product written out by hand, and against what a model without values does."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from attention_light.rollout import fuse_heads, rollout
from core.nn import scaled_dot_product_attention


def test_two_layers_by_hand():
    first = np.array([[0.5, 0.5], [0.2, 0.8]])
    second = np.array([[1.0, 0.0], [0.6, 0.4]])
    # Half identity, half attention: [[.75, .25], [.1, .9]], then [[1, 0], [.3, .7]].
    by_hand = np.array([[1.0 * 0.75 + 0.0 * 0.1, 1.0 * 0.25 + 0.0 * 0.9], [0.3 * 0.75 + 0.7 * 0.1, 0.3 * 0.25 + 0.7 * 0.9]])
    np.testing.assert_allclose(rollout([first, second]), by_hand, atol=1e-12)
    np.testing.assert_allclose(by_hand, [[0.75, 0.25], [0.295, 0.705]])


class _OnlyAttention(nn.Module):
    """x -> (x + A x) / 2, twice, where A comes from x: what rollout claims to describe, with no value matrices or MLPs."""

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        maps = []
        for _ in range(2):
            _, weights = scaled_dot_product_attention(x, x, x, return_weights=True)
            assert weights is not None
            maps.append(weights)
            x = (x + weights @ x) / 2
        return x, maps


def test_where_attention_is_all_there_is_rollout_is_the_model():
    torch.manual_seed(0)
    x = torch.randn(6, 4, dtype=torch.float64)
    out, maps = _OnlyAttention()(x)
    np.testing.assert_allclose(rollout([m.numpy() for m in maps]) @ x.numpy(), out.numpy(), atol=1e-12)


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
