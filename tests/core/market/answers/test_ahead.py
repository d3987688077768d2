import math

import numpy as np
import pytest

from core.market.answers.ahead import DECIDED, STAKES, WIDEST, Lead, RuleForecasts, Standing, log_e_value, losses

SESSIONS = 400
DAY = 3456
"""Outcomes of a day that do not overlap, 25 seconds apart."""


def leads(mine: np.ndarray, rules: np.ndarray, truth: np.ndarray) -> list[Lead]:
    """The sums after each outcome, of forecasts (n, 3), (n, rules, 3) and (n,)."""
    lead, found = Lead.none(rules.shape[1]), []
    for p, q, came in zip(mine, rules, truth, strict=True):
        lead = lead.after(p, q, int(came))
        found.append(lead)
    return found


def market(seed: int, n: int = DAY) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (n, 3) that outcomes (n,) are drawn from."""
    random = np.random.default_rng(seed)
    p = random.dirichlet([2, 3, 2], size=n)
    return p, (p.cumsum(axis=1) < random.random((n, 1))).sum(axis=1).clip(0, 2)


def standings(mine: np.ndarray, rules: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(n, rules) log e-values after each outcome, from the definition, all at once."""
    at = np.arange(len(truth))
    clip = np.maximum
    d = np.log(clip(mine[at, truth], 0.01))[:, None] - np.log(clip(rules[at, :, truth], 0.01))
    return log_e_value(d.cumsum(axis=0), (d**2).cumsum(axis=0))


def test_the_e_value_is_the_mean_of_its_factors_products() -> None:
    differences = np.random.default_rng(1).uniform(-2, 2, size=50)
    x = differences / WIDEST
    product = [math.prod(np.exp(stake * x + (math.log(1 - stake) + stake) * x**2)) for stake in STAKES.tolist()]
    got = float(log_e_value(differences.sum(), (differences**2).sum()))
    assert got == pytest.approx(math.log(sum(product) / len(product)), abs=1e-9)


def test_no_factor_exceeds_the_bet_that_it_stands_for() -> None:
    """exp(s x - psi(s) x^2) <= 1 + s x for every difference that can be: its mean is at most 1 where that of x is at most 0."""
    x = np.linspace(-1, 1, 4001)[:, None]
    assert (np.exp(STAKES * x + (np.log1p(-STAKES) + STAKES) * x**2) <= 1 + STAKES * x + 1e-12).all()


def test_shuffled_probabilities_are_hardly_ever_called_ahead() -> None:
    ahead = 0
    for seed in range(SESSIONS):
        p, truth = market(seed)
        shuffled = np.random.default_rng(seed + SESSIONS).permutation(p)
        rates = np.broadcast_to(p.mean(axis=0), (len(p), 1, 3))
        ahead += bool((standings(shuffled, rates, truth).min(axis=1) >= math.log(DECIDED)).any())
    assert ahead <= SESSIONS // 20


def test_a_forecast_as_good_as_the_rule_is_hardly_ever_called_ahead_or_behind() -> None:
    """Two forecasters whose expected losses are equal: each is the truth's, moved by as much to either side."""
    decided = 0
    for seed in range(SESSIONS):
        random = np.random.default_rng(seed)
        truth = random.integers(2, size=DAY) * 2
        left, right = np.array([0.6, 0.1, 0.3]), np.array([0.3, 0.1, 0.6])
        e = standings(np.broadcast_to(left, (DAY, 3)), np.broadcast_to(right, (DAY, 1, 3)), truth)
        decided += bool((e >= math.log(DECIDED)).any())
    assert decided <= SESSIONS // 20


def test_who_knows_the_truth_is_ahead_within_a_day() -> None:
    found = 0
    for seed in range(SESSIONS // 4):
        p, truth = market(seed)
        rules = np.stack([np.broadcast_to([0.3, 0.4, 0.3], p.shape), np.full(p.shape, 1 / 3)], axis=1)
        found += bool((standings(p, rules, truth).min(axis=1) >= math.log(DECIDED)).any())
    assert found >= 0.95 * (SESSIONS // 4)


def test_the_sums_after_each_outcome_are_those_of_all_at_once() -> None:
    p, truth = market(3, n=200)
    rules = np.random.default_rng(4).dirichlet([1, 1, 1], size=(200, 4))
    last = leads(p, rules, truth)[-1]
    at = np.arange(200)
    d = np.log(np.maximum(p[at, truth], 0.01))[:, None] - np.log(np.maximum(rules[at, :, truth], 0.01))
    assert last.outcomes == 200
    assert last.totals == pytest.approx(d.sum(axis=0))
    assert last.nearest == int(d.sum(axis=0).argmin())
    assert last.per_call == pytest.approx(d.mean(axis=0).min())
    halves = [leads(p[part], rules[part], truth[part])[-1] for part in (slice(90), slice(90, 200))]
    assert (halves[0] + halves[1]).squares == pytest.approx(last.squares)


def test_behind_where_a_rule_foretells_better_and_not_ahead_where_one_rule_is_as_good() -> None:
    p, truth = market(5)
    plain = np.broadcast_to([0.3, 0.4, 0.3], p.shape)
    assert leads(plain, p[:, None], truth)[-1].standing is Standing.BEHIND
    assert leads(p, np.stack([plain, p], axis=1), truth)[-1].standing is Standing.UNDECIDED
    assert leads(p, plain[:, None], truth)[-1].standing is Standing.AHEAD


def test_it_says_how_many_outcomes_a_decision_takes() -> None:
    p, truth = market(6, n=4 * DAY)
    plain = np.broadcast_to([0.3, 0.4, 0.3], p.shape)[:, None]
    every = leads(p, plain, truth)
    first = next(i for i, one in enumerate(every) if one.standing is Standing.AHEAD)
    early = every[first // 2]
    scaled = 1 + early.outcomes_until_decided / early.outcomes
    for factor, state in ((0.99, Standing.UNDECIDED), (1.01, Standing.AHEAD)):
        grown = Lead(outcomes=1, totals=early.totals * scaled * factor, squares=early.squares * scaled * factor)
        assert grown.standing is state


def test_one_outcome_decides_nothing() -> None:
    sure = Lead.none(1).after([0, 0, 1], [[1, 0, 0]], 2)
    assert losses([0, 0, 1], 0) == pytest.approx(WIDEST)
    assert sure.standing is Standing.UNDECIDED


def test_a_rule_foretells_what_came_after_its_calls() -> None:
    rules = RuleForecasts(1, 2)
    calls = np.array([0, 1])
    assert rules.probabilities(calls[None]) == pytest.approx(np.full((1, 2, 3), 1 / 3))
    for came in (0, 0, 2):
        rules.learn(0, calls, came)
    assert rules.probabilities(calls[None])[0] == pytest.approx(np.array([[3, 1, 2], [3, 1, 2]]) / 6)
    assert rules.probabilities(np.array([[1, 1]]))[0, 0] == pytest.approx([1 / 3] * 3)
    rules.forget(0)
    assert rules.probabilities(calls[None]) == pytest.approx(np.full((1, 2, 3), 1 / 3))
