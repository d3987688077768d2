"""Confidence sequences: coverage at every moment at once by simulation, the closed form, and rows a horizon apart."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

from core.market.answers.intervals import confidence_sequence
from core.market.answers.table import CUT, Answered, Table, ahead, in_short
from core.market.labels import UNKNOWN


@pytest.mark.parametrize("kind", ["coins", "drifting", "rare", "two forecasters"])
def test_the_bounds_hold_at_every_moment_at_once(kind: str) -> None:
    """200 sequences of 3,000; with a fixed-sample interval at each moment most would be left at some."""
    rng, missed, plain = np.random.default_rng(0), 0, 0
    n, t, at = 3_000, np.arange(3_000), np.unique(np.geomspace(1, 3_000, 120).astype(np.int64)) - 1
    for _ in range(200):
        if kind == "two forecasters":  # log-losses of a good and a bad forecaster of three classes, cut
            p = rng.dirichlet([2, 3, 2], n)
            truth = (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(0, 2)
            q = rng.dirichlet([2, 3, 2], n)
            cut = -np.log(np.maximum(np.stack([p, q]), CUT))
            x, expected, span = (cut[0] - cut[1])[t, truth], (p * (cut[0] - cut[1])).sum(axis=1), -2 * math.log(CUT)
        else:
            chance = {"coins": np.full(n, 0.5), "drifting": 0.5 + 0.4 * np.sin(t / 200), "rare": np.full(n, 0.02)}[kind]
            x, expected, span = (rng.random(n) < chance) - 0.5, chance - 0.5, 1.0
        mean, low, high = confidence_sequence(x, span=span, at=at).T
        true = (np.cumsum(expected) / (t + 1))[at]
        missed += bool(((true < low) | (true > high)).any())
        reach = 1.96 * x.std() / np.sqrt(at + 1)
        plain += bool((np.abs(mean - true) > reach)[20:].any())
    assert missed <= 10
    assert plain > 40


def test_the_bound_is_where_the_mixture_of_bets_reaches_its_limit() -> None:
    """Howard et al. 2021, theorem 4, a moment at a time, by scipy's root."""
    x = np.random.default_rng(1).uniform(-0.5, 0.5, 60)
    got = confidence_sequence(x, span=1.0, alpha=0.1)
    stakes, weights = [0.9 / 2**k for k in range(16)], [1 / 2 ** (k + 1) for k in range(16)]
    variance = 0.0
    for n in range(1, 61):
        variance += (x[n - 1] - (x[: n - 1].mean() if n > 1 else 0.0)) ** 2

        def wealth(s: float, v: float = variance) -> float:
            bets = [w * math.exp(k * s - (-math.log(1 - k) - k) * v) for k, w in zip(stakes, weights, strict=True)]
            return sum(bets) - 20

        reach, mean = brentq(wealth, 0, 100) / n, x[:n].mean()
        np.testing.assert_allclose(got[n - 1], [mean, max(mean - reach, -0.5), min(mean + reach, 0.5)], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(confidence_sequence(x, span=1.0, alpha=0.1, at=np.array([7, 59])), got[[7, 59]])


def table(truth: NDArray[np.int64], p: NDArray[np.float64], q: NDArray[np.float64]) -> Table:
    rows = pd.DataFrame({"timestamp": 250 * np.arange(len(truth)), "truth": truth})
    answers = {name: Answered(calls=one.argmax(axis=1), probabilities=one) for name, one in (("a", p), ("b", q))}
    return Table(head=("forward", 10), rows=rows, answers=answers)


def test_rows_are_taken_a_horizon_apart_in_each_recording() -> None:
    rng = np.random.default_rng(2)
    truth, p, q = rng.integers(0, 3, 95), rng.dirichlet([1, 1, 1], 95), rng.dirichlet([1, 1, 1], 95)
    truth[0] = UNKNOWN
    one = table(truth, p, q)
    line = ahead(one, "a", "b").iloc[-1]
    at = np.arange(1, 95, 10)
    losses = [-np.log(np.maximum(r[at, truth[at]], CUT)) for r in (p, q)]
    assert line["outcomes"] == len(at)
    assert line["log_loss"] == pytest.approx((losses[0] - losses[1]).mean(), abs=1e-12)
    briers = [((r[at] - np.eye(3)[truth[at]]) ** 2).sum(axis=1) for r in (p, q)]
    assert line["brier"] == pytest.approx((briers[0] - briers[1]).mean(), abs=1e-12)
    assert line["log_loss_low"] < line["log_loss"] < line["log_loss_high"]
    short = in_short(ahead(one, "a", "b"))
    assert short == {"outcomes": len(at)} | {
        name: [round(line[f"{name}{bound}"], 4) for bound in ("", "_low", "_high")] for name in ("log_loss", "brier")
    }
    both = Table.joined({"x": one, "y": one})
    assert ahead(both, "a", "b").iloc[-1]["outcomes"] == 2 * len(at)


def test_at_most_three_hundred_points_are_kept_from_the_first_outcome_to_the_last() -> None:
    rng = np.random.default_rng(3)
    truth, p, q = rng.integers(0, 3, 4_000), rng.dirichlet([1, 1, 1], 4_000), rng.dirichlet([1, 1, 1], 4_000)
    p[5] = np.nan, 0.5, 0.5  # not whole
    kept = ahead(table(truth, p, q), "a", "b")
    assert len(kept) == 300 and kept["outcomes"].iloc[[0, -1]].tolist() == [1, 400]
    assert kept["timestamp"].iloc[[0, -1]].tolist() == [0, 250 * 3_990]
    losses = np.array([-np.log(np.maximum(one[np.arange(4_000), truth], CUT)) for one in (p, q)])[:, ::10]
    means = np.cumsum(losses[0] - losses[1]) / np.arange(1, 401)
    np.testing.assert_allclose(kept["log_loss"], means[kept["outcomes"] - 1])


def test_there_is_nothing_without_probabilities() -> None:
    none = np.full((20, 3), np.nan)
    assert ahead(table(np.zeros(20, np.int64), none, np.full((20, 3), 1 / 3)), "a", "b").empty
    assert in_short(pd.DataFrame()) == {}
