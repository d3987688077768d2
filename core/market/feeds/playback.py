"""The base of recordings and simulations: feeds whose rows are played at a chosen speed.

Controls may be called from any thread; rows are produced in the loop that iterates `events`.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Literal

from core.market.feeds.pacing import Pacer
from core.market.feeds.protocol import FeedEvent, FeedState, StatusChange


class PlayedFeed(ABC):
    """A feed that can be paused, stepped and sped up.

    Args:
        key, market: see `protocol.Feed`.
        playing: its state while it plays.
        speed: multiple of real time; None for as fast as possible.
        clock: monotonic seconds.
    """

    clock: Literal["wall", "event"] = "event"
    tick = 0.0

    def __init__(
        self, *, key: str, market: str, playing: FeedState, speed: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.key, self.market = key, market
        self._playing = playing
        self._wake: Callable[[], None] = _nothing
        self._changes = 0
        self._pacer = Pacer(speed, clock=clock)

    @property
    def speed(self) -> float | None:
        """Multiple of real time; None for as fast as possible."""
        return self._pacer.speed

    @property
    def paused(self) -> bool:
        """Tells whether it waits for `step` or `resume`."""
        return self._pacer.paused

    def set_speed(self, speed: float | None) -> None:
        """Play at this multiple of real time; None for as fast as possible.

        Raises:
            ValueError: for a speed that is not above 0.
        """
        self._pacer.set_speed(speed)
        self._changed()

    def pause(self) -> None:
        """Pause the playback."""
        self._pacer.pause()
        self._changed()

    def resume(self) -> None:
        """Continue the playback."""
        self._pacer.resume()
        self._changed()

    def step(self) -> None:
        """Play one more row, while paused."""
        self._pacer.step()
        self._changed()

    async def events(self) -> AsyncIterator[FeedEvent]:
        """See `protocol.Feed.events`. One iteration at a time."""
        loop, wake = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: _call(loop, wake.set)
        self._pacer.restart()
        state: FeedState | None = None
        try:
            while True:
                wake.clear()
                before, paused = self._changes, self.paused
                now = FeedState.PAUSED if paused else self._playing
                if now is not state:
                    state = now
                    yield StatusChange(state=state)
                at_once = self._at_once(state)
                if at_once:
                    self._pacer.restart()
                    for event in at_once:
                        yield event
                due = self._pacer.due()
                for _ in range(due.rows):
                    row = self._row(state)
                    if row is None:
                        yield StatusChange(state=FeedState.ENDED)
                        return
                    for event in row:
                        yield event
                    if not paused and self._changes != before:
                        break
                if due.rows or due.wait_s == 0:
                    await asyncio.sleep(0)  # other tasks of the loop get their turn between bursts
                elif self._changes == before:
                    await _wait(wake, due.wait_s)
        finally:
            self._wake = _nothing
            self._release()

    def _changed(self) -> None:
        self._changes += 1
        self._wake()

    def _release(self) -> None:
        """Let go of open files, at the end of an iteration."""
        return

    def _at_once(self, state: FeedState) -> list[FeedEvent]:
        """Events to emit at once, after a jump; empty where there was none."""
        return []

    @abstractmethod
    def _row(self, state: FeedState) -> Iterator[FeedEvent] | list[FeedEvent] | None:
        """The next row's events; None at the end."""


async def _wait(wake: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await wake.wait()
    except TimeoutError:
        return


def _call(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:  # the loop was closed meanwhile
        return


def _nothing() -> None:
    return
