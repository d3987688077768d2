"""A recorded feed of a loopback server, in virtual time: 75 s of a market pass in a moment of this machine's."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np

from core.market.book import OrderBookSnapshot
from core.market.feeds import clock
from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import FeedEvent, FeedFailed, StatusChange
from core.market.feeds.sampling import Grid
from core.market.feeds.situations import Since
from core.market.follower import Follower
from core.market.recorder import EventRecorder
from core.market.store.rows import read_market
from core.market.store.writer import SegmentWriter
from tests.core.market.feeds.delta_server import DeltaServer
from tests.core.market.helpers import Silent
from tests.core.market.journals import follow

PACE_S = 0.1


class Market:
    """A server whose market moves, its feed, and the recording of it.

    Attributes:
        events: of the feed, with their times. moves: whether the market moves. sends: whether it is told of.
        ended: the sentence with which the feed gave up.
    """

    def __init__(self, server: DeltaServer, folder: Path, **options: Any) -> None:
        self.server, self.folder = server, folder
        server.clock = lambda: clock.CLOCK.now_ns() / 1e9
        self.events: list[tuple[float, FeedEvent]] = []
        self.moves = self.sends = True
        self.ended = ""
        self.feed = LiveFeed(server.exchange, server.symbol, configure=server.configure, **{"trades": False} | options)
        self.writer = SegmentWriter(folder, self.feed.market, key=self.feed.key)
        self.recorder = EventRecorder(self.writer, wall=True)
        self.follower = Follower(silent := Silent(), silent.market(""))

    def _record(self, items: Iterable[FeedEvent]) -> None:
        follow(self.follower, self.recorder, items)
        self.recorder.write_down()

    async def follow(self) -> None:
        grid = Grid("wall")

        async def tick() -> None:
            while True:
                await asyncio.sleep(0.25)
                self._record(grid.on_tick())

        ticking = asyncio.create_task(tick())
        try:
            async for event in self.feed.events():
                self.events.append((self.now(), event))
                self._record(grid.on_event(event))
        except FeedFailed as failure:
            self.ended = str(failure)
        finally:
            ticking.cancel()

    async def move(self) -> None:
        while True:
            if self.moves:
                text = self.server.step(range(5))
                await self.server.send(text if self.sends else "")
            await asyncio.sleep(PACE_S)

    async def change(self, change: Callable[[Any], object]) -> None:
        """The venue's own book becomes another, and stands still."""
        self.moves, before = False, self.server.view()
        change(self.server)
        await self.server.send(self.server.changed_since(before))

    @staticmethod
    def now() -> float:
        """Virtual seconds."""
        return asyncio.get_running_loop().time()

    def now_ms(self) -> int:
        return clock.CLOCK.now_ms()

    @property
    def situations(self) -> tuple[Since, ...]:
        return next((one.situations for _, one in reversed(self.events) if isinstance(one, StatusChange)), ())

    @property
    def said(self) -> list[str]:
        return [one.message for _, one in self.events if isinstance(one, StatusChange)]

    def first_book(self, after_s: float) -> float:
        """Seconds from a time to the first book after it."""
        return next(when for when, one in self.events if when >= after_s and isinstance(one, OrderBookSnapshot)) - after_s

    def rows(self) -> Any:
        return read_market(sorted(self.folder.rglob("rows_*.parquet")))

    def holes(self) -> list[float]:
        """Seconds of each hole of the recording."""
        steps = np.diff(self.rows().timestamps) / 1e3
        return [float(step) for step in steps if step > 0.25]


@asynccontextmanager
async def recorded(server: DeltaServer, folder: Path, **options: Any) -> AsyncIterator[Market]:
    """A market that is followed and recorded while the block lasts; afterwards its recording is whole."""
    async with server:
        market = Market(server, folder, **options)
        tasks = [asyncio.create_task(market.follow()), asyncio.create_task(market.move())]
        try:
            yield market
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            market.recorder.stop()
            market.writer.close()
