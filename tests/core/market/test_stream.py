"""Frames of a session against the session's own view and export; scores in a frame against scikit-learn."""

from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from core.market import session as session_module
from core.market.answers import scoreboard
from core.market.answers.intervals import spaced
from core.market.answers.one_answer import FEWEST, RIVALS
from core.market.book import BookRows, price_tick
from core.market.events import Trade
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.protocol import Status, StatusChange
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.market.stream import HEADER, MAX_BEHIND, ROW, ROW_FIXED, SCORES, STANDINGS, FrameKind, FrameStream, encode
from tests.core.market.feeds_for_tests import ScriptedFeed, books, replaying, running, wait_until
from tests.core.market.helpers import HEADS, random_book, real_rows

ROWS = real_rows(4)
WIDTH = ROW_FIXED + 5 * len(HEADS)


@dataclass
class Screen:
    """What a browser keeps of the frames it got, read by the layout that the module documents."""

    rows: NDArray[np.float64]
    trades: NDArray[np.float64]
    scores: NDArray[np.float64]
    step: int = -1

    @classmethod
    def empty(cls) -> "Screen":
        return cls(np.zeros((0, WIDTH)), np.zeros((0, 4)), np.zeros((0, len(SCORES))))

    def take(self, frame: bytes) -> None:
        v = np.frombuffer(frame, dtype="<f8")
        kind, step, heads, n, m, k = (int(x) for x in v[:6])
        ends = np.cumsum([len(HEADER), n * WIDTH, 4 * m, 3 * k, heads * len(SCORES)])
        assert len(v) == ends[-1]
        rows, trades = v[ends[0] : ends[1]].reshape(n, WIDTH), v[ends[1] : ends[2]].reshape(m, 4)
        if kind == FrameKind.SNAPSHOT:
            self.rows, self.trades = rows.copy(), trades
        else:
            self.rows, self.trades = np.concatenate([self.rows, rows]), np.concatenate([self.trades, trades])
        for time, head, truth in v[ends[2] : ends[3]].reshape(k, 3):
            self.rows[self.rows[:, 0] == time, ROW_FIXED + 4 * heads + int(head)] = truth
        self.scores, self.step = v[ends[3] :].reshape(heads, len(SCORES)), step


def trade(at: int) -> Trade:
    return Trade(price=1.0, size=2.0, side="buy", exchange_ms=int(ROWS.timestamps[at]))


def watched(session: MarketSession) -> MarketSession:
    """The same session; its stream has a viewer."""
    session.frames.stream._waiting[Mock()] = Mock(is_closed=lambda: True)
    return session


def test_a_snapshot_and_the_steps_after_it_are_the_later_snapshot(predictor: Predictor, loop: BackgroundLoop) -> None:
    feed = ScriptedFeed(replaying(ROWS[:80]))
    session = watched(running(loop, predictor, feed, 80))
    screen = Screen.empty()
    frame, version = session.snapshot(1_000)
    screen.take(frame)
    for row in range(80, 80 + MAX_BEHIND):
        feed.send(trade(row), *books(ROWS[row : row + 1]))
        wait_until(lambda row=row: session.view(1).step == row + 1)  # type: ignore[misc]
    wait_until(lambda: session.frames.stream.version == version + MAX_BEHIND)
    frames = session.frames.stream.after(version)
    assert frames is not None
    for frame in frames:
        screen.take(frame)
    whole = Screen.empty()
    whole.take(session.snapshot(1_000)[0])
    np.testing.assert_array_equal(screen.rows, whole.rows)
    np.testing.assert_array_equal(screen.trades, whole.trades)
    np.testing.assert_array_equal(screen.scores, whole.scores)
    view = session.view()
    assert screen.step == whole.step == 80 + MAX_BEHIND
    np.testing.assert_array_equal(screen.rows[:, len(ROW) : ROW_FIXED], view.levels)
    np.testing.assert_array_equal(
        screen.rows[23:, ROW_FIXED : ROW_FIXED + 12].reshape(-1, 4, 3), view.predictions["recalibrated"]
    )
    assert len(screen.trades) == MAX_BEHIND


def test_a_frame_tells_of_one_row_and_the_trades_before_it(predictor: Predictor, loop: BackgroundLoop) -> None:
    """Each trade reaches the session alone, as a venue sends it; none makes a frame of its own."""
    feed = ScriptedFeed(replaying(ROWS[:30]))
    session = watched(running(loop, predictor, feed, 30))
    before = session.frames.stream.version
    for _ in range(5):
        feed.send(trade(30))
    feed.send(*books(ROWS[30:31]))
    wait_until(lambda: session.view(1).step == 31)
    frames = session.frames.stream.after(before)
    assert frames is not None
    assert [int(np.frombuffer(frame)[4]) for frame in frames] == [5]


def test_trades_without_a_row_are_not_kept_back(predictor: Predictor, loop: BackgroundLoop) -> None:
    feed = ScriptedFeed(replaying(ROWS[:30]))
    session = running(loop, predictor, feed, 30)
    feed.send(trade(29))
    wait_until(lambda: len(session.view().trades) == 1)


def test_a_snapshot_is_encoded_once_for_all(predictor: Predictor, loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Mock(side_effect=encode)
    monkeypatch.setattr(session_module, "encode", counted)
    feed = ScriptedFeed(replaying(ROWS[:30]))
    session = running(loop, predictor, feed, 30)
    assert session.snapshot(20) == session.snapshot(20)
    assert counted.call_count == 1
    assert np.frombuffer(session.snapshot(10)[0])[3] == 10
    feed.send(StatusChange(state=Status.PAUSED))
    wait_until(lambda: session.status_now()[0] == "paused")
    session.snapshot(10)
    assert counted.call_count == 2  # other rows; a status is said by a message beside the frames
    feed.send(*books(ROWS[30:31]))
    wait_until(lambda: session.view(1).step == 31)
    assert np.frombuffer(session.snapshot(20)[0])[1] == 31


def naive_trades(rows: BookRows, calls: dict[int, int], horizon: int) -> list[float]:
    """A taker's trades in a loop: in at the best price of the row after a call, out a horizon after it, one at a time."""
    results, row = [], 0
    while row < len(rows) - horizon:
        call = calls.get(int(rows.timestamps[row]), 1)
        if call not in (0, 2):
            row += 1
            continue
        ask, bid = rows.levels[:, 0], rows.levels[:, 2]
        gain = bid[row + horizon] - ask[row + 1] if call == 2 else bid[row + 1] - ask[row + horizon]
        results.append(gain / rows.mid[row] * 1e4)
        row += horizon
    if len(results) < FEWEST:
        return [len(results), float("nan"), float("nan")]
    low, _high = stats.t.interval(0.95, len(results) - 1, scale=stats.sem(results))
    return [len(results), float(np.mean(results)), -float(low)]


def test_scores_in_a_frame_are_of_the_rows_that_it_has(
    predictor: Predictor, loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the answers; of fewer than ten outcomes that do not overlap there is a count alone."""
    monkeypatch.setattr(scoreboard, "TAKER_STEPS", 1)
    rows = random_book(200, 3)
    session = running(loop, predictor, ScriptedFeed(replaying(rows)), 200)
    screen = Screen.empty()
    screen.take(session.snapshot(10)[0])
    answers = session.view(200).predictions
    for head, ((_, horizon), found) in enumerate(zip(HEADS, screen.scores, strict=True)):
        named = dict(zip(SCORES, found, strict=True))
        known = answers[answers["came"][:, head] >= 0]
        truth, since = known["came"][:, head], known["timestamp"] - known["timestamp"][0]
        assert (named["outcomes"], named["sinceMs"]) == (len(known), known["timestamp"][0])
        assert named["independent"] == since[-1] // (250 * horizon) + 1  # no row is missing
        calls = dict(zip(answers["timestamp"].tolist(), answers["answered"][:, head].tolist(), strict=True))
        *trades, reach = naive_trades(rows, calls, horizon)
        np.testing.assert_allclose([named["trades"], named["result"]], trades, atol=1e-9)
        np.testing.assert_allclose(named["reach"], reach, rtol=1e-3)
        if named["independent"] < FEWEST:
            assert all(np.isnan(named[one]) for one in ("nearest", "right", "perCall", "usualUp"))
            continue
        score = session.answer_score(head)
        lead, apart = score.lead, known[spaced(known["timestamp"] // 250, horizon)]
        assert named["right"] == (apart["came"][:, head] == apart["recalibrated"][:, head].argmax(axis=1)).sum()
        assert RIVALS[int(named["nearest"])] == score.nearest
        assert (named["perCall"], named["nearestRight"]) == pytest.approx(
            (lead.totals.min() / len(apart), score.right[score.nearest])
        )
        assert named["untilMs"] == pytest.approx(lead.outcomes_until_decided * horizon * 250)
        assert (STANDINGS[int(named["standing"])], STANDINGS[int(named["decided"])]) == (lead.standing, score.decided)
        assert np.isnan([named[one] for one in SCORES[-6:]]).all()  # no journal knows this market
        usual = [named[one] for one in ("usualDown", "usualStationary", "usualUp")]
        assert usual == pytest.approx(np.bincount(truth, minlength=3) / len(truth))
    assert 0 < np.isnan(screen.scores[:, SCORES.index("nearest")]).sum() < len(HEADS)


def test_a_frame_tells_the_market_s_step_of_price(predictor: Predictor, loop: BackgroundLoop) -> None:
    """That of the feed; where it knows none, that of the first whole window of rows, kept whatever comes later."""
    feed = ScriptedFeed(replaying(ROWS[:5]))
    session = running(loop, predictor, feed, 5)
    ticks = [np.frombuffer(session.snapshot(10)[0])[HEADER.index("tick")]]
    feed.send(*books(ROWS[5:60]))
    wait_until(lambda: session.view(1).step == 60)
    ticks.append(np.frombuffer(session.snapshot(10)[0])[HEADER.index("tick")])
    finer = BookRows(timestamps=ROWS.timestamps[60:70], levels=ROWS.levels[60:70] + 0.003)
    feed.send(*books(finer))
    wait_until(lambda: session.view(1).step == 70)
    ticks.append(np.frombuffer(session.snapshot(10)[0])[HEADER.index("tick")])
    assert ticks == [ticks[0], price_tick(ROWS.levels[36:60, 0::2]), ticks[1]]
    feed.tick = 0.5
    feed.send(*books(ROWS[70:71]))
    wait_until(lambda: session.view(1).step == 71)
    assert np.frombuffer(session.snapshot(10)[0])[HEADER.index("tick")] == 0.5


def test_a_reader_that_fell_behind_gets_what_it_missed_but_only_so_far_back() -> None:
    stream = FrameStream()
    for number in range(3 * MAX_BEHIND):
        stream.publish(b"%d" % number)
    newest = stream.version
    assert newest == 3 * MAX_BEHIND
    assert stream.after(newest) == []
    assert stream.after(newest - 2) == [b"%d" % (newest - 2), b"%d" % (newest - 1)]
    assert len(stream.after(newest - MAX_BEHIND) or []) == MAX_BEHIND
    assert stream.after(newest - MAX_BEHIND - 1) is None


def test_after_a_jump_earlier_frames_are_continued_by_none() -> None:
    stream = FrameStream()
    stream.publish(b"before")
    stream.publish(None)
    stream.publish(b"after")
    assert stream.after(1) is None
    assert stream.after(2) == [b"after"]


def test_without_viewers_nothing_is_encoded(predictor: Predictor, loop: BackgroundLoop, tmp_path: Path) -> None:
    session = running(loop, predictor, ScriptedFeed(replaying(ROWS[:30])), 30)
    assert session.frames.stream.after(session.frames.stream.version - 1) is None
