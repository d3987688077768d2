"""The last rows of a market: for display, and as the windows that a predictor reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from core.market.book import LEVELS, FloatArray, price_tick
from core.market.grid import STALLED_MS, STEP_MS, Gap, GridItem, Row


class RecentRows:
    """The last `capacity` rows, contiguous in memory: `timestamps[tail(n)]` (n,) and `levels[tail(n)]` (n, 40) are views."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.timestamps = np.zeros(2 * capacity, dtype=np.int64)
        self.levels = np.zeros((2 * capacity, 4 * LEVELS))
        self.end = 0
        self._changed_ms = 0  # the first row of the newest book; 0 after a gap
        self._tick = 0.0

    @property
    def stalled(self) -> bool:
        """Tells whether the newest book has stood still for too long, as `core.market.grid.stalled` says."""
        return bool(self.end and self._changed_ms) and int(self.timestamps[self.end - 1]) - self._changed_ms >= STALLED_MS

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

    def append(self, timestamp: int, levels: FloatArray) -> None:
        """Add a row, levels (40 + 4m,) with m of 0 or more."""
        if self.end == len(self.timestamps):
            self.timestamps[: self.capacity] = self.timestamps[self.capacity :]
            self.levels[: self.capacity] = self.levels[self.capacity :]
            self.end = self.capacity
        last = self.end - 1
        same = (
            last >= 0 and self.timestamps[last] == timestamp - STEP_MS and np.array_equal(self.levels[last], levels[: 4 * LEVELS])
        )
        self._changed_ms = self._changed_ms if same and self._changed_ms else timestamp
        self.timestamps[self.end], self.levels[self.end] = timestamp, levels[: 4 * LEVELS]
        self.end += 1

    def clear(self) -> None:
        """Drop every row."""
        self.end = 0

    def drop_last(self, count: int) -> None:
        """A gap: drop the last `count` rows; the next one begins a new stretch."""
        self._changed_ms = 0
        self.end = max(0, self.end - count)

    def tail(self, count: int) -> slice:
        """The index range of the last `count` rows, or of all where there are fewer."""
        return slice(max(0, self.end - min(count, self.capacity)), self.end)


class RunningWindow:
    """The last `span` rows since the last gap; used by one thread at a time."""

    def __init__(self, span: int) -> None:
        self._rows: deque[FloatArray] = deque(maxlen=span)
        self._length = self._last_ms = 0

    def restart(self) -> None:
        """A gap: no window spans it."""
        self._rows.clear()
        self._length = 0

    def take(self, batch: Sequence[GridItem]) -> tuple[list[int], list[FloatArray], int]:
        """Take a batch in.

        Returns:
            After each item, rows since the last gap; the windows (span, 40) that end in the batch; when the last of them ends,
            milliseconds since the epoch (0 without one).
        """
        lengths: list[int] = []
        windows: list[FloatArray] = []
        newest_ms = 0
        for item in batch:
            if isinstance(item, Gap):
                self.restart()
            elif isinstance(item, Row):
                if item.timestamp != self._last_ms + STEP_MS:
                    self.restart()
                self._last_ms = item.timestamp
                self._rows.append(item.levels[: 4 * LEVELS])
                self._length += 1
                if len(self._rows) == self._rows.maxlen:
                    windows.append(np.stack(self._rows))
                    newest_ms = item.timestamp
            lengths.append(self._length)
        return lengths, windows, newest_ms
