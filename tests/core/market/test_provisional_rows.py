"""Rows that the venue has not confirmed (D27) are shown and predicted on, but neither scored nor kept; and live time."""

import time
from dataclasses import replace

import numpy as np
import pytest

from core.market.book import STEP_MS, OrderBookSnapshot
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.clock import SteadyClock
from core.market.feeds.protocol import FeedState, StatusChange
from core.market.predictor import Predictor
from core.market.session import MarketSession
from tests.core.market.feeds_for_tests import ScriptedFeed, running, wait_until
from tests.core.market.helpers import confirmed, real_rows

ROWS = real_rows(4)
LIVE = StatusChange(state=FeedState.LIVE)
SECOND_NS = 1_000_000_000
DAY_NS = 86_400 * SECOND_NS


def book(number: int, *, ago_s: float = 0.0, confirms: bool = True) -> OrderBookSnapshot:
    received_ns = time.time_ns() - int(ago_s * SECOND_NS)
    return OrderBookSnapshot(levels=ROWS.levels[number], exchange_ms=0, received_ns=received_ns, confirms=confirms)


def rows_since(start_ns: int) -> float:
    """Rows that the time since `time.monotonic_ns()` was this has at most, however long a busy machine made it."""
    return (time.monotonic_ns() - start_ns) / 1e6 / STEP_MS + 1


def watching(predictor: Predictor, loop: BackgroundLoop, *script: object) -> tuple[MarketSession, ScriptedFeed]:
    feed = ScriptedFeed([LIVE, *script], clock="wall")  # type: ignore[list-item]
    return running(loop, predictor, feed), feed


def test_a_row_that_nothing_has_confirmed_is_shown_and_predicted_on_but_not_scored(
    predictor: Predictor, loop: BackgroundLoop
) -> None:
    session, feed = watching(predictor, loop, book(0, ago_s=9.0))
    wait_until(lambda: session.view().provisional >= 34)
    view = session.view()
    assert view.provisional == len(view.timestamps)
    assert len(view.predictions) == len(view.timestamps) - predictor.window + 1
    assert len(confirmed(session)) == 0
    assert session.answer_score(0).outcomes == 0
    assert session.freeze() is None
    feed.send(book(1))
    wait_until(lambda: len(confirmed(session)) > 0)
    later = session.view()
    assert later.provisional <= 2
    assert len(confirmed(session)) == len(later.predictions) - later.provisional
    assert later.predictions["timestamp"][: len(view.predictions)].tolist() == view.predictions["timestamp"].tolist()
    assert np.array_equal(later.predictions["probabilities"][: len(view.predictions)], view.predictions["probabilities"])
    assert session.answer_score(0).outcomes > 0
    assert session.freeze() is not None


def test_a_tail_that_is_never_confirmed_becomes_a_gap(predictor: Predictor, loop: BackgroundLoop) -> None:
    session, feed = watching(predictor, loop, book(0, ago_s=9.0), book(1, ago_s=1.0))
    wait_until(lambda: session.view().provisional >= 3)
    before = confirmed(session)["timestamp"].tolist()
    assert before
    feed.send(StatusChange(state=FeedState.RECONNECTING, gap=True))
    wait_until(lambda: session.view().warm == 0)
    view = session.view()
    assert view.provisional == 0
    assert view.predictions["timestamp"].tolist() == before == confirmed(session)["timestamp"].tolist()
    assert view.timestamps[-1] == before[-1]
    feed.send(LIVE, book(2), *[book(3)])
    wait_until(lambda: session.view().provisional >= 1)
    assert session.view().warm < predictor.window  # the warm-up starts anew


# -- the machine's clock ----------------------------------------------------------------------------------------------


def test_a_steady_clock_never_runs_back_and_counts_jumps_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    now, wall = 50 * SECOND_NS, 1_700_000_000 * SECOND_NS
    monkeypatch.setattr(time, "monotonic_ns", lambda: now)
    monkeypatch.setattr(time, "time_ns", lambda: wall)
    clock = SteadyClock()
    assert clock.now_ns() == wall
    now, wall = now + SECOND_NS, wall - 3_600 * SECOND_NS
    assert clock.now_ns() == 1_700_000_001 * SECOND_NS
    assert clock.jumps == 0
    wall = 1_700_003_600 * SECOND_NS
    assert clock.now_ns() == wall
    assert clock.jumps == 1
    now, wall = now + SECOND_NS, wall + SECOND_NS
    assert clock.now_ns() == wall
    assert clock.jumps == 1


@pytest.mark.parametrize("hours", [-1, 1])
def test_setting_the_clock_neither_wipes_nor_invents_rows(
    predictor: Predictor, loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    # It is noon: a score begins anew with the day, and an hour forward or back must not leave this one.
    to_noon_ns = time.time_ns() // DAY_NS * DAY_NS + DAY_NS // 2 - time.monotonic_ns()
    monkeypatch.setattr(time, "time_ns", lambda: time.monotonic_ns() + to_noon_ns)
    clock = SteadyClock()
    monkeypatch.setattr("core.market.session.CLOCK", clock)
    monkeypatch.setattr("core.market.feeds.sampling.CLOCK", clock)

    def arriving(number: int) -> OrderBookSnapshot:
        return replace(book(number), received_ns=clock.now_ns())

    session, feed = watching(predictor, loop, book(0, ago_s=9.0), book(1))
    wait_until(lambda: len(confirmed(session)) > 5 and session.answer_score(0).outcomes > 0)
    before, resolved = confirmed(session)["timestamp"].tolist(), session.answer_score(0).outcomes
    set_ns = time.monotonic_ns()
    monkeypatch.setattr(time, "time_ns", lambda: time.monotonic_ns() + to_noon_ns + hours * 3_600 * SECOND_NS)
    steps = session.step
    for number in range(2, 6):
        feed.send(arriving(number))
        time.sleep(0.3)
    wait_until(lambda: session.step >= steps + 3)
    timestamps = session.view().timestamps
    assert confirmed(session)["timestamp"].tolist()[: len(before)] == before
    assert session.answer_score(0).outcomes >= resolved
    assert (np.diff(timestamps) > 0).all()
    jumped = timestamps[timestamps > before[-1] + 1_800_000]
    if hours < 0:
        assert len(jumped) == 0
        assert (np.diff(timestamps) == STEP_MS).all()  # and the grid goes on without a hole
    else:
        assert 3 <= len(jumped) <= rows_since(set_ns)  # ten seconds carried would be forty
        assert timestamps[len(timestamps) - len(jumped) - 1] < (set_ns + to_noon_ns) / 1e6 + STEP_MS
