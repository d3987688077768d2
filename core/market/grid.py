"""The grid of rows, one every 250 ms: the last book known then, where it was observed (D27, D32).

Files become rows by `grid_rows`, feeds by `GridSampler`, nothing elsewhere. A row needs a book that is few sampling intervals old
at most, and later word that it held until then: the next book of a file, a message of the venue.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # which reads files by this module
    from core.market.book import FloatArray, OrderBookSnapshot

STEP_MS: Final = 250
"""Milliseconds between two rows."""
CARRIED_INTERVALS: Final = 4
"""Sampling intervals that a book is carried at most."""
MAX_CARRY_MS: Final = 10_000
"""Longest that any book is carried: four times the silence after which a venue is asked for its book."""

STALLED_MS: Final = 120_000
"""A book that has not changed for so long is stalled: a quiet market, or a venue that stopped. It is scored apart (D32)."""

GridRow = tuple[int, "FloatArray"]
"""Milliseconds since the epoch, a multiple of 250; and the book at that time, (40 + 4m,): ten levels a side, then deeper ones."""


def on_grid(timestamps: NDArray[np.int64]) -> bool:
    """Tells whether books lie on the grid: whole grid steps apart, some of them one step. Longer ones are stated pauses."""
    steps = np.diff(timestamps)
    return not len(steps) or bool(steps.min() == STEP_MS and not (steps % STEP_MS).any())


def sampling_interval(timestamps: NDArray[np.int64]) -> int:
    """Time between two observations, milliseconds: the 90th percentile of the steps between grid steps that hold a book.

    So neither the bursts of a stream of messages nor pauses, where they are fewer than a tenth, change it.
    """
    steps = np.diff(np.unique(-(-timestamps // STEP_MS))) * STEP_MS
    return int(np.quantile(steps, 0.9, method="inverted_cdf")) if len(steps) else STEP_MS


def carry_ms(timestamps: NDArray[np.int64]) -> int:
    """Milliseconds that a file's books are carried: `CARRIED_INTERVALS` of its own sampling intervals, `MAX_CARRY_MS` at most."""
    return min(MAX_CARRY_MS, CARRIED_INTERVALS * sampling_interval(timestamps))


def grid_rows(timestamps: NDArray[np.int64], carry: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows between books that are `carry` apart at most; the books themselves where they lie on the grid already.

    Nothing is carried over a longer pause, nor into it: no later book says that the last one held.

    Args:
        timestamps: (n,) of the books, milliseconds, in time order; of several at one moment the last counts.
        carry: milliseconds; `carry_ms` of the books where None.

    Returns:
        (m,) times of the rows, and (m,) the index of each row's book.
    """
    if carry is None:
        if on_grid(timestamps):
            return timestamps, np.arange(len(timestamps))
        carry = carry_ms(timestamps)
    first = -(-timestamps // STEP_MS)  # each book's first row, in steps since the epoch
    end = timestamps // STEP_MS + 1  # past the row of its own moment, if there is one
    following = first[1:]
    end[:-1] = np.where(np.diff(timestamps) <= carry, following, np.minimum(end[:-1], following))
    count = end - first
    index = np.repeat(np.arange(len(timestamps)), count)
    place = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    return (first[index] + place) * STEP_MS, index


def count_pauses(timestamps: NDArray[np.int64]) -> int:
    """Pauses between books in time order that no book is carried over."""
    longest = STEP_MS if on_grid(timestamps) else carry_ms(timestamps)
    return int((np.diff(timestamps) > longest).sum())


def segments(timestamps: NDArray[np.int64]) -> list[slice]:
    """Stretches of a grid without a gap: no window and no label may reach from one into the next."""
    breaks = np.flatnonzero(np.diff(timestamps) != STEP_MS) + 1
    edges = [0, *breaks.tolist(), len(timestamps)]
    return [slice(a, b) for a, b in pairwise(edges)]


def stalled(timestamps: NDArray[np.int64], levels: FloatArray) -> NDArray[np.bool_]:
    """(n,) rows whose book has not changed in any of its ten levels a side for `STALLED_MS`; a gap begins anew.

    Args:
        levels: (n, 40).
    """
    fresh = np.ones(len(timestamps), dtype=bool)
    fresh[1:] = (levels[1:] != levels[:-1]).any(axis=1) | (np.diff(timestamps) != STEP_MS)
    changed = timestamps[np.maximum.accumulate(np.where(fresh, np.arange(len(timestamps)), 0))]
    return timestamps - changed >= STALLED_MS


class GridSampler:
    """Turns books that arrive at any time into rows on the grid.

    A grid time takes the last book received at or before it; of several books in its own millisecond it takes the first, and so
    does not wait for more. By this machine's clock a row is provisional until a later message of the venue confirms it (D27):
    whoever takes rows keeps those past `confirmed_ms` aside, and drops them at a gap.

    Attributes:
        confirmed_ms: rows up to this time are confirmed.
    """

    def __init__(self, *, carry_ms: int = MAX_CARRY_MS) -> None:
        self.carry_ms = carry_ms
        self.confirmed_ms = 0
        self._book: FloatArray | None = None
        self._book_ms = 0
        self._next_ms = 0

    def gap(self) -> None:
        """Books may have been missed: no book is carried, and the next one starts a new stretch of rows."""
        self._book = None

    def push(self, snapshot: OrderBookSnapshot, *, at_ms: int | None = None) -> list[GridRow]:
        """Take in a book; returns the rows up to its time.

        A book older than the last one is dropped. One older than any that could still be carried means that a recording was
        wound back: it starts a new stretch.

        Args:
            at_ms: when it arrived, by this machine's clock; None for a feed that brings its own time, whose rows are confirmed.
        """
        now = snapshot.exchange_ms if at_ms is None else at_ms
        if self._book is not None and now < self._book_ms:
            if self._book_ms - now <= self.carry_ms:
                return []
            self.gap()
        if at_ms is None and now - self._book_ms > self.carry_ms:
            self.gap()  # as in `grid_rows`: nothing but this book could have said that the last one held
        rows = self._until(now - 1) if self._book is not None else []
        if self._book is None:
            self._next_ms = -(-now // STEP_MS) * STEP_MS
        self._book, self._book_ms = snapshot.whole, now
        if self._next_ms == now:
            rows += self._until(now)
        if at_ms is None:
            self.confirmed_ms = now
        elif snapshot.confirms:
            self.confirm(now)
        return rows

    def advance(self, now_ms: int) -> list[GridRow]:
        """The rows up to this time, by a clock that runs between books."""
        return self._until(now_ms)

    def confirm(self, at_ms: int) -> None:
        """The venue's book was known until `at_ms`: rows before then are confirmed."""
        self.confirmed_ms = max(self.confirmed_ms, at_ms - 1)

    def lose(self, at_ms: int) -> list[GridRow]:
        """From `at_ms` on the venue's book is unknown, until the next one arrives; returns the rows before then."""
        rows = self._until(at_ms - 1)
        self.gap()
        return rows

    def _until(self, now_ms: int) -> list[GridRow]:
        rows: list[GridRow] = []
        while self._book is not None and self._next_ms <= now_ms:
            if self._next_ms - self._book_ms > self.carry_ms:
                self.gap()
                break
            rows.append((self._next_ms, self._book))
            self._next_ms += STEP_MS
        return rows
