"""A recorded feed of a loopback server, in virtual time: 75 s of a market pass in a moment of this machine's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from core.market.book import BookRows, FloatArray, OrderBookSnapshot
from core.market.feeds import clock
from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import FeedEvent, Status, StatusChange
from core.market.feeds.situations import Since, Situation
from core.market.predictor import Predictor
from core.market.recorder import SessionRecording
from core.market.session import MarketSession
from core.market.store.rows import read_market
from tests.core.market.feeds.delta_server import DeltaServer, VenueServer
from tests.core.market.helpers import Silent

SEVENTH = range(6, 7)
"""Where messages are lost; elsewhere in the book go on those after them, which do not put it right."""


class Market:
    """A server whose market moves, its feed, a session that follows it, and the recording of that.

    Attributes:
        events: of the feed, with their times. moves: whether the market moves. pace_s: seconds between two messages.
    """

    def __init__(self, server: Any, folder: Path, *, moves: bool = True, predictor: Predictor | None = None, **feed: Any) -> None:
        self.server, self.folder, self.moves, self.pace_s = server, folder, moves, server.pace_s
        if isinstance(server, VenueServer):
            server.clock = lambda: clock.CLOCK.now_ns() / 1e9
            server.remember()
        self.events: list[tuple[float, FeedEvent]] = []
        self.feed = LiveFeed(server.exchange, server.symbol, **feed)
        self.session = MarketSession(self.feed, predictor or Silent())
        self.session.listeners.append(lambda event: self.events.append((self.now(), event)))
        self.recording = SessionRecording(self.session, folder)

    async def move(self) -> None:
        """Change the book, and tell of it; what was captured begins when somebody listens."""
        while True:
            if self.moves and (self.server.sockets or isinstance(self.server, DeltaServer)):
                await self.server.send(self.server.step(range(5)))
            await asyncio.sleep(self.pace_s)

    async def change(self, change: Callable[[Any], object]) -> None:
        """The venue's own book becomes another, and stands still."""
        self.moves, before = False, self.server.view()
        change(self.server)
        await self.server.send(self.server.changed_since(before))

    async def until(self, wanted: Callable[[], bool], most_s: float = 60.0) -> None:
        end = self.now() + most_s
        while not wanted():
            assert self.now() < end, self.said
            await asyncio.sleep(0.05)

    async def until_recorded(self, rows: int = 12) -> None:
        """Until so many more rows are confirmed."""
        wanted = self.count + rows
        await self.until(lambda: self.count >= wanted)

    @staticmethod
    def now() -> float:
        """Virtual seconds."""
        return asyncio.get_running_loop().time()

    @property
    def count(self) -> int:
        """Rows recorded so far."""
        return self.recording.status().rows

    @property
    def ended(self) -> str:
        """The sentence with which the feed gave up."""
        status, message = self.session.status_now()
        return message if status is Status.FAILED else ""

    @property
    def statuses(self) -> list[StatusChange]:
        return [one for _, one in self.events if isinstance(one, StatusChange)]

    @property
    def situations(self) -> tuple[Since, ...]:
        return self.statuses[-1].situations if self.events else ()

    @property
    def kinds(self) -> list[Situation]:
        return [one.kind for one in self.situations]

    @property
    def said(self) -> list[str]:
        return [one.message for one in self.statuses]

    @property
    def breaks(self) -> list[str]:
        """What was said where the feed connected anew."""
        return [one.message for one in self.statuses if one.state is Status.RECONNECTING]

    @property
    def books(self) -> list[FloatArray]:
        return [one.levels for _, one in self.events if isinstance(one, OrderBookSnapshot)]

    @property
    def newest(self) -> OrderBookSnapshot | None:
        """The newest book of the feed."""
        return next((one for _, one in reversed(self.events) if isinstance(one, OrderBookSnapshot)), None)

    async def until_equal(self) -> None:
        """Until the newest book is the venue's."""
        await self.until(lambda: self.newest is not None and np.array_equal(self.newest.levels, self.server.top()))

    def first_book(self, after_s: float) -> float:
        """Seconds from a time to the first book after it."""
        return next(when for when, one in self.events if when >= after_s and isinstance(one, OrderBookSnapshot)) - after_s

    def rows(self) -> BookRows:
        return read_market(sorted(self.folder.rglob("rows_*.parquet")))

    def table(self, kind: str) -> list[dict[str, Any]]:
        """Recorded trades or events."""
        return [row for file in sorted(self.folder.rglob(f"{kind}_*.parquet")) for row in pq.read_table(file).to_pylist()]

    def holes(self) -> list[float]:
        """Seconds of each hole of the recording."""
        steps = np.diff(self.rows().timestamps) / 1e3
        return [float(step) for step in steps if step > 0.25]

    def wrong(self, late_s: float = 0.45) -> list[int]:
        """Times of recorded rows that equal no book that the venue had in the `late_s` seconds before."""
        since, wrong, rows = np.array([when for when, _ in self.server.history]), list[int](), self.rows()
        for time, book in zip(rows.timestamps.tolist(), rows.levels, strict=True):
            first, last = np.searchsorted(since, [time / 1e3 - late_s, time / 1e3], side="right")
            if not any(np.array_equal(book[:40], known) for _, known in self.server.history[max(first - 1, 0) : last]):
                wrong.append(time)
        return wrong


@asynccontextmanager
async def followed(server: Any, folder: Path, **options: Any) -> AsyncIterator[Market]:
    """A market that is followed and recorded while the block lasts; afterwards its recording is whole."""
    async with server:
        market = Market(server, folder, **options)
        tasks = [asyncio.create_task(work) for work in (market.session.run(), market.recording.run(), market.move())]
        try:
            yield market
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


# -- faults -------------------------------------------------------------------------------------------------------------


async def lose(server: VenueServer) -> None:
    server.step(SEVENTH)


async def swap(server: VenueServer) -> None:
    first, second = server.step(SEVENTH), server.step(SEVENTH)
    await server.send(second)
    await server.send(first)


async def cut(server: VenueServer) -> None:
    await server.send(server.step(SEVENTH)[:-30])


async def drop(server: VenueServer) -> None:
    """The connection, while the world goes on."""
    server.cut()
    server.step(SEVENTH)


async def misprint(server: Any) -> None:
    await server.send(server.misprint("NaN"))
