"""Records a feed: its rows on the grid once they are confirmed, its trades, its interruptions, and what a checkpoint calls.

`core.market.store.writer` writes them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.market import watch_list
from core.market.bands import BandChange, Ladder
from core.market.book import STEP_MS
from core.market.depth import DepthHistory
from core.market.events import BookLost, Confirmed, Gap, Row, Trade, TradesBreak
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import Feed, FeedEvent, FeedState, StatusChange
from core.market.feeds.sampling import Grid, next_step
from core.market.feeds.situations import Since
from core.market.journal import Answer, Caller
from core.market.predictor import Predictor
from core.market.store.trades import BREAK
from core.market.store.writer import SegmentWriter

WHOLE_MS: Final = 60_000
"""Time between two rows whose price bands are written whole."""
MAX_PROVISIONAL: Final = 4_800
"""Rows that wait for their confirmation at most; those of a venue without any check wait for nothing."""
JOURNAL_S: Final = 1.0
"""Seconds between two writes to the journal, where no call is written: what is lost at most if the process is killed."""
BATCH: Final = 64
"""Most events written down at once."""
MOST_WAITING: Final = 1_000
"""Events that a feed may be ahead of what is written, where it can be held."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RecordingProgress:
    """A recording's progress: confirmed rows, seconds since its start, the feed's state and its last message."""

    rows: int
    seconds: float
    state: FeedState
    message: str


async def record(
    feed: Feed,
    folder: Path,
    predictor: Predictor | None = None,
    *,
    seconds: float | None = None,
    on_progress: Callable[[RecordingProgress], None] | None = None,
) -> list[Path]:
    """Record a feed on the 250 ms grid until it ends, `seconds` have passed by its clock, or the task is cancelled.

    However it ends, every confirmed row is on disk; rows that the venue had not confirmed are a gap (D27).

    Args:
        feed: closed at the end.
        folder: where the files go; see `SegmentWriter`.
        predictor: what calls at each row (`core.market.journal`); None where nothing does.
        seconds: by this machine's clock for a live feed, by the feed's own for a recording or a simulation; None for no end.
        on_progress: called about once a row, in the loop.

    Returns:
        The files of rows written.

    Raises:
        FeedFailed: where the feed cannot go on.
        OSError: where the disk refuses.
    """
    wall = feed.clock == "wall"
    caller = None if predictor is None else Caller(predictor, predictor.market(f"{feed.key} {feed.market}"))
    with SegmentWriter(folder, feed.market, key=feed.key, by=None if caller is None else caller.by) as writer:
        recorder = EventRecorder(writer, caller, wall=wall, tick=lambda: feed.tick, seconds=seconds, on_progress=on_progress)
        grid = Grid(feed.clock)
        tasks = [asyncio.create_task(_follow(feed, grid, recorder)), asyncio.create_task(_write(recorder))]
        if wall:
            tasks.append(asyncio.create_task(_tick(grid, recorder)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            recorder.stop()
    return writer.files


async def _follow(feed: Feed, grid: Grid, recorder: EventRecorder) -> None:
    events: AsyncIterator[FeedEvent] = feed.events()
    async with aclosing(events):  # type: ignore[type-var]  # feeds are async generators
        async for event in events:
            for item in grid.on_event(event):
                recorder.on_event(item)
            while recorder.waiting > MOST_WAITING:
                await asyncio.sleep(0.01)
            if recorder.enough:
                return


async def _tick(grid: Grid, recorder: EventRecorder) -> None:
    while not recorder.enough:
        await next_step()
        for item in grid.on_tick():
            recorder.on_event(item)


async def _write(recorder: EventRecorder) -> None:
    while True:
        await recorder.keep_up(JOURNAL_S)


class EventRecorder:
    """Hands a writer what a grid makes of a feed: rows once they are confirmed (D27), calls at once (D28).

    Events are taken in one event loop, and written down in its worker threads, one at a time, in their order.

    Args:
        caller: predicts at the rows; None where nothing does.
        wall: whether rows are sampled by this machine's clock (`core.market.feeds.protocol.Feed.clock`).
        tick: tells the market's smallest step of price, 0 while it is not known; price bands need it.
        seconds, on_progress: see `record`.
    """

    def __init__(
        self,
        writer: SegmentWriter,
        caller: Caller | None = None,
        *,
        wall: bool,
        tick: Callable[[], float] = lambda: 0.0,
        seconds: float | None = None,
        on_progress: Callable[[RecordingProgress], None] | None = None,
    ) -> None:
        self._writer, self._caller, self._wall = writer, caller, wall
        self._seconds = math.inf if seconds is None else seconds
        self._on_progress = on_progress or (lambda progress: None)
        self._events = deque[FeedEvent]()  # taken, and not written down yet
        self._fresh, self._working = asyncio.Event(), threading.Lock()
        self._save_due_s, self._hours = 0.0, 0
        # of the worker alone, as are the bands:
        self._provisional = deque[tuple[Row, Answer | None]](maxlen=MAX_PROVISIONAL)
        self._depth, self._kept_ms, self._tick = DepthHistory(2), 0, tick
        self._state, self._message, self._situations = FeedState.CONNECTING, "", tuple[Since, ...]()
        self._start_s = time.monotonic()
        if wall:
            writer.add_event("start", CLOCK.now_ms())

    @property
    def enough(self) -> bool:
        """Tells whether `seconds` have passed: by this machine's clock, or by the rows of a feed that brings its own time."""
        return self._passed_s() >= self._seconds

    @property
    def waiting(self) -> int:
        """Events that are not written down yet."""
        return len(self._events)

    def on_event(self, event: FeedEvent) -> None:
        """One event of the feed, or what the grid made of it."""
        if isinstance(event, StatusChange):
            if event.situations and {one.kind for one in event.situations} != {one.kind for one in self._situations}:
                self._writer.add_event("state", CLOCK.now_ms(), event.message)
            self._state, self._message, self._situations = event.state, event.message, event.situations
            self.report()
        elif isinstance(event, Row | Confirmed | Gap | Trade | TradesBreak | BookLost):
            self._events.append(event)
            if isinstance(event, Row):
                self._fresh.set()

    async def keep_up(self, seconds: float) -> None:
        """Write down what came, once a row has, or so many seconds have passed.

        Raises:
            OSError: where the disk refuses.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._fresh.wait()
        self._fresh.clear()
        await asyncio.to_thread(self.write_down)
        self.report()

    def write_down(self) -> None:
        """Write down what came until now; not what comes meanwhile, or a feed faster than the disk would never let it end.

        Raises:
            OSError: where the disk refuses.
        """
        with self._working:
            left = len(self._events)
            while left:
                batch = [self._events.popleft() for _ in range(min(BATCH, left))]
                left -= len(batch)
                answers = [None] * len(batch) if self._caller is None else list(self._caller.answers(batch))
                for event, answer in zip(batch, answers, strict=True):
                    self._write(event, answer)
                if any(answers):
                    self._save()
            if time.monotonic() >= self._save_due_s:
                self._save()

    def _save(self) -> None:
        self._save_due_s = time.monotonic() + JOURNAL_S
        self._writer.save_journal()
        if len(self._writer.files) > self._hours:
            self._hours = len(self._writer.files)
            self._make_room()

    def _make_room(self) -> None:
        """Keep the library within its limit, now that an hour more is there; a recording goes on where that fails."""
        with contextlib.suppress(OSError):
            for path in watch_list.make_room(self._writer.folder):
                log.info("the library is full by its limit: deleted %s", path)

    def _write(self, event: FeedEvent, answer: Answer | None) -> None:
        if isinstance(event, Row):
            self._provisional.append((event, answer))
            if not event.provisional:
                self._keep(event.timestamp)
            if self._caller is not None and answer is not None and self._caller.may_hold(event):
                self._writer.add_call(self._caller.call(event, answer))
        elif isinstance(event, Confirmed):
            self._keep(event.until_ms)
        elif isinstance(event, Trade):
            self._writer.add_trade(event)
        elif isinstance(event, TradesBreak):
            self._writer.add_event(BREAK, event.from_ms, until=event.until_ms)
        elif isinstance(event, Gap):
            self._provisional.clear()
            if self._wall:
                self._writer.add_event(event.kind, event.at_ms, event.message)
        elif isinstance(event, BookLost):
            self._writer.add_event("lost", event.from_ns // 1_000_000)

    def stop(self) -> None:
        """Write down the rest and note the end; rows that were not confirmed are dropped.

        Raises:
            OSError: where the disk refuses.
        """
        try:
            self.write_down()
        finally:
            self._provisional.clear()
            if self._wall:
                self._writer.add_event("stop", CLOCK.now_ms())
            self.report()

    def _keep(self, until_ms: int) -> None:
        while self._provisional and self._provisional[0][0].timestamp <= until_ms and (self._wall or not self.enough):
            row, answer = self._provisional.popleft()
            if self._caller is not None:
                self._caller.learn(row, answer)
            self._writer.add(row, self._bands(row))

    def _bands(self, row: Row) -> tuple[Ladder, BandChange] | None:
        """Changes in a row's bands; all of them at each minute and after a hole, so that every file begins whole."""
        if row.timestamp != self._kept_ms + STEP_MS or row.timestamp % WHOLE_MS == 0:
            self._depth.clear()
        self._kept_ms = row.timestamp
        change = self._depth.append(row.levels, row.bands, self._tick())
        return None if change is None or self._depth.ladder is None else (self._depth.ladder, change)

    def _passed_s(self) -> float:
        return time.monotonic() - self._start_s if self._wall else self._writer.rows * STEP_MS / 1e3

    def report(self) -> None:
        """Tell how far the recording is."""
        now = RecordingProgress(rows=self._writer.rows, seconds=self._passed_s(), state=self._state, message=self._message)
        self._on_progress(now)
