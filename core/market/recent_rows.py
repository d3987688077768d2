"""The last rows of a book, for display."""

from __future__ import annotations

import numpy as np

from core.market.book import LEVELS, FloatArray


class RecentRows:
    """The last `capacity` rows, contiguous in memory: `timestamps[tail(n)]` (n,) and `levels[tail(n)]` (n, 40) are views."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.timestamps = np.zeros(2 * capacity, dtype=np.int64)
        self.levels = np.zeros((2 * capacity, 4 * LEVELS))
        self.end = 0

    @property
    def newest(self) -> int | None:
        """Time of the last row, milliseconds since the epoch; None where there is none."""
        return int(self.timestamps[self.end - 1]) if self.end else None

    def append(self, timestamp: int, levels: FloatArray) -> None:
        """Add a row, levels (40,)."""
        if self.end == len(self.timestamps):
            self.timestamps[: self.capacity] = self.timestamps[self.capacity :]
            self.levels[: self.capacity] = self.levels[self.capacity :]
            self.end = self.capacity
        self.timestamps[self.end], self.levels[self.end] = timestamp, levels
        self.end += 1

    def clear(self) -> None:
        """Drop every row."""
        self.end = 0

    def drop_last(self, count: int) -> None:
        """Drop the last `count` rows."""
        self.end = max(0, self.end - count)

    def tail(self, count: int) -> slice:
        """The index range of the last `count` rows, or of all where there are fewer."""
        return slice(max(0, self.end - min(count, self.capacity)), self.end)
