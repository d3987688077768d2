"""Entropy and distance against closed forms, torch's own and a naive loop."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.explain import summaries


@pytest.mark.parametrize("n", [1, 2, 40, 128])
def test_an_even_map_has_entropy_ln_n_and_the_closed_distance(n):
    even = np.full((3, n, n), 1 / n, dtype=np.float32)
    assert summaries.mean_entropy(even) == pytest.approx(np.log(n), abs=1e-6)
    assert summaries.even_entropy(n) == pytest.approx(np.log(n))
    assert summaries.mean_distance(even, step=0.25) == pytest.approx(summaries.even_distance(n, step=0.25), abs=1e-5)


def test_the_identity_has_neither():
    identity = np.eye(128, dtype=np.float32)[None]
    assert summaries.mean_entropy(identity) == 0
    assert summaries.mean_distance(identity, step=0.25) == 0


def test_looking_k_steps_back_is_k_steps_far():
    n, k = 20, 3
    back = np.zeros((n, n))
    back[np.arange(n), np.maximum(np.arange(n) - k, 0)] = 1
    np.testing.assert_allclose(summaries.row_distance(back, step=0.25)[k:], k * 0.25)
    assert summaries.row_entropy(back).max() == 0


def test_against_torch_and_a_naive_loop():
    weights = np.random.default_rng(0).dirichlet(np.full(9, 0.3), (2, 9))
    np.testing.assert_allclose(
        summaries.row_entropy(weights), torch.distributions.Categorical(torch.tensor(weights)).entropy(), atol=1e-12
    )
    naive = [[sum(row[j] * abs(i - j) for j in range(9)) for i, row in enumerate(head)] for head in weights]
    np.testing.assert_allclose(summaries.row_distance(weights), naive, atol=1e-12)


def test_a_distance_needs_a_square_map():
    with pytest.raises(ValueError, match="not 3 and 5"):
        summaries.row_distance(np.full((3, 5), 0.2))


def test_an_even_look_at_k_of_n_keys_counts_as_k():
    row = np.zeros(40)
    row[[3, 8, 9]] = 1 / 3
    assert summaries.effective_keys(float(summaries.row_entropy(row))) == pytest.approx(3)


def test_the_strongest_come_first_and_ties_in_order():
    assert summaries.strongest(np.array([0.1, 0.4, 0.1, 0.3, 0.1]), 3) == [(1, 0.4), (3, 0.3), (0, 0.1)]


def test_patches_are_as_far_apart_as_on_the_picture():
    apart = summaries.grid_distances(7)
    assert apart[0, 1] == 1 and apart[0, 7] == 1
    assert apart[0, 8] == pytest.approx(np.sqrt(2)) and apart[0, 48] == pytest.approx(np.sqrt(72))
    np.testing.assert_array_equal(apart, apart.T)


def test_patch_distance_against_a_naive_loop():
    weights = np.random.default_rng(1).dirichlet(np.full(10, 0.4), (2, 10))
    naive = np.zeros((2, 9))
    for head in range(2):
        for i in range(9):
            row = weights[head, 1 + i, 1:]
            far = [row[j] * np.hypot(i // 3 - j // 3, i % 3 - j % 3) for j in range(9)]
            naive[head, i] = sum(far) / row.sum()
    np.testing.assert_allclose(summaries.patch_distance(weights), naive, atol=1e-12)
    assert summaries.mean_patch_distance(weights) == pytest.approx(naive.mean())


def test_patch_distance_of_an_even_map_of_the_identity_and_of_none_but_the_class_token():
    assert summaries.mean_patch_distance(np.full((4, 50, 50), 1 / 50)) == pytest.approx(summaries.even_patch_distance(7))
    assert summaries.mean_patch_distance(np.eye(50)) == 0
    to_class = np.zeros((50, 50))
    to_class[:, 0] = 1
    assert (summaries.patch_distance(to_class) == 0).all()


@pytest.mark.parametrize("shape", [(49, 49), (50, 49), (3, 8, 8)])
def test_patch_distance_needs_a_class_token_and_a_square(shape):
    with pytest.raises(ValueError, match="not one of a class token"):
        summaries.patch_distance(np.ones(shape))
