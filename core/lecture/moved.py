"""Changes of a matrix by a dial: the cells that moved, the rows that did not, and the largest change."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SAME: Final = 1e-9
"""Difference, as a share of the largest entry, up to which two numbers count as the same: rounding is far below."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """Two states of a matrix of one shape.

    Attributes:
        before, after: (rows, columns). cells: where they differ.
    """

    before: Array
    after: Array
    cells: NDArray[np.bool_]

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows in which something moved."""
        return tuple(int(row) for row in np.flatnonzero(self.cells.any(axis=1)))

    @property
    def still(self) -> tuple[int, ...]:
        """Rows in which nothing moved."""
        return tuple(int(row) for row in np.flatnonzero(~self.cells.any(axis=1)))

    @property
    def _changes(self) -> Array:
        """Size of each entry's change; infinite where the entry became or was infinite."""
        with np.errstate(invalid="ignore"):
            change = np.where(self.cells, np.abs(self.after - self.before), 0.0)
        return np.nan_to_num(change, nan=np.inf, posinf=np.inf)

    @property
    def most(self) -> tuple[int, int]:
        """Row and column of the largest change; an entry that became or was infinite counts as the largest."""
        row, column = np.unravel_index(int(np.argmax(self._changes)), self.before.shape)
        return int(row), int(column)

    @property
    def largest(self) -> float:
        """Size of the largest change."""
        return float(self._changes.max())

    @property
    def leads(self) -> bool:
        """Tells whether one row has the largest change, a tenth ahead of every other row's."""
        second, first = np.sort(self._changes.max(axis=1, initial=0.0))[-2:] if len(self.before) > 1 else (1.0, 1.0)
        return bool(first > 1.1 * second)


def trend(before: float, after: float) -> int:
    """1 where a number rises, -1 where it falls, 0 where it changes by no more than a millionth of the larger size."""
    if abs(after - before) <= 1e-6 * max(abs(before), abs(after), 1e-12):
        return 0
    return 1 if after > before else -1


def doublings(before: float, after: float) -> int | None:
    """Doublings of a number, -2 to 2, halvings where negative; None near the middle of two and of other signs."""
    if before * after <= 0 or not math.isfinite(after / before):
        return None
    times = math.log2(after / before)
    return None if abs(times) < 2 and abs(times % 1 - 0.5) < 0.05 else max(-2, min(2, round(times)))


def compare(before: Array, after: Array) -> Moved:
    """The difference of two matrices; minus infinity equals minus infinity.

    Raises:
        ValueError: for matrices of different shapes.
    """
    if before.shape != after.shape:
        raise ValueError(f"a matrix of {before.shape} cannot be compared with one of {after.shape}: compare equal shapes")
    finite = np.isfinite(before) & np.isfinite(after)
    largest = max((float(np.abs(one[np.isfinite(one)]).max(initial=0.0)) for one in (before, after)), default=0.0)
    with np.errstate(invalid="ignore"):
        cells = np.where(finite, np.abs(after - before) > SAME * largest, before != after)
    cells &= ~(np.isnan(before) & np.isnan(after))
    return Moved(before=before, after=after, cells=cells)
