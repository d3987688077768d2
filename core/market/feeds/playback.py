"""The base of recordings and simulations: feeds whose rows are played at a chosen speed, with pause and single steps.

Controls may be called from any thread; rows are produced in the loop that iterates `events`. Rows are one grid step apart. Each
is due relative to an anchor, not to the row before it, so that delays do not add up. Every change of speed sets a new anchor.
"""

import asyncio
import contextlib
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from core.market.book import STEP_MS
from core.market.feeds.protocol import Clock, FeedEvent, Status, StatusChange
from core.market.feeds.venues import unit_of_symbol

SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0)
"""Speeds to offer, multiples of real time. The speed None means "as fast as possible"."""
CHUNK = 64
"""Most rows at once: after so many, other tasks of the loop get their turn."""
MAX_LATE_S = 2.0
"""A longer delay (the machine slept, the consumer is too slow) is skipped instead of made up for in a burst."""


@dataclass(frozen=True, kw_only=True)
class Due:
    """Rows that are due.

    Attributes:
        rows: their number.
        wait_s: seconds until the next one after them; None while paused.
    """

    rows: int
    wait_s: float | None


class Pacer:
    """Counts the rows that are due. Every method may be called from any thread.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = lambda: time.monotonic()) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._speed = 1.0
        self._paused = False
        self._stepping = 0
        self._anchor, self._taken = clock(), 0
        self._wake: Callable[[], object] = bool  # does nothing
        self._changes = 0  # of a control

    @property
    def speed(self) -> float | None:
        """Multiple of real time; None for as fast as possible."""
        return None if math.isinf(self._speed) else self._speed

    @property
    def paused(self) -> bool:
        """Tells whether rows are due after `step` only."""
        return self._paused

    def set_speed(self, speed: float | None) -> None:
        """Change the speed.

        Args:
            speed: multiple of real time; None or infinity for as fast as possible.

        Raises:
            ValueError: for a speed that is not above 0.
        """
        wanted = math.inf if speed is None else float(speed)
        if not wanted > 0:
            raise ValueError(f"a speed of {speed:g} plays nothing: give a number above 0, or None for as fast as it goes")
        with self._lock:
            step_s, now = STEP_MS / 1e3 / self._speed, self._clock()
            # the part of the step that has passed stays passed, or dragging a slider would stop the playback
            waited = 1 - (self._anchor + self._taken * step_s - now) / step_s if step_s else 1.0
            self._speed = wanted
            self._anchor, self._taken = now - min(max(waited, 0.0), 1.0) * STEP_MS / 1e3 / wanted, 1
        self._changed()

    def pause(self) -> None:
        """No row is due until `resume` or `step`."""
        with self._lock:
            self._paused = True
        self._changed()

    def resume(self) -> None:
        """Continue; the next row is due one step from now."""
        with self._lock:
            self._paused, self._stepping = False, 0
            self._anchor, self._taken = self._clock(), 1
        self._changed()

    def step(self) -> None:
        """While paused: one more row is due."""
        with self._lock:
            self._stepping += self._paused
        self._changed()

    def restart(self) -> None:
        """The next row is due one step from now: at the start, and after a jump."""
        with self._lock:
            self._anchor, self._taken, self._stepping = self._clock(), 1, 0

    def due(self) -> Due:
        """The rows due now; the next call does not count them again."""
        with self._lock:
            if self._paused:
                rows, self._stepping = min(self._stepping, CHUNK), max(0, self._stepping - CHUNK)
                return Due(rows=rows, wait_s=0.0 if self._stepping else None)
            if math.isinf(self._speed):
                return Due(rows=CHUNK, wait_s=0.0)
            step_s = STEP_MS / 1e3 / self._speed
            now = self._clock()
            if now - (self._anchor + self._taken * step_s) > max(MAX_LATE_S, step_s):
                self._anchor = now - self._taken * step_s
            # the tolerance is for waits that end a rounding error too early
            passed = math.floor((now - self._anchor) / step_s + 1e-6) + 1
            rows = min(max(passed - self._taken, 0), CHUNK)
            self._taken += rows
            return Due(rows=rows, wait_s=max(self._anchor + self._taken * step_s - now, 0.0))

    def _changed(self) -> None:
        """A control was used."""
        self._changes += 1
        self._wake()


class PlayedFeed(Pacer, ABC):
    """A feed that can be paused, stepped and sped up.

    Args:
        key, market: see `protocol.Feed`.
        playing: its state while it plays.
    """

    clock: Clock = "event"
    tick = 0.0

    def __init__(self, *, key: str, market: str, playing: Status) -> None:
        super().__init__()
        self.key, self.market, self.unit = key, market, unit_of_symbol(market)
        self._playing = playing

    @property
    def is_running(self) -> bool:
        """Tells whether its events are being taken."""
        return self._wake is not bool

    async def events(self) -> AsyncIterator[FeedEvent]:
        """See `protocol.Feed.events`. One iteration at a time."""
        loop, wake = asyncio.get_running_loop(), asyncio.Event()

        def set_wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(wake.set)

        self._wake = set_wake
        self.restart()
        state: Status | None = None
        try:
            while True:
                wake.clear()
                before, paused = self._changes, self.paused
                now = Status.PAUSED if paused else self._playing
                if now is not state:
                    state = now
                    yield StatusChange(state=state)
                at_once = self._at_once(state)
                if at_once:
                    self.restart()
                    for event in at_once:
                        yield event
                due = self.due()
                for _ in range(due.rows):
                    for event in self._row(state):
                        yield event
                    if not paused and self._changes != before:
                        break
                if due.rows or due.wait_s == 0:
                    await asyncio.sleep(0)  # other tasks of the loop get their turn between bursts
                elif self._changes == before:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(due.wait_s):
                            await wake.wait()
        finally:
            self._wake = bool
            self._release()

    def _release(self) -> None:
        """Let go of open files, at the end of an iteration."""
        return

    def _at_once(self, state: Status) -> list[FeedEvent]:
        """Events to emit at once, after a jump; empty where there was none."""
        return []

    @abstractmethod
    def _row(self, state: Status) -> list[FeedEvent]:
        """The next row's events."""
