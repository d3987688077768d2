"""Records a feed: its rows on the grid once they are confirmed, its trades, its books as they changed, and its interruptions.

`core.market.store.writer` writes them.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from core.market.book import STEP_MS, OrderBookSnapshot
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import BookLost, Confirmation, Feed, FeedEvent, FeedState, SharedEvent, Trade
from core.market.grid import GridRow, GridSampler
from core.market.queue_items import ConfirmedUntil
from core.market.shared_steps import SharedStep
from core.market.store.writer import JOURNAL_S, SegmentWriter


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
    *,
    seconds: float | None = None,
    on_progress: Callable[[RecordingProgress], None] | None = None,
) -> list[Path]:
    """Record a feed on the 250 ms grid until it ends, `seconds` have passed by its clock, or the task is cancelled.

    However it ends, every confirmed row is on disk; rows that the venue had not confirmed are a gap (D27).

    Args:
        feed: closed at the end.
        folder: where the files go; see `SegmentWriter`.
        seconds: by this machine's clock for a live feed, by the feed's own for a recording or a simulation; None for no end.
        on_progress: called about once a row.

    Returns:
        The files of rows written.

    Raises:
        FeedFailed: where the feed cannot go on.
        OSError: where the disk refuses.
    """
    wall = feed.clock == "wall"
    writer = SegmentWriter(folder, feed.market, key=feed.key, saves=not wall)
    with writer:
        recorder = EventRecorder(writer, wall=wall, seconds=seconds, on_progress=on_progress)
        tasks = [asyncio.create_task(_follow(feed, recorder))]
        if wall:
            tasks += [asyncio.create_task(recorder.tick()), asyncio.create_task(recorder.save())]
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


async def _follow(feed: Feed, recorder: EventRecorder) -> None:
    events: AsyncIterator[FeedEvent] = feed.events()
    async with aclosing(events):  # type: ignore[type-var]  # feeds are async generators
        async for event in events:
            recorder.take(event)
            if recorder.enough:
                return


class EventRecorder:
    """Turns a feed's events into what a writer keeps. All of it runs in one event loop.

    Args:
        wall: whether rows are sampled by this machine's clock (`core.market.feeds.protocol.Feed.clock`).
        seconds, on_progress: see `record`.

    Attributes:
        enough: whether `seconds` have passed.
    """

    def __init__(
        self,
        writer: SegmentWriter,
        *,
        wall: bool,
        seconds: float | None = None,
        on_progress: Callable[[RecordingProgress], None] | None = None,
    ) -> None:
        self._writer, self._wall, self._seconds = writer, wall, seconds
        self._on_progress = on_progress or (lambda progress: None)
        self._sampler = GridSampler()
        self._provisional: deque[GridRow] = deque()
        self._jumps = CLOCK.jumps
        self._state, self._message = FeedState.CONNECTING, ""
        self._start_s = time.monotonic()
        self.enough = False
        if wall:
            writer.add_event("start", CLOCK.now_ms())

    def take(self, event: FeedEvent) -> None:
        """One event of the feed."""
        if isinstance(event, SharedEvent):
            self._take_shared(event)
            return
        self._heed_clock()
        if isinstance(event, OrderBookSnapshot):
            if self._wall:
                self._state = FeedState.LIVE
                self._writer.add_update(event)
            self._keep(self._sampler.push(event, at_ms=event.received_ms if self._wall else None))
        elif isinstance(event, Trade):
            self._writer.add_trade(event)
        elif isinstance(event, Confirmation):
            self._sampler.confirm(event.until_ns // 1_000_000)
            self._keep([])
        elif isinstance(event, BookLost):
            self._keep(self._sampler.lose(event.from_ns // 1_000_000))
            self._writer.add_event("lost", event.from_ns // 1_000_000)
        else:
            if event.gap:
                self._gap("resync" if event.resync else "reconnect", event.message)
            self._state, self._message = event.state, event.message
            self._report()

    def _take_shared(self, event: SharedEvent) -> None:
        """Records what another process read of the market: its rows and trades, but not each change of the book."""
        self._sampler.gap()
        for item in event.items if isinstance(event, SharedStep) else ():
            if item is None:
                self._gap("reconnect")
            elif isinstance(item, Trade):
                self._writer.add_trade(item)
            elif isinstance(item, ConfirmedUntil):
                self._sampler.confirm(item.until_ms + 1)
            else:
                if not item.provisional:
                    self._sampler.confirm(item.timestamp + 1)
                self._provisional.append((item.timestamp, item.levels))
        self._keep([])

    async def tick(self) -> None:
        """Rows by this machine's clock, until `seconds` have passed."""
        while not self.enough:
            await asyncio.sleep((STEP_MS - CLOCK.now_ms() % STEP_MS) / 1e3)
            now_ms = CLOCK.now_ms()
            self._heed_clock()
            if self._state is FeedState.LIVE:
                self._keep(self._sampler.advance(now_ms))
            if self._seconds is not None and time.monotonic() - self._start_s >= self._seconds:
                self.enough = True
            self._report()

    async def save(self) -> None:
        """Save every second, in a thread.

        Raises:
            OSError: where the disk refuses.
        """
        while True:
            await asyncio.sleep(JOURNAL_S)
            await asyncio.to_thread(self._writer.save_journal)

    def stop(self) -> None:
        """Note the end; rows that were not confirmed are dropped."""
        self._provisional.clear()
        if self._wall:
            self._writer.add_event("stop", CLOCK.now_ms())

    def _keep(self, rows: list[GridRow]) -> None:
        """Hold rows until they are confirmed, and write those that are."""
        self._provisional.extend(rows)
        while self._provisional and self._provisional[0][0] <= self._sampler.confirmed_ms and not self.enough:
            self._writer.add(self._provisional.popleft())
            if not self._wall:
                self.enough = self._seconds is not None and self._writer.rows * STEP_MS >= self._seconds * 1e3
                self._report()

    def _gap(self, kind: str, message: str = "") -> None:
        self._sampler.gap()
        self._provisional.clear()
        if self._wall:
            self._writer.add_event(kind, CLOCK.now_ms(), message)

    def _heed_clock(self) -> None:
        """A jump of the clock is a gap: nothing is known of the time it skipped."""
        if self._wall and CLOCK.jumps != self._jumps:
            self._jumps = CLOCK.jumps
            self._gap("clock")

    def _report(self) -> None:
        seconds = time.monotonic() - self._start_s if self._wall else self._writer.rows * STEP_MS / 1e3
        self._on_progress(RecordingProgress(rows=self._writer.rows, seconds=seconds, state=self._state, message=self._message))
