"""Feeds that follow a script, and waits that end."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeAlias

from core.market.book import BookRows, OrderBookSnapshot
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.protocol import Clock, FeedEvent, Status, StatusChange
from core.market.feeds.recording import RecordingFeed
from core.market.predictor import Predictor
from core.market.session import MarketSession

Step: TypeAlias = "FeedEvent | Exception | Callable[[], None]"


class SetClock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def books(rows: BookRows, *, received_ns: int | None = None) -> list[FeedEvent]:
    """One snapshot per row."""
    now = time.time_ns() if received_ns is None else received_ns
    return [
        OrderBookSnapshot(levels=levels, exchange_ms=int(when), received_ns=now + i)
        for i, (when, levels) in enumerate(zip(rows.timestamps, rows.levels, strict=True))
    ]


class PlayedOnce(RecordingFeed):
    """A recording that ends with its last row, as fast as it goes where no speed is given."""

    def __init__(self, path: Path, *, market: str, speed: float | None = None, **options: Any) -> None:
        super().__init__(path, market=market, **options)
        self.set_speed(speed)

    async def events(self) -> AsyncIterator[FeedEvent]:
        async with aclosing(super().events()) as events:
            async for event in events:
                yield event
                if isinstance(event, OrderBookSnapshot) and event.sequence == self.length - 1:
                    break
        yield StatusChange(state=Status.ENDED)


class ScriptedFeed:
    """Plays a script: events are yielded, exceptions raised, functions called; then it waits, or ends where `ends` is set.

    Attributes:
        opened, closed: how often an iteration began and ended.
        thread: the one it last ran in.
    """

    def __init__(
        self,
        script: Iterable[Step],
        *,
        key: str = "scripted/1",
        market: str = "ABC/USD",
        clock: Clock = "event",
        ends: bool = False,
        together: int = 1_000_000,
    ) -> None:
        self.key, self.market, self.clock, self.tick, self.unit = key, market, clock, 0.0, ""
        self.script, self.ends, self.together = list(script), ends, together
        self.opened = self.closed = 0
        self.thread: threading.Thread | None = None
        self.reached = threading.Event()
        self._more: asyncio.Queue[Step] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def events(self) -> AsyncIterator[FeedEvent]:
        self._loop, self._more = asyncio.get_running_loop(), asyncio.Queue()
        self.opened, self.thread = self.opened + 1, threading.current_thread()
        try:
            for number, step in enumerate(self.script):
                if number % self.together == self.together - 1:
                    await asyncio.sleep(0.002)  # let the worker take the items so far
                for event in self._play(step):
                    yield event
            self.reached.set()
            while not self.ends:
                for event in self._play(await self._more.get()):
                    yield event
        finally:
            self.closed += 1

    def send(self, *steps: Step) -> None:
        """More of the script, from another thread."""
        assert self.reached.wait(10)
        assert self._loop is not None
        assert self._more is not None
        for step in steps:
            self._loop.call_soon_threadsafe(self._more.put_nowait, step)

    def _play(self, step: Step) -> list[FeedEvent]:
        if isinstance(step, Exception):
            raise step
        if callable(step):
            step()
            return []
        return [step]


def replaying(rows: BookRows) -> list[FeedEvent]:
    return [StatusChange(state=Status.REPLAYING), *books(rows)]


def running(loop: BackgroundLoop, predictor: Predictor, feed: ScriptedFeed, steps: int = 0) -> MarketSession:
    """A session that follows a feed in a background loop, once it has so many rows."""
    session = MarketSession(feed, predictor)
    loop.submit(session.run())
    wait_until(lambda: session.view(1).step >= steps)
    return session


def finished(predictor: Predictor, script: Iterable[Step], **options: Any) -> MarketSession:
    """A session whose feed has played the script to its end."""
    session = MarketSession(ScriptedFeed(script, ends=True, **options), predictor)
    asyncio.run(session.run())
    return session


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until the condition holds; fail the test where it does not within `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true in time"
        time.sleep(0.005)
