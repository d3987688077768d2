"""The luck test: coins that never deceive it, closed forms, and skill that it sees."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from core.market.answers.value import GROUP, STAKES, luck, spaced, wealth

RATES = [0.08, 0.84, 0.08]


def independent(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    return rng.choice(3, n, p=RATES)


def persistent(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Outcomes in long runs, as markets have."""
    return np.repeat(rng.choice(3, -(-n // 20), p=RATES), 20)[:n]


@pytest.mark.parametrize("outcomes", [independent, persistent])
@pytest.mark.parametrize("rates", [RATES, [0.5, 0.0, 0.5]])
def test_a_coin_stopped_at_its_best_moment_deceives_seldom(
    outcomes: Callable[[np.random.Generator, int], NDArray[np.int64]], rates: list[float]
) -> None:
    """Ville's inequality by simulation: the best wealth exceeds 1/a in at most a share a of the runs, at three levels."""
    rng = np.random.default_rng(0)
    runs = 600
    best = np.array([luck(rng.choice(3, 800, p=rates), outcomes(rng, 800)).best for _ in range(runs)])
    for level in (0.2, 0.1, 0.05):
        assert (best >= 1 / level).sum() <= binom.ppf(0.999, runs, level)


def test_one_bet_is_fair_over_all_orders_of_the_calls() -> None:
    """The mean wealth of a group over its cyclic shifts, each as likely for a coin, is exactly 1."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        calls, truth = rng.choice(3, GROUP), rng.choice(3, GROUP)
        mean = np.mean([wealth(np.roll(calls, shift), truth)[0] for shift in range(GROUP)])
        assert mean == pytest.approx(1.0, abs=1e-12)


def test_wealth_is_the_formula_written_out() -> None:
    rng = np.random.default_rng(2)
    calls, truth = rng.choice(3, 3 * GROUP + 5), rng.choice(3, 3 * GROUP + 5)
    expected = []
    products = [1.0] * len(STAKES)
    for group in range(3):
        c, y = (values[group * GROUP : (group + 1) * GROUP].tolist() for values in (calls, truth))
        hits = [sum(c[(i - shift) % GROUP] == y[i] for i in range(GROUP)) for shift in range(GROUP)]
        for k, stake in enumerate(STAKES):
            products[k] *= np.exp(stake * hits[0]) / np.mean([np.exp(stake * h) for h in hits])
        expected.append(np.mean(products))
    np.testing.assert_allclose(wealth(calls, truth), expected, rtol=1e-12)


def test_the_stakes_are_those_of_the_document() -> None:
    assert STAKES.tolist() == [0.1, 0.25, 0.5, 1, 2] and GROUP == 16  # docs/value.md


def test_skill_is_seen_and_sameness_is_not() -> None:
    rng = np.random.default_rng(3)
    truth = independent(rng, 1_600)
    skilled = np.where(rng.random(1_600) < 0.4, truth, independent(rng, 1_600))
    assert luck(skilled, truth).best > 1e6
    assert luck(skilled, truth).chance < 1e-6
    always = luck(np.ones(1_600, dtype=int), truth)
    assert (always.wealth, always.best, always.chance) == (1.0, 1.0, 1.0)


def test_a_wrong_way_round_forecaster_is_not_praised() -> None:
    truth = np.array([0, 2] * 400)
    assert luck(2 - truth, truth).wealth < 1e-3
    assert luck(2 - truth, truth).chance == 1.0


def test_too_few_calls_say_nothing() -> None:
    for n in (0, 1, GROUP - 1):
        found = luck(np.zeros(n, dtype=int), np.zeros(n, dtype=int))
        assert (found.groups, found.wealth, found.best) == (0, 1.0, 1.0)


def test_a_long_run_of_hits_stays_a_number() -> None:
    truth = np.arange(60_000) % 3
    assert np.isfinite(luck(truth, truth).wealth)


def test_spaced_steps_equal_a_loop() -> None:
    rng = np.random.default_rng(4)
    steps = np.cumsum(rng.integers(1, 9, 500))
    for horizon in (1, 5, 40):
        kept = spaced(steps, horizon)
        assert kept[0] == 0
        for a, b in itertools.pairwise(kept.tolist()):
            assert steps[b] - steps[a] >= horizon
            assert b - a == 1 or steps[b - 1] - steps[a] < horizon
    assert spaced(np.zeros(0, dtype=np.int64), 5).tolist() == []
