"""Entropy against closed forms and torch's own."""

import numpy as np
import pytest
import torch

from core.explain import summaries


@pytest.mark.parametrize("n", [1, 2, 40, 128])
def test_an_even_row_has_entropy_ln_n_and_a_single_key_none(n: int) -> None:
    assert summaries.row_entropy(np.full(n, 1 / n)) == pytest.approx(np.log(n), abs=1e-6)
    assert summaries.row_entropy(np.eye(n)).max() == 0


def test_entropy_against_torch() -> None:
    weights = np.random.default_rng(0).dirichlet(np.full(9, 0.3), (2, 9))
    expected = torch.distributions.Categorical(torch.tensor(weights)).entropy()
    np.testing.assert_allclose(summaries.row_entropy(weights), expected, atol=1e-12)


def test_the_strongest_come_first_and_ties_in_order() -> None:
    assert summaries.strongest(np.array([0.1, 0.4, 0.1, 0.3, 0.1]), 3) == [(1, 0.4), (3, 0.3), (0, 0.1)]
