"""When the next row of something that can be played is due: speed, pause and step, against a clock that never drifts.

Rows lie one grid step apart. A row's moment is counted from an anchor, not from the row before it, so that late wake-ups do not
add up; every change of speed sets a new anchor.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from core.market.book import STEP_MS

SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0)
"""Speeds worth offering; None stands for "as fast as it goes"."""
CHUNK = 64
"""Rows handed out in one go at most, so that a burst leaves the loop to others in between."""
MOST_LATE_S = 2.0
"""Past this much delay (a machine asleep, a listener too slow) the lost time is let go rather than caught up in a burst."""


@dataclass(frozen=True, kw_only=True)
class Due:
    """What to do now.

    Attributes:
        rows: how many rows to hand out at once.
        wait_s: seconds until the next one after those; None where only a control can bring one (paused).
    """

    rows: int
    wait_s: float | None


class Pacer:
    """Says how many rows are due. Every method may be called from any thread.

    Args:
        speed: multiple of real time, above 0; None or infinity for as fast as it goes.
        clock: seconds, never running backwards.
        on_change: called after every change of a control, from the thread that made it.
    """

    def __init__(
        self,
        speed: float | None = 1.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._lock = threading.Lock()
        self._clock, self._on_change = clock, on_change
        self._speed = _checked(speed)
        self._paused = False
        self._stepping = 0
        self._anchor, self._taken = clock(), 0

    @property
    def speed(self) -> float | None:
        """Multiple of real time; None for as fast as it goes."""
        return None if math.isinf(self._speed) else self._speed

    @property
    def paused(self) -> bool:
        """Whether rows come by `step` alone."""
        return self._paused

    def set_speed(self, speed: float | None) -> None:
        """Play on at another speed.

        Raises:
            ValueError: for a speed that is not above 0.
        """
        wanted = _checked(speed)
        with self._lock:
            step_s, now = STEP_MS / 1e3 / self._speed, self._clock()
            # what has passed of the present step stays passed, or a slider being dragged would hold the play up
            waited = 1 - (self._anchor + self._taken * step_s - now) / step_s if step_s else 1.0
            self._speed = wanted
            self._anchor, self._taken = now - min(max(waited, 0.0), 1.0) * STEP_MS / 1e3 / wanted, 1
        self._on_change()

    def pause(self) -> None:
        """Stop handing out rows."""
        with self._lock:
            self._paused = True
        self._on_change()

    def resume(self) -> None:
        """Go on, the next row one step from now."""
        with self._lock:
            self._paused, self._stepping = False, 0
            self._anchor, self._taken = self._clock(), 1
        self._on_change()

    def step(self) -> None:
        """While paused: one row more."""
        with self._lock:
            self._stepping += self._paused
        self._on_change()

    def begin(self) -> None:
        """The next row is due one step from now (at the start and after a jump, when a row was handed out just now)."""
        with self._lock:
            self._anchor, self._taken, self._stepping = self._clock(), 1, 0

    def due(self) -> Due:
        """The rows due now, which count as handed out."""
        with self._lock:
            if self._paused:
                rows, self._stepping = min(self._stepping, CHUNK), max(0, self._stepping - CHUNK)
                return Due(rows=rows, wait_s=0.0 if self._stepping else None)
            if math.isinf(self._speed):
                return Due(rows=CHUNK, wait_s=0.0)
            step_s = STEP_MS / 1e3 / self._speed
            now = self._clock()
            if now - (self._anchor + self._taken * step_s) > max(MOST_LATE_S, step_s):
                self._anchor = now - self._taken * step_s
            # a hair of tolerance: a wait that ends a rounding error early is not sent back to wait again
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
