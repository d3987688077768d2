"""The running score against the evaluation of whole files, and against loops."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from core.market.answers.one_answer import RowAnswers
from core.market.answers.predictions import evaluate
from core.market.answers.recalibration import A_THIRD, Recalibrated
from core.market.answers.scoreboard import PredictionLog, Scoreboard, answered_calls
from core.market.book import BookRows
from core.market.grid import segments, stalled
from core.market.predictor import MarketCard, Predictions, Predictor, windows_of
from tests.core.market.helpers import HEADS, real_rows, with_hole, with_stall

HOLED = with_hole(real_rows(3), 217, 4)
RULES = ("momentum", "stationary", "frequencies", "decayed")


def played(predictor: Predictor, entry: MarketCard, rows: BookRows) -> Scoreboard:
    """Step by step, as a session does."""
    still, before = stalled(rows.timestamps, rows.levels), predictor.window - 1
    answers = predictor.predict(windows_of(rows.levels, np.arange(before, len(rows)), predictor.window), entry)
    board = Scoreboard(predictor.heads, entry.alphas)
    for stretch in segments(rows.timestamps):
        board.gap()
        for i in range(stretch.start, stretch.stop):
            given = answers if i - stretch.start >= before else None
            board.step(int(rows.timestamps[i]), float(rows.mid[i]), given, i - before, stalled=bool(still[i]))
    return board


def test_a_stall_is_left_out_as_in_the_whole_file(predictor: Predictor, entry: MarketCard) -> None:
    quiet = with_stall(real_rows(1), 200, 700)
    live = played(predictor, entry, quiet)
    for head, expected in enumerate(evaluate(predictor, quiet, entry)):
        found = live.answers.score(head)
        for rule in RULES:
            assert found.scores[rule].confusion.tolist() == expected.scores[rule].confusion.tolist()
        assert live.adaptive(head)._count == found.outcomes  # nothing is learnt from it either
        mine = answered_calls(live.log.tail(), head, HEADS[head][1])
        assert (mine.direction[-400:-200] == 0).all() and mine.direction.any()


def one_prediction(called: int) -> Predictions:
    p = np.full(3, 0.2, dtype=np.float32)
    p[called] = 0.6
    one = np.array([[called]], dtype=np.int8)
    return Predictions(probabilities=p[None, None], calls=one)


def one_record(timestamp: int, called: int) -> tuple[Any, ...]:
    p = one_prediction(called).probabilities[0]
    triple = (float(p[0, 0]), float(p[0, 1]), float(p[0, 2]))
    answers = RowAnswers((Recalibrated((A_THIRD,) * 4, triple),))
    return PredictionLog.record((timestamp, 100.0, 0.0, False), p, answers)


def saws() -> Iterator[float]:
    """Up two, down one, for ever: every move is known by hand."""
    value = 1_000.0
    while True:
        for move in (2.0, -1.0):
            value += move
            yield value


def test_what_is_resolved_is_told() -> None:
    """Two heads, one and three steps ahead; an unpredicted row in between; nothing after a gap."""
    board, mids = Scoreboard([("forward", 1), ("forward", 3)], [1e-9, 1e-9]), saws()
    assert board.answers.score(0).lead.since_ms == 0
    rng, path, given, told = np.random.default_rng(1), list[float](), list[Predictions | None](), list[tuple[int, int, int]]()
    for i in range(40):
        p = rng.dirichlet([1, 1, 1], (1, 2)).astype(np.float32)
        calls = rng.integers(0, 3, (2, 1, 2), dtype=np.int8)[0]
        given.append(None if i == 7 else Predictions(probabilities=p, calls=calls))
        path.append(next(mids))
        told += board.step(250 * i, path[-1], given[-1])
    expected = []
    for end in range(40):
        for head, horizon in enumerate((1, 3)):
            if (begin := end - horizon) >= 0 and given[begin] is not None:
                move = np.mean(path[begin + 1 : end + 1]) - path[begin]
                expected.append((250 * begin, head, 1 + int(np.sign(round(move, 9)))))
    assert told == expected
    board.gap()
    assert board.step(250 * 60, next(mids), given[0]) == []


# -- the log --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("added", [0, 1, 7, 8, 9, 24, 25, 70])
def test_the_log_keeps_the_newest_and_drops_the_oldest(added: int) -> None:
    log = PredictionLog(1, capacity=24)
    for i in range(added):
        assert log.add(one_record(1_000 + i, called=i % 3)) == i
    kept = list(range(log.first, added))
    assert log.count == added
    assert len(kept) == min(added, 24)
    assert log.tail(1_000)["timestamp"].tolist() == [1_000 + i for i in kept]
    assert log.tail(3)["answered"][:, 0].tolist() == [i % 3 for i in kept[-3:]]
    assert [int(log[i]["timestamp"]) for i in kept] == [1_000 + i for i in kept]
    for gone in ({log.first - 1} if log.first else set()) | {added}:
        with pytest.raises(IndexError, match=f"row {gone} is not kept"):
            log[gone]


def test_a_row_can_be_written_to_and_a_tail_cannot_reach_it() -> None:
    log = PredictionLog(1, capacity=24)
    for i in range(20):
        log.add(one_record(i, called=0))
    log[11]["came"][0] = 2
    tail = log.tail(20)
    assert tail["came"][:, 0].tolist() == [-1] * 11 + [2] + [-1] * 8
    tail["came"] = 0
    assert log[5]["came"][0] == -1


def test_scoring_goes_on_when_the_log_is_full() -> None:
    board, mids = Scoreboard([("forward", 6)], [1e-9]), saws()
    board.log = PredictionLog(1, capacity=7)  # as small as it can be
    for i in range(100):
        board.step(i, next(mids), one_prediction(called=1))
    assert len(board.log.tail()) == 7 and (board.log.tail()["came"][:, 0] != -1).sum() == 1
