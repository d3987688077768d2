"""Builds books from changes of single levels, and keeps one for each step of the grid that something changed in."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.market.book import STEP_MS, FloatArray

KEPT_LEVELS: Final = 25
"""Levels a side of a converted recording."""


class BookBuilder:
    """Two sides of price and size. Books come out at the last change before each grid time, and on it.

    A grid time takes the last book received at or before it, so that changes between two grid times make one book.
    """

    def __init__(self) -> None:
        self.asks: dict[float, float] = {}
        self.bids: dict[float, float] = {}
        self._at: tuple[int, int] | None = None  # time and row of the last change not yet kept
        self._times: list[int] = []
        self._rows: list[int] = []
        self._books: list[FloatArray] = []

    def __len__(self) -> int:
        return len(self._times)

    def clear(self) -> None:
        """Forget the book."""
        self.asks.clear()
        self.bids.clear()
        self._at = None

    def move_to(self, time_ms: int, row: int) -> None:
        """Announce changes at this time; where they lie in a later step of the grid, the book before them is kept."""
        if self._at is not None and -(-self._at[0] // STEP_MS) != -(-time_ms // STEP_MS):
            self.keep()
        self._at = time_ms, row

    def change(self, side: dict[float, float], levels: Iterable[tuple[float, float]]) -> None:
        """Set sizes of one side; size 0 removes a level."""
        for price, size in levels:
            if size > 0:
                side[price] = size
            else:
                side.pop(price, None)

    def keep(self) -> None:
        """Keep the book as it is."""
        if self._at is None:
            return
        book = np.full((KEPT_LEVELS, 4), np.nan)
        asks = heapq.nsmallest(KEPT_LEVELS, self.asks.items())
        bids = heapq.nlargest(KEPT_LEVELS, self.bids.items())
        book[: len(asks), :2] = np.array(asks).reshape(-1, 2)
        book[: len(bids), 2:] = np.array(bids).reshape(-1, 2)
        self._times.append(self._at[0])
        self._rows.append(self._at[1])
        self._books.append(book.reshape(-1))
        self._at = None

    def take(self) -> tuple[NDArray[np.int64], FloatArray, NDArray[np.int64]]:
        """Times (n,), values (n, 4 * levels) and rows (n,) kept since the last call."""
        times, rows = np.array(self._times, dtype=np.int64), np.array(self._rows, dtype=np.int64)
        values = np.array(self._books, dtype=np.float64).reshape(len(times), 4 * KEPT_LEVELS)
        self._times, self._rows, self._books = [], [], []
        return times, values, rows
