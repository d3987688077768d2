"""What a session keeps as outcomes arrive, against the same measures over the whole of it at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import softmax

from core import scores
from core.market.answers.recalibration import REFIT_STEPS, SCORED_AFTER, AdaptiveHead, recalibrate_rows
from core.market.answers.scoreboard import TAKER_STEPS, Scoreboard, traded_calls
from core.market.book import BookRows
from core.market.labels import UNKNOWN, Head, fit_alpha, moves_after
from core.market.predictor import Predictions
from tests.core.market.helpers import random_book, with_hole

HEADS: tuple[Head, ...] = (("smoothed", 10), ("forward", 5))
ALPHAS = (3e-4, 2e-4)
ROWS = with_hole(random_book(3_000, 7), 1_700, 40)
"""A book with a gap."""


def answers(rows: BookRows, seed: int) -> Predictions:
    """Predictions at every row that know a little of the future, and momentum's calls made up."""
    rng = np.random.default_rng(seed)
    n = len(rows)
    ahead = np.concatenate([rows.mid[5:], np.full(5, rows.mid[-1])]) / rows.mid - 1
    logits = rng.normal(0, 1, (n, 2, 3)) + np.sign(ahead)[:, None, None] * np.array([-0.8, 0.0, 0.8])
    p = softmax(1.7 * logits, axis=2).astype(np.float32)
    return Predictions(probabilities=p, calls=p.argmax(axis=2).astype(np.int8))


ANSWERS = answers(ROWS, 8)
PREDICTED = np.ones(len(ROWS), dtype=bool)
PREDICTED[:127] = PREDICTED[1_700:1_827] = False
"""A window of rows goes before the first prediction, and after the gap."""


def played(*, own_thresholds: bool = False) -> Scoreboard:
    board = Scoreboard(HEADS, ALPHAS, own_thresholds=own_thresholds)
    for i, (timestamp, mid) in enumerate(zip(ROWS.timestamps.tolist(), ROWS.mid.tolist(), strict=True)):
        if i == 1_700:
            board.gap()
        spread = float(ROWS.levels[i, 0] - ROWS.levels[i, 2])
        board.step(timestamp, mid, ANSWERS if PREDICTED[i] else None, i, spread=spread)
    return board


@pytest.fixture(scope="module")
def board() -> Scoreboard:
    return played()


def known_rows(head: int) -> NDArray[np.int64]:
    return np.flatnonzero(PREDICTED & ~np.isnan(moves_after(ROWS, HEADS[head])))


@pytest.mark.parametrize("head", [0, 1])
def test_step_by_step_recalibration_is_that_of_the_whole_file(board: Scoreboard, head: int) -> None:
    kind, horizon = HEADS[head]
    rows = np.flatnonzero(PREDICTED)
    past = AdaptiveHead(horizon, ALPHAS[head], first_fit=(head + 1) * REFIT_STEPS // len(HEADS))
    p = ANSWERS.probabilities[rows, head].astype(np.float64)
    whole = recalibrate_rows(rows, p, moves_after(ROWS, (kind, horizon))[rows], past)
    logged = board.log.tail()
    np.testing.assert_allclose(logged["recalibrated"][:, head], whole.adapted, atol=1e-6)
    assert logged["came"][:, head].tolist() == whole.truth.tolist()
    scored = np.flatnonzero(whole.truth != UNKNOWN)[SCORED_AFTER:]
    written, adapted = (scores.log_loss(q[scored], whole.truth[scored]) for q in (p, logged["recalibrated"][:, head]))
    assert len(scored) > 1_000 and adapted < written
    assert board.adaptive(head).weights == past.weights


def test_an_unknown_market_scores_anew_with_its_own_threshold(monkeypatch: pytest.MonkeyPatch, board: Scoreboard) -> None:
    unknown = played(own_thresholds=True)
    before = unknown.adaptive(0)  # a quarter hour has not passed
    assert (before.own_threshold, before.settled, before.alpha) == (True, False, ALPHAS[0])
    assert np.array_equal(unknown.log.tail()["recalibrated"], board.log.tail()["recalibrated"])
    monkeypatch.setattr("core.market.answers.recalibration.THRESHOLD_OUTCOMES", 1_500)
    found = played(own_thresholds=True).adaptive(0)
    rows = known_rows(0)
    assert found.alpha == pytest.approx(fit_alpha([moves_after(ROWS, HEADS[0])[rows[:1_500]]]), rel=1e-9)
    assert found.settled
    assert found.resolved == len(rows) - 1_500 > 100  # as a file is, by `--thresholds past`


@pytest.mark.parametrize("head", [0, 1])
def test_a_takers_trades_are_those_of_a_loop(board: Scoreboard, head: int) -> None:
    rows, horizon, results, free = board.log.tail(), HEADS[head][1], list[float](), 0
    last = np.flatnonzero(np.diff(rows["timestamp"], append=0) != 250)  # of each stretch
    for i, call in enumerate(rows["answered"][:, head].tolist()):
        if i >= free and call in (0, 2) and i + horizon <= last[last >= i][0]:
            paid = rows["mid"][i + 1] + (call - 1) * rows["spread"][i + 1] / 2
            received = rows["mid"][i + horizon] - (call - 1) * rows["spread"][i + horizon] / 2
            results.append((call - 1) * (received - paid) / rows["mid"][i] * 1e4)
            free = i + horizon
    count, mean, reach = board.taker_results()[head]
    assert count == len(results) > 50
    assert mean == pytest.approx(np.mean(results), rel=1e-9)
    low, high = stats.t.interval(0.95, len(results) - 1, loc=mean, scale=stats.sem(results))
    assert (mean - reach, mean + reach) == pytest.approx((low, high), rel=1e-3)


def test_a_takers_result_is_computed_anew_every_half_minute() -> None:
    board, counts = Scoreboard(HEADS, ALPHAS), []
    for i in range(200, 200 + 3 * TAKER_STEPS):
        board.step(int(ROWS.timestamps[i]), float(ROWS.mid[i]), ANSWERS, i)
        counts.append(board.taker_results()[1, 0])
    changes = np.flatnonzero(np.diff(counts)) + 1
    assert set(changes.tolist()) == {TAKER_STEPS, 2 * TAKER_STEPS}  # the first was computed at the first row


def test_a_session_without_outcomes_has_no_scores() -> None:
    board = Scoreboard(HEADS, ALPHAS)
    board.step(0, 100.0, replace(ANSWERS), 0, spread=0.5)
    assert board.adaptive(0).rates_lost == 0.0
    assert np.isnan(board.taker_results()[0, 1:]).all()


@pytest.mark.parametrize("head", [0, 1])
def test_the_calls_of_the_day_are_those_behind_what_a_call_was_worth(head: int) -> None:
    """One at a time, in at the best price of the row after it and out a horizon after it."""
    board = played()
    rows, horizon = board.log.tail(), HEADS[head][1]
    at, expected = 0, []
    place = {int(when): i for i, when in enumerate(ROWS.timestamps)}
    while at < len(rows):
        one = rows[at]
        call, entry, leave = int(one["answered"][head]), int(one["timestamp"]) + 250, int(one["timestamp"]) + 250 * horizon
        whole = at + horizon < len(rows) and rows["timestamp"][at + horizon] == leave
        if call not in (0, 2) or not whole:
            at += 1
            continue
        (ask, bid), (ask_out, bid_out) = (ROWS.levels[place[when], [0, 2]] for when in (entry, leave))
        gain = bid_out - ask if call == 2 else bid - ask_out
        truth, p = int(one["came"][head]), one["recalibrated"][head][call]
        expected.append((one["timestamp"], call, p, truth, gain / one["mid"] * 1e4))
        at += horizon
    found = traded_calls(rows, head, horizon)
    assert len(expected) > 5
    np.testing.assert_allclose(found.to_numpy(dtype=float), np.array(expected, dtype=float), atol=1e-6)
    trades_made, mean, _reach = board.taker_results()[head]
    assert (trades_made, mean) == (len(found), pytest.approx(found["result_bps"].mean()))
