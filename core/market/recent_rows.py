"""The newest rows of a market: those that are kept to be drawn, and those since the last gap that make a window."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from core.market.book import LEVELS, FloatArray, price_tick
from core.market.events import Gap, Row
from core.market.feeds.protocol import FeedEvent
from core.market.grid import DAY_MS, STEP_MS, StandStill


class RecentRows:
    """The last `capacity` rows, contiguous in memory: `timestamps[tail(n)]` (n,) and `levels[tail(n)]` (n, 40) are views."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.timestamps = np.zeros(2 * capacity, dtype=np.int64)
        self.levels = np.zeros((2 * capacity, 4 * LEVELS))
        self.end = 0
        self.stalled = False  # whether the newest book is, as `core.market.grid.stalled` says
        self._still = StandStill()
        self._tick = 0.0

    def tick(self, window: int) -> float:
        """The smallest step of price of the first `window` rows, kept from then on; of as many as there are until then."""
        if self._tick:
            return self._tick
        rows = self.levels[self.tail(window)]
        tick = price_tick(rows[:, 0::2])
        self._tick = tick if len(rows) == window else 0.0
        return tick

    @property
    def newest(self) -> int | None:
        """Time of the last row, milliseconds since the epoch; None where there is none."""
        return int(self.timestamps[self.end - 1]) if self.end else None

    @property
    def oldest(self) -> int | None:
        """Time of the first row that is kept; None where there is none."""
        return int(self.timestamps[self.tail(self.capacity)][0]) if self.end else None

    def append(self, row: Row) -> None:
        """Add a row."""
        if self.end == len(self.timestamps):
            self.timestamps[: self.capacity] = self.timestamps[self.capacity :]
            self.levels[: self.capacity] = self.levels[self.capacity :]
            self.end = self.capacity
        levels = row.levels[: 4 * LEVELS]
        self.stalled = self._still.take(row.timestamp, levels)
        self.timestamps[self.end], self.levels[self.end] = row.timestamp, levels
        self.end += 1

    def drop_last(self, count: int) -> None:
        """A gap: drop the last `count` rows; the next one begins a new stretch."""
        self._still.restart()
        self.stalled = False
        self.end = max(0, self.end - count)

    def tail(self, count: int) -> slice:
        """The index range of the last `count` rows, or of all where there are fewer."""
        return slice(max(0, self.end - min(count, self.capacity)), self.end)


class RunningWindow:
    """The last `span` rows since the last gap; used by one thread at a time.

    Args:
        daily: whether a day (UTC) begins as after a gap, too.
    """

    def __init__(self, span: int, *, daily: bool = False) -> None:
        self._daily = daily
        self._rows: deque[FloatArray] = deque(maxlen=span)
        self._length = self._last_ms = 0

    def restart(self) -> None:
        """A gap: no window spans it."""
        self._rows.clear()
        self._length = 0

    def slide(self, batch: Sequence[FeedEvent]) -> tuple[list[int], list[FloatArray]]:
        """Take a batch in.

        Returns:
            After each item, rows since the last gap; and the windows (span, 40) that end in the batch.
        """
        lengths: list[int] = []
        windows: list[FloatArray] = []
        for item in batch:
            if isinstance(item, Gap):
                self.restart()
            elif isinstance(item, Row):
                if item.timestamp != self._last_ms + STEP_MS or (self._daily and item.timestamp % DAY_MS == 0):
                    self.restart()
                self._last_ms = item.timestamp
                self._rows.append(item.levels[: 4 * LEVELS])
                self._length += 1
                if len(self._rows) == self._rows.maxlen:
                    windows.append(np.stack(self._rows))
            lengths.append(self._length)
        return lengths, windows
