"""The weights of two forecasters that follow the outcomes: their definition computed anew, and what they come to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gmean

from core.market.forecasters.blend import GRID, MEMORY, NEAR, RunningWeights, log_average

HORIZON = 10


def answers(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One that knows something, one that guesses, and what came."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, rows)
    knows = np.where(np.arange(3) == truth[:, None], 0.6, 0.2)
    return knows, rng.dirichlet(np.ones(3), rows), truth


def test_the_average_is_the_weighted_geometric_mean_made_to_sum_to_one() -> None:
    p, q = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]), np.array([[0.4, 0.4, 0.2], [0.1, 0.1, 0.8]])
    mean = gmean(np.stack([p, q]), axis=0, weights=np.stack([np.full(p.shape, 0.7), np.full(p.shape, 0.3)]))
    np.testing.assert_allclose(log_average(p, q, 0.3), mean / mean.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(log_average(p, q, 0.0), p)
    np.testing.assert_allclose(log_average(p, q, 1.0), q)


def test_the_weights_are_those_of_the_definition_whichever_way_the_outcomes_come() -> None:
    knows, guesses, truth = answers(60, 1)
    shares = np.exp(-NEAR * np.abs(GRID - 0.4))
    for row in range(60):  # a product over outcomes, one grid weight after another
        for index, weight in enumerate(GRID):
            p = knows[row] ** (1 - weight) * guesses[row] ** weight
            shares[index] *= (p[truth[row]] / p.sum()) ** ((1 - 1 / MEMORY) ** (59 - row) / HORIZON)
    expected = (shares * GRID).sum() / shares.sum()

    at_once, singly = RunningWeights([0.1, 0.4], [100, HORIZON]), RunningWeights([0.1, 0.4], [100, HORIZON])
    before = at_once.weights[0]
    at_once.learn(1, knows, guesses, truth)
    for row in range(60):
        singly.learn(1, *(part[row : row + 1] for part in (knows, guesses, truth)))
    assert at_once.weights[1] == pytest.approx(expected, rel=1e-9) == singly.weights[1]
    assert at_once.weights[0] == before


def test_they_leave_the_one_that_guesses_and_come_back_when_it_turns() -> None:
    knows, guesses, truth = answers(12_000, 2)
    weights = RunningWeights([0.5], [HORIZON])
    weights.learn(0, knows[:3_000], guesses[:3_000], truth[:3_000])
    assert weights.weights[0] < 0.1
    weights.learn(0, guesses[3_000:], knows[3_000:], truth[3_000:])
    assert weights.weights[0] > 0.9
    weights.forget()
    assert weights.weights[0] == pytest.approx(0.5)


def test_rows_that_are_not_scored_count_as_those_that_are() -> None:
    """Every fifth row, each for five: the same weight as all rows, but for what the others would have said."""
    knows, guesses, truth = (np.repeat(part, 5, axis=0) for part in answers(200, 3))
    every, fifth = RunningWeights([0.3], [50]), RunningWeights([0.3], [50], every=5)
    every.learn(0, knows, guesses, truth)
    fifth.learn(0, knows[::5], guesses[::5], truth[::5])
    assert fifth.weights[0] == pytest.approx(every.weights[0], abs=2e-3)
