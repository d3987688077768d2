"""Order and virtual time only: no test here waits for a clock."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from core.market.book import BookError, BookRows, OrderBookSnapshot
from core.market.events import Row, Trade, TradesBreak
from core.market.feeds.playback import SPEEDS
from core.market.feeds.protocol import FeedEvent, Status, StatusChange
from core.market.feeds.recording import RecordingFeed
from core.market.store.index import Recording, recordings
from core.market.store.rows import read_market
from core.market.store.segments import TRADES, segment_path
from core.market.store.trades import BREAK, trades_table
from core.market.store.writer import SegmentWriter
from tests.core.market.feeds_for_tests import PlayedOnce
from tests.core.market.helpers import START_MS, frame_from_rows, written

PLAYING, PAUSED = StatusChange(state=Status.REPLAYING), StatusChange(state=Status.PAUSED)
JUMPED = StatusChange(state=Status.REPLAYING, gap=True)


def rows_of(timestamps: list[int]) -> BookRows:
    """Books whose sizes tell the row: best ask size is the row's number plus one."""
    levels = np.empty((len(timestamps), 40))
    ranks = np.arange(10)
    levels[:, 0::4], levels[:, 2::4] = 101 + ranks, 100 - ranks
    levels[:, 1::2] = 5.0
    levels[:, 1] = 1 + np.arange(len(timestamps))
    return BookRows(timestamps=np.array(timestamps, dtype=np.int64), levels=levels)


def file_of(folder: Path, rows: int | list[int], name: str = "book.parquet") -> Path:
    timestamps = [START_MS + 250 * row for row in range(rows)] if isinstance(rows, int) else rows
    return written(folder, name, frame_from_rows(rows_of(timestamps)))


def short(event: FeedEvent) -> int | StatusChange | Trade:
    """A book as its row in the file."""
    return event.sequence if isinstance(event, OrderBookSnapshot) and event.sequence is not None else event  # type: ignore[return-value]


async def take(events: AsyncIterator[FeedEvent], count: int) -> list[int | StatusChange | Trade]:
    return [short(await anext(events)) for _ in range(count)]


class BetweenLooks(RecordingFeed):
    """A jump is carried out right after anybody has looked at it, where the feed's lock allows that."""

    @property
    def _jump(self) -> int | None:
        target = self._target
        if self._lock.acquire(blocking=False):
            self._target = None
            self._lock.release()
        return target

    @_jump.setter
    def _jump(self, target: int | None) -> None:
        self._target = target


def test_a_place_that_is_asked_for_in_the_middle_of_a_jump_is_a_row(tmp_path: Path) -> None:
    """A page asks in its own thread, the loop jumps."""
    feed = BetweenLooks(file_of(tmp_path, 300), market="ABC/USD", lead=40)
    assert feed.position in (39, 0)


@pytest.mark.parametrize("name", ["book.parquet", "book.csv"])
async def test_every_row_comes_out_once_in_order_with_its_time(tmp_path: Path, name: str) -> None:
    feed = PlayedOnce(file_of(tmp_path, 300, name), market="NEXO/USDT")
    events = [event async for event in feed.events()]
    assert events[0] == PLAYING
    assert events[-1] == StatusChange(state=Status.ENDED)
    books = [event for event in events if isinstance(event, OrderBookSnapshot)]
    assert len(books) == len(events) - 2
    assert [book.sequence for book in books] == list(range(300))
    assert [book.exchange_ms for book in books] == [START_MS + 250 * row for row in range(300)]
    assert [book.levels[1] for book in books] == list(range(1, 301))
    assert (feed.key, feed.market, feed.clock) == (f"recording/{name}", "NEXO/USDT", "event")
    assert (feed.length, feed.duration, feed.position, feed.span_ms[0]) == (300, 75.0, 299, START_MS)


@pytest.mark.parametrize("speed", [SPEEDS[0], 1.0, SPEEDS[-1]])
async def test_rows_come_on_time_and_do_not_drift(tmp_path: Path, speed: float) -> None:
    random, loop = np.random.default_rng(7), asyncio.get_running_loop()
    feed = PlayedOnce(file_of(tmp_path, 2_000), market="x", speed=speed)
    began, late = loop.time(), []
    async for event in feed.events():
        if isinstance(event, OrderBookSnapshot) and event.sequence is not None:
            late.append(loop.time() - began - event.sequence * 0.25 / speed)
            await asyncio.sleep(random.uniform(0, 0.9) * 0.25 / speed)  # a listener that takes its time
    assert len(late) == 2_000
    assert min(late) > -1e-5
    assert max(late) < 1e-5


async def test_the_lead_comes_at_once_and_then_the_pace(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    feed = RecordingFeed(file_of(tmp_path, 500), market="x", lead=128)
    async with aclosing(feed.events()) as events:
        began = loop.time()
        assert await take(events, 129) == [PLAYING, *range(128)]
        assert loop.time() == began
        assert await take(events, 2) == [128, 129]
        assert loop.time() - began == pytest.approx(0.5)


async def test_pause_step_and_resume(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    feed = RecordingFeed(file_of(tmp_path, 500), market="x")
    async with aclosing(feed.events()) as events:
        assert await take(events, 4) == [PLAYING, 0, 1, 2]
        feed.pause()
        assert feed.paused
        assert await take(events, 1) == [PAUSED]
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(3600)
        assert not waiting.done()
        feed.step()
        assert short(await waiting) == 3
        feed.step()
        assert await take(events, 1) == [4]
        assert feed.position == 4
        feed.resume()
        before = loop.time()
        assert await take(events, 2) == [PLAYING, 5]
        assert loop.time() - before == pytest.approx(0.25)


async def test_a_jump_is_a_gap_with_the_lead_before_its_target(tmp_path: Path) -> None:
    feed = RecordingFeed(file_of(tmp_path, 1_001), market="x", lead=3)
    async with aclosing(feed.events()) as events:
        assert await take(events, 4) == [PLAYING, 0, 1, 2]
        feed.seek(500)
        assert feed.position == 500
        assert await take(events, 5) == [JUMPED, 498, 499, 500, 501]
        feed.seek(1)
        assert await take(events, 4) == [JUMPED, 0, 1, 2]
        feed.pause()
        feed.seek(1_000)
        assert await take(events, 5) == [PAUSED, StatusChange(state=Status.PAUSED, gap=True), 998, 999, 1_000]


@pytest.mark.parametrize("place", [-1, 300])
def test_a_place_outside_the_recording_is_refused(tmp_path: Path, place: int) -> None:
    feed = RecordingFeed(file_of(tmp_path, 300), market="x")
    with pytest.raises(ValueError, match="give one from 0 to 299"):
        feed.seek(place)


async def test_it_begins_again_at_the_end_across_a_gap(tmp_path: Path) -> None:
    feed = RecordingFeed(file_of(tmp_path, 6), market="x", lead=2)
    async with aclosing(feed.events()) as events:
        assert await take(events, 12) == [PLAYING, 0, 1, 2, 3, 4, 5, JUMPED, 0, 1, 2, 3]


async def test_together_they_jump_only_from_afar_begin_again_at_one_moment_and_none_runs_ahead(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    feed = RecordingFeed(file_of(tmp_path, 100), market="x", lead=2)
    other = RecordingFeed(file_of(tmp_path, 100, "other.parquet"), market="y", lead=2)
    first, last = START_MS + 250 * 20 - 100, START_MS + 250 * 34 + 100  # between rows of these
    feed.play_together([feed, other], first, last, START_MS + 250 * 33)
    async with aclosing(feed.events()) as events:
        assert await take(events, 7) == [PLAYING, 32, 33, 34, JUMPED, 20, 21]  # the other does not run
        feed.play_together([feed, other], first, last, START_MS + 250 * 28)
        assert await take(events, 2) == [22, 23]
        feed.play_together([feed, other], first, last, START_MS + 250 * 32)
        assert await take(events, 3) == [JUMPED, 31, 32]
        other.seek(30)
        async with aclosing(other.events()) as others:
            assert await take(others, 3) == [PLAYING, 29, 30]
            began = loop.time()
            waiting = asyncio.ensure_future(take(events, 2))
            await asyncio.sleep(10)
            assert not waiting.done() and feed.position == 33  # 33 is .75 s ahead of 30
            assert await take(others, 1) == [31]
            assert await waiting == [33, 34] and loop.time() - began < 11
        assert await take(events, 2) == [JUMPED, 20]


async def test_a_hole_in_the_file_is_marked_and_not_waited_out(tmp_path: Path) -> None:
    hours = 3_600_000
    times = [START_MS, START_MS + 250, START_MS + 500, START_MS + hours, START_MS + hours + 250]
    loop = asyncio.get_running_loop()
    feed = RecordingFeed(file_of(tmp_path, times), market="x", lead=3)
    async with aclosing(feed.events()) as events:
        assert await take(events, 7) == [PLAYING, 0, 1, 2, JUMPED, 3, 4]
        assert loop.time() < 1_002
        feed.seek(4)
        assert await take(events, 3) == [JUMPED, 3, 4]  # the lead does not reach over the hole


async def test_trades_come_before_the_row_that_closes_their_quarter_second(tmp_path: Path) -> None:
    path = file_of(tmp_path, 4)
    times = (0, 1, 250, 700)
    trades = [Trade(price=100.5, size=1.0 + at, side="buy", exchange_ms=START_MS + at) for at in times]
    segment_path(path, TRADES).parent.mkdir()
    pq.write_table(trades_table(trades), segment_path(path, TRADES))
    events = [short(event) async for event in PlayedOnce(path, market="x").events()]
    assert events == [PLAYING, trades[0], 0, trades[1], trades[2], 1, 2, trades[3], 3, StatusChange(state=Status.ENDED)]


async def test_what_was_traded_in_a_hole_and_the_break_of_the_trades_come_with_the_row_after_it(tmp_path: Path) -> None:
    made = rows_of([START_MS + 250 * at for at in (0, 1, 41, 42)])
    trades = [Trade(price=1.0, size=1.0 + at, side="buy", exchange_ms=START_MS + at) for at in (100, 4_000, 9_000, 10_400)]
    with SegmentWriter(tmp_path, "x") as writer:
        for timestamp, levels in zip(made.timestamps, made.levels, strict=True):
            writer.add(Row(int(timestamp), levels))
        for trade in trades:
            writer.add_trade(trade)
        writer.add_event(BREAK, START_MS + 600, until=START_MS + 9_500)
        writer.add_event("state", START_MS + 500, "x: locked since 22:13:20 UTC.")
    (path,) = writer.files
    events = [short(event) async for event in PlayedOnce(path, market="x").events()]
    missed = TradesBreak(from_ms=START_MS + 600, until_ms=START_MS + 9_500)
    after = [missed, trades[1], trades[2], 2, trades[3], 3, StatusChange(state=Status.ENDED)]
    assert events == [PLAYING, 0, trades[0], 1, JUMPED, *after]


async def test_as_fast_as_it_goes_leaves_the_loop_to_others(tmp_path: Path) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.ensure_future(other())
    async for _ in PlayedOnce(file_of(tmp_path, 6_400), market="x").events():
        pass
    beside.cancel()
    assert turns >= 99  # once a chunk of 64 rows


def test_controls_from_another_thread_wake_a_paused_feed(tmp_path: Path) -> None:
    async def scenario() -> None:
        feed = RecordingFeed(file_of(tmp_path, 500), market="x")
        feed.set_speed(None)
        async with aclosing(feed.events()) as events:
            await anext(events)
            feed.pause()
            while await anext(events) != PAUSED:
                pass
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)
            threading.Thread(target=feed.seek, args=(42,)).start()
            assert await asyncio.wait_for(waiting, 20) == StatusChange(state=Status.PAUSED, gap=True)
            assert short(await anext(events)) == 42

    asyncio.run(scenario())  # a thread takes its time


def test_a_bad_file_is_said_to_be_bad_at_once(tmp_path: Path) -> None:
    path = tmp_path / "book.csv"
    path.write_text("timestamp,ask_price_1\n1,2\n")
    with pytest.raises(BookError, match=r"book\.csv lacks the column 'ask_size_1'"):
        RecordingFeed(path, market="x")
    path = file_of(tmp_path, 3)
    segment_path(path, TRADES).parent.mkdir()
    segment_path(path, TRADES).write_bytes(b"nonsense")
    with pytest.raises(BookError, match="holds no trades"):
        RecordingFeed(path, market="x")


@pytest.mark.parametrize("recording", recordings(), ids=lambda one: one.name)
def test_a_recording_opens_a_minute_before_its_largest_move(recording: Recording) -> None:
    feed = RecordingFeed([recording.path], market=recording.market)
    part = feed.length // 60
    mids = read_market([recording.path]).mid[::part]
    moves = [abs(after - before) for before, after in pairwise(mids.tolist())]
    assert feed.opens_at == pytest.approx(moves.index(max(moves)) * part / 4 - 60, abs=part / 4) and feed.opens_at > 100
