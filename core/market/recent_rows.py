"""The newest rows of a market, which are kept to be drawn."""

import numpy as np

from core.market.book import LEVELS, PRICES, TEN_LEVELS, price_tick
from core.market.events import Row


class RecentRows:
    """The last `capacity` rows, contiguous in memory: `timestamps[tail(n)]` (n,) and `levels[tail(n)]` (n, 40) are views."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.timestamps = np.zeros(2 * capacity, dtype=np.int64)
        self.levels = np.zeros((2 * capacity, 4 * LEVELS))
        self.end = 0
        self._tick = 0.0

    def tick(self, window: int) -> float:
        """The smallest step of price of the first `window` rows, kept from then on; of as many as there are until then."""
        if self._tick:
            return self._tick
        rows = self.levels[self.tail(window)]
        tick = price_tick(rows[:, PRICES])
        self._tick = tick if len(rows) == window else 0.0
        return tick

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
        self.timestamps[self.end], self.levels[self.end] = row.timestamp, row.levels[TEN_LEVELS]
        self.end += 1

    def drop_last(self, count: int) -> None:
        """Drop the last `count` rows."""
        self.end = max(0, self.end - count)

    def tail(self, count: int) -> slice:
        """The index range of the last `count` rows, or of all where there are fewer."""
        return slice(max(0, self.end - min(count, self.capacity)), self.end)
