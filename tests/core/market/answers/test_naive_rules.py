"""The naive rules against loops over rows and outcomes, one after the other, and against pandas; each defined once."""

import ast
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from core.market.answers.naive import (
    A_THIRD_EACH,
    HALF_LIFE,
    NAIVE,
    PRIOR,
    RunningVwap,
    base_rates,
    momentum_calls,
    naive_answers,
)
from core.market.answers.table import Scores
from core.market.book import STEP_MS
from core.market.labels import DOWN, STATIONARY, UNKNOWN, UP
from tests.core.market.helpers import random_book, with_hole

TIMES = STEP_MS * np.delete(np.arange(4_000), slice(1_200, 1_260))
TRUTH = np.random.default_rng(3).choice([UNKNOWN, 0, 1, 2], len(TIMES), p=[0.05, 0.2, 0.5, 0.25])


@pytest.mark.parametrize("horizon", [3, 10, 50])
def test_momentum_equals_pandas_and_begins_anew_after_a_gap(horizon: int) -> None:
    rows, alpha = with_hole(random_book(240, 3), 150, 20), 2e-4
    averages = pd.Series(rows.mid).groupby(np.arange(len(rows)) >= 150).rolling(min(10, horizon), min_periods=1).mean()
    drift = rows.mid / averages.to_numpy() - 1
    expected = np.where(drift > alpha, UP, np.where(drift < -alpha, DOWN, STATIONARY))
    found = momentum_calls(rows, [("forward", 1), ("forward", horizon)], [alpha, alpha])
    assert found[:, 1].tolist() == expected.tolist() and set(expected) == {DOWN, STATIONARY, UP}
    assert set(found[:, 0]) == {STATIONARY}  # of one step the mean is the mid


@pytest.mark.parametrize("half_life", [math.inf, HALF_LIFE])
@pytest.mark.parametrize("horizon", [1, 50])
def test_rates_know_only_outcomes_of_a_horizon_ago(horizon: int, half_life: float) -> None:
    found = base_rates(TIMES, TRUTH, horizon, half_life=half_life)
    counts, due, expected = np.zeros(3), 0, list[NDArray[np.float64]]()
    for now in TIMES:
        while TIMES[due] + horizon * STEP_MS <= now:
            if TRUTH[due] != UNKNOWN:
                counts *= 0.5 ** (1 / half_life)
                counts[TRUTH[due]] += 1
            due += 1
        expected.append((counts + PRIOR) / (counts + PRIOR).sum())
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_every_rule_is_scored_and_those_of_no_book_give_probabilities() -> None:
    momentum = np.random.default_rng(4).integers(3, size=len(TIMES))
    answers = naive_answers(TIMES, TRUTH, momentum, 10)
    assert tuple(answers) == NAIVE
    known = TRUTH != UNKNOWN
    found = {rule: Scores.of(TRUTH[known], one[known]) for rule, one in answers.items()}
    losses = {rule: one.log_loss for rule, one in found.items() if one.log_loss == one.log_loss}
    assert set(losses) == {"uniform", "frequencies", "decayed"}
    assert losses["uniform"] == pytest.approx(math.log(3)) == A_THIRD_EACH
    for rule in ("frequencies", "decayed"):
        given = answers[rule].probabilities
        assert losses[rule] == pytest.approx(log_loss(TRUTH[known], given[known], labels=[0, 1, 2]))
    assert found["stationary"].confusion[:, STATIONARY].sum() == known.sum()
    assert np.ptp(found["uniform"].confusion.sum(axis=0)) < 0.05 * known.sum()  # each class a third of the time


def test_lately_forgets_what_long_ago_was() -> None:
    """A quiet hour, then a lively one: the rates of late have gone over to it, those of all time have not."""
    truth = np.repeat([1, 2], 8_000)
    times = STEP_MS * np.arange(len(truth))
    so_far, lately = (base_rates(times, truth, 10, half_life=half_life)[-1] for half_life in (math.inf, HALF_LIFE))
    assert so_far[2] == pytest.approx(0.5, abs=0.01)
    assert lately[2] == pytest.approx(1 - 0.5**8, abs=0.01)


def test_the_distance_to_the_vwap_is_that_of_a_loop() -> None:
    """A minute's trades by hand; far is beyond four in five of the last five minutes' distances."""
    rng, n = np.random.default_rng(8), 1_500
    times = STEP_MS * np.arange(n)
    levels = np.ones((n, 40))
    levels[:, 0] = 100 + rng.normal(0, 0.1, n).cumsum()
    levels[:, 2] = levels[:, 0] - 0.01
    when = np.sort(rng.uniform(-200, times[-1] + 400, 900))
    trades = np.column_stack([when, 100 + rng.normal(0, 1, 900), rng.exponential(1, 900), np.ones(900)])
    distances, expected = [], []
    for row, now in enumerate(times):
        mid = (levels[row, 0] + levels[row, 2]) / 2
        minute = trades[(trades[:, 0] > now - 240 * STEP_MS) & (trades[:, 0] <= now)]
        size = minute[:, 2].sum()
        before = np.abs(distances[-1_200:])
        distances.append(mid - (minute[:, 1] * minute[:, 2]).sum() / size if size else 0.0)
        far = np.quantile(before, 0.8) if len(before) >= 120 else np.inf
        expected.append(2 if distances[-1] > far else 0 if distances[-1] < -far else STATIONARY)
    running, calls, next_trade = RunningVwap(), np.zeros(n, dtype=int), 0
    for row, now in enumerate(times.tolist()):
        while next_trade < len(trades) and trades[next_trade, 0] <= now + 400:  # some come before their time
            running.trade(*trades[next_trade, :3])
            next_trade += 1
        calls[row] = running.row(now, (levels[row, 0] + levels[row, 2]) / 2)
    assert (calls == expected).mean() > 0.999 and 0.1 < (calls != STATIONARY).mean() < 0.6  # a sum may differ in its last bit


def test_each_rule_and_what_is_due_and_what_is_apart_are_defined_once() -> None:
    """By name: a form of a file, of a window or a running one beside these would be a second.

    Each is a step, and beneath it in the same file what a whole file is put through.
    """
    names = [
        (path.as_posix(), node.name)
        for path in Path("core").rglob("*.py")
        if "lecture" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    for words, defined in {
        ("momentum", "vwap", "frequenc", "decayed", "rates", "stationary"): {
            "naive": {"Momentum", "momentum_calls", "Rates", "base_rates", "RunningVwap"},
            "recalibration": {"rates_lost"},  # a sum of losses
        },
        ("await", "resolv", "recalibrate_"): {
            "recalibration": {"Awaiting", "resolve", "recalibrate_rows", "recalibrate_file"},
            "one_answer": {"resolve"},
            "scoreboard": {"_resolve"},
        },
        ("spac",): {"intervals": {"Spacing", "spaced"}},
    }.items():
        expected = {(f"core/market/answers/{file}.py", name) for file, those in defined.items() for name in those}
        assert {(path, name) for path, name in names if any(word in name.lower() for word in words)} == expected
