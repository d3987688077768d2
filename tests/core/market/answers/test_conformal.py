"""Conformal sets: coverage on drifting data, Gibbs and Candes's bound, and the quantile against numpy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from core.market.answers import recalibration
from core.market.answers.recalibration import MEMORY, MIN_SCORES, AdaptiveSets, RecalibratedRows, named, recalibrate_file
from core.market.labels import UNKNOWN
from tests.core.market.helpers import random_book


def coverage(scores: np.ndarray, sets: AdaptiveSets, *, delay: int = 1) -> np.ndarray:
    """Whether each score was within the limit of its time, each becoming known `delay` steps later."""
    limits: list[float] = []
    for t in range(len(scores)):
        if t >= delay:
            sets.resolve(1 - scores[t - delay], limits[t - delay])
        limits.append(sets.limit)
    return scores <= np.array(limits)


@pytest.mark.parametrize("promised", [0.8, 0.9])
def test_the_promise_is_kept_while_the_market_drifts(promised: float) -> None:
    """Scores whose scale quadruples, jumps and falls back: a fixed limit fails, the adaptive one does not."""
    rng = np.random.default_rng(0)
    t = np.arange(12_000)
    scale = np.where(t < 4_000, 0.1 + 0.3 * t / 4_000, np.where(t < 8_000, 0.9, 0.2))
    scores = rng.beta(2, 2, len(t)) * scale
    covered = coverage(scores, AdaptiveSets(promised=promised))
    fixed = scores <= np.quantile(scores[:1_000], promised)
    windows = np.convolve(covered[MEMORY:], np.ones(MEMORY) / MEMORY, "valid")
    assert np.abs(windows - promised).max() < 0.03
    assert abs(fixed[4_000:8_000].mean() - promised) > 0.3


@pytest.mark.parametrize("pace", [0.005, 0.03])
def test_any_sequence_is_covered_within_the_papers_bound(pace: float) -> None:
    """Proposition 4.1 of Gibbs and Candes 2021: the mean miss differs from the promise by at most (max(a, 1 - a) + g) / (T g)."""
    rng = np.random.default_rng(1)
    hostile = np.abs(np.sin(np.arange(6_000) / 50)) * (rng.random(6_000) < 0.5) + np.arange(6_000) % 7 / 20
    sets = AdaptiveSets(promised=0.9, pace=pace)
    covered = coverage(np.minimum(hostile, 0.999), sets)[:-1]
    # the limit reaches only the scores seen: the paper's full set (1.0) stands in for quantiles beyond them
    assert abs(covered.mean() - 0.9) <= (0.9 + pace) / (len(covered) * pace) + MIN_SCORES / len(covered)


def test_the_limit_is_the_quantile_of_the_latest_scores() -> None:
    rng = np.random.default_rng(2)
    scores = rng.random(2_500)
    sets = AdaptiveSets(promised=0.9, pace=0.0)
    for score in scores:
        sets.resolve(1 - score, 0.5)
    latest = np.sort(scores[-MEMORY:])
    assert sets.limit == pytest.approx(latest[int(np.ceil(0.9 * (MEMORY + 1))) - 1], abs=1e-12)


def test_all_classes_are_named_until_enough_is_known() -> None:
    sets = AdaptiveSets()
    for _ in range(MIN_SCORES - 1):
        sets.resolve(0.99, sets.limit)
        assert named((0.2, 0.7, 0.1), sets.limit) == [0, 1, 2]
    sets.resolve(0.99, sets.limit)
    assert sets.limit < 1


def test_classes_are_named_by_probability() -> None:
    assert named((0.3, 0.6, 0.1), 0.7) == [0, 1]
    assert named((0.3, 0.6, 0.1), -1.0) == []


def test_a_set_holds_a_class_at_its_limit_and_covers_no_unknown_outcome() -> None:
    p, limits = np.array([[0.5, 0.25, 0.25]] * 4), np.array([0.5, 0.75, 0.4, 1.0])
    rows = RecalibratedRows(adapted=p, limits=limits, truth=np.array([0, 2, 0, UNKNOWN]), alpha=1e-4)
    assert rows.covered.tolist() == [True, True, False, False] and rows.sizes.tolist() == [1, 3, 0, 3]


def test_a_files_summary_is_of_its_scored_rows_and_the_last_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recalibration, "MEMORY", 100)
    rows = random_book(1_500, 3)
    p = np.random.default_rng(5).dirichlet([2, 3, 2], (len(rows), 1))
    predicted: Any = SimpleNamespace(heads=(("forward", 5),), rows=np.arange(len(rows)), probabilities=p)
    market: Any = SimpleNamespace(alphas=(1e-4,))
    answer, scored, about = recalibrate_file(predicted, rows, market, 0)
    assert scored[0] == 1_000 and len(scored) == 1_500 - 1_000 - 5
    covered, sizes, told = answer.covered[scored], answer.sizes[scored], about["sets"]
    assert covered[-100:].mean() != covered[100:].mean() != covered.mean()
    expected = [covered.mean(), covered[-100:].mean(), sizes.mean(), (sizes == 0).mean()]
    assert [told[name] for name in ("delivered", "delivered_last", "mean_size", "empty")] == pytest.approx(expected, abs=5.1e-5)
    assert told["low"] <= told["delivered"] <= told["high"] and sum(about["weights"].values()) == pytest.approx(1, abs=1e-3)
