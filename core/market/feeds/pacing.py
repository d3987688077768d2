"""Pacing of the rows of a recording or a simulation: speed, pause and single steps.

Rows are one grid step apart. Each is due relative to an anchor, not to the row before it, so that delays do not add up. Every
change of speed sets a new anchor.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from core.market.book import STEP_MS

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
        speed: multiple of real time, above 0; None or infinity for as fast as possible.
        clock: monotonic seconds.
    """

    def __init__(self, speed: float | None = 1.0, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._speed = _checked(speed)
        self._paused = False
        self._stepping = 0
        self._anchor, self._taken = clock(), 0

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

        Raises:
            ValueError: for a speed that is not above 0.
        """
        wanted = _checked(speed)
        with self._lock:
            step_s, now = STEP_MS / 1e3 / self._speed, self._clock()
            # the part of the step that has passed stays passed, or dragging a slider would stop the playback
            waited = 1 - (self._anchor + self._taken * step_s - now) / step_s if step_s else 1.0
            self._speed = wanted
            self._anchor, self._taken = now - min(max(waited, 0.0), 1.0) * STEP_MS / 1e3 / wanted, 1

    def pause(self) -> None:
        """No row is due until `resume` or `step`."""
        with self._lock:
            self._paused = True

    def resume(self) -> None:
        """Continue; the next row is due one step from now."""
        with self._lock:
            self._paused, self._stepping = False, 0
            self._anchor, self._taken = self._clock(), 1

    def step(self) -> None:
        """While paused: one more row is due."""
        with self._lock:
            self._stepping += self._paused

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


def _checked(speed: float | None) -> float:
    if speed is None:
        return math.inf
    if not speed > 0:
        raise ValueError(f"a speed of {speed:g} plays nothing: give a number above 0, or None for as fast as it goes")
    return float(speed)
