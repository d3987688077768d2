"""The grid of time: rows every 250 ms, the last book known then where it was observed (D27, D32).

Files become rows by `grid_rows`, feeds by `RowTimes`, one book after another, nothing elsewhere. A row needs a book that is few
sampling intervals old at most, and later word that it held until then: the next book of a file, a message of the venue.
"""

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

STEP_MS: Final = 250
"""Milliseconds between two rows."""
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
CARRIED_INTERVALS: Final = 4
"""Sampling intervals that a book is carried at most."""
MAX_CARRY_MS: Final = 10_000
"""Longest that any book is carried: four times the silence after which a venue is asked for its book."""

STALLED_MS: Final = 120_000
"""A book that has not changed for so long is stalled: a quiet market, or a venue that stopped. It is not scored (D32)."""


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


class RowTimes:
    """Grid times that one book after another stands for; those of a file's books are `grid_rows`.

    Args:
        carry_ms: longest that a book is carried.
        holds: whether a book holds until the next, whenever that comes; else nothing but the next one says that the last one
            held, and none is carried into a pause.
    """

    def __init__(self, carry_ms: int, *, holds: bool) -> None:
        self._carry_ms, self._holds = carry_ms, holds
        self._book_ms: int | None = None
        self._next_ms = 0

    def forget(self) -> None:
        """No book is carried from here on; the next one starts a new stretch."""
        self._book_ms = None

    def until(self, now_ms: int) -> list[int]:
        """Times up to then that the last book stands for, each given once."""
        if self._book_ms is None:
            return []
        times = list(range(self._next_ms, min(now_ms, self._book_ms + self._carry_ms) + 1, STEP_MS))
        self._next_ms += STEP_MS * len(times)
        if self._next_ms <= now_ms:
            self.forget()
        return times

    def step(self, at_ms: int) -> tuple[list[int], list[int]] | None:
        """Times that the last book stands for until this one, and its own where it lies on the grid; None for an older one.

        One older than any that could still be carried means that a recording was wound back: it starts a new stretch.
        """
        if self._book_ms is not None and at_ms < self._book_ms <= at_ms + self._carry_ms:
            return None
        if self._book_ms is not None and (at_ms < self._book_ms or (not self._holds and at_ms > self._book_ms + self._carry_ms)):
            self.forget()
        before = self.until(at_ms - 1)
        if self._book_ms is None:
            self._next_ms = -(-at_ms // STEP_MS) * STEP_MS
        self._book_ms = at_ms
        return before, self.until(at_ms)


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


def stalled(timestamps: NDArray[np.int64], levels: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(n,) rows whose book has not changed in any of its ten levels a side for `STALLED_MS`; a gap begins anew.

    Args:
        levels: (n, 40).
    """
    fresh = np.ones(len(timestamps), dtype=bool)
    fresh[1:] = (levels[1:] != levels[:-1]).any(axis=1) | (np.diff(timestamps) != STEP_MS)
    changed = timestamps[np.maximum.accumulate(np.where(fresh, np.arange(len(timestamps)), 0))]
    return timestamps - changed >= STALLED_MS


class StandStill:
    """Tells of one row after another whether its book is stalled, as `stalled` does of a file's."""

    def __init__(self) -> None:
        self._levels: NDArray[np.float64] | None = None
        self._last_ms = self._changed_ms = 0

    def restart(self) -> None:
        """A gap."""
        self._levels = None

    def step(self, timestamp: int, levels: NDArray[np.float64]) -> bool:
        """The next row."""
        same = self._levels is not None and timestamp == self._last_ms + STEP_MS and np.array_equal(levels, self._levels)
        self._changed_ms = self._changed_ms if same else timestamp
        self._levels, self._last_ms = levels, timestamp
        return timestamp - self._changed_ms >= STALLED_MS
