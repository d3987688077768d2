"""What a session and a recording of it make of a fault, with the real ccxt."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.market.book import FloatArray, OrderBookSnapshot
from core.market.events import BookLost
from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import FeedEvent, StatusChange
from core.market.labels import UNKNOWN
from core.market.predictor import Predictor
from core.market.recorder import EventRecorder
from core.market.session import MarketSession
from core.market.session_view import Status
from core.market.store.rows import read_market
from core.market.store.writer import SegmentWriter
from tests.core.market.feeds.delta_server import VenueServer
from tests.core.market.feeds.venue_faults import Exchange, Fault
from tests.core.market.helpers import confirmed

LATE_S: Final = 1.0
"""A row may show a book that was replaced so long ago, for the way from the server."""
MAX_S: Final = 30.0  # longest wait for a feed to be live, or to end


@dataclass(kw_only=True)
class Outcome:
    """What came of a fault.

    Attributes:
        live_s: from the venue's recovery until the first book after; negative where it was sooner; None where the feed ended.
        said: what the page said: state and message, without repeats.
        rows: recorded. wrong: rows recorded, predicted, scored that no book of the venue's equals.
    """

    venue: str
    fault: str
    live_s: float | None = None
    said: list[str] = field(default_factory=list)
    rows: int = 0
    wrong: dict[str, int] = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        """Whether no wrong row was recorded, predicted from or scored."""
        return not any(self.wrong.values())


async def try_fault(
    make: type[VenueServer], fault: Fault, predictor: Predictor, folder: Path, *, patience_s: float = 4.0
) -> Outcome:
    """Let a fault happen to a feed that is predicted, scored and recorded, and wait until it is live again or has ended.

    Args:
        patience_s: for what was not noticed by then.
    """
    found = Outcome(venue=make.exchange, fault=fault.name)
    async with make() as server:
        exchange = Exchange(server)
        server.remember()
        feed = LiveFeed(server.exchange, server.symbol, configure=server.configure, trades=False)
        async with _followed(feed, predictor, folder) as seen, _running(exchange):
            await seen.until_rows(predictor.window + round(4 * patience_s))
            began = time.monotonic()
            await fault.begin(exchange)
            await asyncio.sleep(fault.lasts_s)
            over = time.monotonic()
            if fault.end is not None and not fault.ends:
                await fault.end(exchange)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(MAX_S):
                    await seen.settle(over, ends=fault.ends, interrupted=fault.lasts_s > 0, patience_s=patience_s)
            found.live_s = None if fault.ends else seen.live(began, over)
            found.said = seen.said
            rows = seen.session.view(4_800)
            answered = confirmed(seen.session)
        recorded = read_market(sorted(folder.rglob("rows_*.parquet"))) if any(folder.rglob("rows_*.parquet")) else None
        history = server.history
        kept = len(rows.timestamps) - rows.provisional
        wrong = wrong_rows(rows.timestamps[:kept], rows.levels[:kept], history)
        bad = rows.timestamps[:kept][wrong]
        asked = answered["timestamp"]
        span = predictor.window * 250
        tainted = np.array([((bad > when - span) & (bad <= when)).any() for when in asked], dtype=bool)
        scored = (answered["came"] != UNKNOWN).any(axis=1)
        found.wrong = {
            "recorded": 0 if recorded is None else int(wrong_rows(recorded.timestamps, recorded.levels, history).sum()),
            "predicted": int(tainted.sum()),
            "scored": int((tainted & scored).sum()),
        }
        found.rows = 0 if recorded is None else len(recorded)
    return found


def wrong_rows(times: Any, levels: FloatArray, history: Sequence[tuple[float, FloatArray]], late_s: float = LATE_S) -> Any:
    """(n,) whether a row equals no book that the venue had in the `late_s` seconds before."""
    since, wrong = np.array([when for when, _ in history]), np.zeros(len(times), dtype=bool)
    for index, (timestamp, book) in enumerate(zip(np.asarray(times) / 1e3, levels, strict=True)):
        first, last = np.searchsorted(since, [timestamp - late_s, timestamp], side="right")
        wrong[index] = not any(np.array_equal(book[:40], known) for _, known in history[max(first - 1, 0) : last])
    return wrong


class _Seen:
    """What a viewer of a session sees, and when."""

    def __init__(self, session: MarketSession, recorder: EventRecorder, writer: SegmentWriter) -> None:
        self.session, self.recorder, self.writer = session, recorder, writer
        self.said: list[str] = []
        self._books: list[float] = []
        self._breaks: list[float] = []
        self.ended: float | None = None
        session.record(recorder, ())
        session.listeners.append(self._take)

    def _take(self, event: FeedEvent) -> None:
        now = time.monotonic()
        if isinstance(event, BookLost) or (isinstance(event, StatusChange) and event.gap):
            self._breaks.append(now)
        elif isinstance(event, OrderBookSnapshot):
            self._books.append(now)

    async def watch(self) -> None:
        """Look at the page ten times a second."""
        while True:
            view = self.session.view(40)
            line = f"{view.status}: {view.message}" if view.message else f"{view.status}"
            if not self.said or self.said[-1] != line:
                self.said.append(line)
            if view.status in (Status.FAILED, Status.ENDED) and self.ended is None:
                self.ended = time.monotonic()
            await asyncio.sleep(0.1)

    async def until_rows(self, rows: int) -> None:
        """Until so many rows were recorded in all."""
        async with asyncio.timeout(60):
            while self.writer.rows < rows:
                await asyncio.sleep(0.05)

    async def settle(self, over: float, *, ends: bool, interrupted: bool, patience_s: float) -> None:
        """Until the feed has ended; or is live, with rows for a window and the outcomes of some."""
        if ends:
            while self.ended is None:
                await asyncio.sleep(0.05)
            return
        start = time.monotonic()
        while interrupted and not any(book > over for book in self._books):
            await asyncio.sleep(0.05)
        await asyncio.sleep(max(0.0, start + patience_s - time.monotonic()))
        while self._breaks and not any(book > self._breaks[-1] for book in self._books):
            await asyncio.sleep(0.05)
        before = self.writer.rows
        while self.writer.rows < before + self.session.predictor.window + 8 and self.ended is None:
            await asyncio.sleep(0.05)

    def live(self, began: float, over: float) -> float | None:
        """Seconds from the venue's recovery to the first book after the last break."""
        if self.ended is not None:
            return None
        broken = [when for when in self._breaks if when >= began]
        since = max([over, *broken])
        later = [book for book in self._books if book >= since]
        return later[0] - over if later else None


@contextlib.asynccontextmanager
async def _followed(feed: LiveFeed, predictor: Predictor, folder: Path) -> AsyncIterator[_Seen]:
    session = MarketSession(feed, predictor)
    writer = SegmentWriter(folder, feed.market, key=feed.key)
    recorder = EventRecorder(writer, wall=True)
    seen = _Seen(session, recorder, writer)

    async def writing() -> None:
        while True:
            await recorder.keep_up(1.0)

    tasks = [asyncio.create_task(work) for work in (session.run(), seen.watch(), writing())]
    try:
        yield seen
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        recorder.stop()
        writer.close()


@contextlib.asynccontextmanager
async def _running(exchange: Exchange) -> AsyncIterator[None]:
    task = asyncio.create_task(exchange.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
