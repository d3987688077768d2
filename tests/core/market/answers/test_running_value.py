"""What a session keeps as outcomes arrive, against the same measures over the whole of it at once."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import softmax

from core.market.answers.one_answer import Shown
from core.market.answers.scoreboard import TAKER_STEPS, Scoreboard, traded_calls
from core.market.book import BookRows
from core.market.labels import Head
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


VWAP = np.random.default_rng(5).integers(0, 3, len(ROWS))
"""That rule's calls, made up."""


def played(end: int = len(ROWS), *, own_thresholds: bool = False) -> Scoreboard:
    """A market of which each row up to `end` was shown as it came."""
    board = Scoreboard(HEADS, ALPHAS, own_thresholds=own_thresholds)
    for i, (timestamp, mid) in enumerate(zip(ROWS.timestamps[:end].tolist(), ROWS.mid[:end].tolist(), strict=True)):
        if i == 1_700:
            board.gap()
        spread, shown = float(ROWS.levels[i, 0] - ROWS.levels[i, 2]), Shown(vwap=int(VWAP[i]))
        board.step(timestamp, mid, ANSWERS if PREDICTED[i] else None, i, spread=spread, shown=shown)
    return board


whole_board = cache(played)
"""Of all rows, to be looked at."""


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
    board = whole_board()
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
