"""Rows of a market by their numbers, of which the newest are kept."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class RowLog:
    """Rows of one kind, numbered from 0; the oldest are overwritten beyond `capacity`. Memory is taken as rows are added.

    Attributes:
        dtype: of a row. count: number of rows ever added, without those dropped. first: number of the oldest row kept.
    """

    def __init__(self, dtype: DTypeLike, capacity: int) -> None:
        self._rows = np.zeros(capacity, dtype=dtype)
        self.dtype = self._rows.dtype
        self.count = self.first = 0

    def add(self, record: tuple[Any, ...]) -> int:
        """Add a row; returns its number, which never changes."""
        self._rows[self.count % len(self._rows)] = record
        self.count += 1
        self.first = max(self.first, self.count - len(self._rows))
        return self.count - 1

    def drop_last(self, count: int) -> None:
        """Drop the last `count` rows, or all that are kept."""
        self.count = max(self.first, self.count - count)

    def __getitem__(self, number: int) -> np.void:
        """A row by its number, as a view that can be written to.

        Raises:
            IndexError: for a row not yet added or no longer kept.
        """
        if not self.first <= number < self.count:
            raise IndexError(f"row {number} is not kept: rows {self.first} to {self.count - 1} are")
        row: np.void = self._rows[number % len(self._rows)]
        return row

    def tail(self, count: int | None = None) -> NDArray[np.void]:
        """Copies of the last `count` rows, oldest first; of all that are kept where there are fewer, or None is asked for."""
        kept = min(len(self._rows) if count is None else count, self.count - self.first)
        begin = (self.count - kept) % len(self._rows)
        return np.concatenate([self._rows[begin : begin + kept], self._rows[: max(0, begin + kept - len(self._rows))]])
