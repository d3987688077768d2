"""95 % intervals of scores: of one recording by blocks of time, as its rows depend on one another; of several by Student's t."""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1_000
FEWEST: Final = 200
"""Rows below which no interval is computed."""
STUDENT: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t, the 97.5 % quantile, for 1 to 9 degrees of freedom."""


class Spacing:
    """Choice of outcomes that do not overlap: the first, and each next one at least `apart` later."""

    def __init__(self, apart: int) -> None:
        self._apart, self._free = apart, -math.inf

    def step(self, at: int) -> bool:
        """Tells whether the next outcome, at that time, is one of them."""
        if at < self._free:
            return False
        self._free = at + self._apart
        return True


def spaced(times: NDArray[np.int64], apart: int) -> NDArray[np.int64]:
    """Indices of those of these outcomes (n,), at rising times, that `Spacing` takes."""
    kept: list[int] = []
    following = np.searchsorted(times, times + apart).tolist()
    place = 0
    while place < len(following):
        kept.append(place)
        place = following[place]
    return np.array(kept, dtype=np.int64)


def block_length(rows: int, horizon: int) -> int:
    """Rows per block: four horizons and at least 200 (50 s), so that overlapping labels mostly share one; at most an eighth."""
    return max(1, min(max(200, 4 * horizon), rows // 8))


def resampled_sums(columns: ArrayLike, block: int, *, resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """Column sums over resampled rows: the circular block bootstrap (Politis and Romano 1992).

    Each resample has as many rows as the original, in blocks that begin at random and wrap around the end; the last is cut.
    All columns are resampled alike, so that differences between them are paired.

    Args:
        columns: (n, k), in time order, n at least 1. block: rows per block, 1 to n.

    Returns:
        (resamples, k).

    Raises:
        ValueError: where there is no row, or the block is longer than the rows.
    """
    values = np.asarray(columns, dtype=np.float64)
    n = len(values)
    if not 1 <= block <= n:
        raise ValueError(f"a block of {block} rows cannot be drawn from {n} rows")
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(np.concatenate([values, values[: block - 1]]), axis=0)])
    lengths = np.full(-(-n // block), block)
    lengths[-1] = n - block * (len(lengths) - 1)
    starts = np.random.default_rng(0).integers(n, size=(resamples, len(lengths)))
    sums = [(column[starts + lengths] - column[starts]).sum(axis=1) for column in total.T]  # a column at a time, for memory
    return np.stack(sums, axis=1)


def mean_interval(values: ArrayLike) -> tuple[float, float, float]:
    """The mean of several recordings' scores and its 95 % interval by Student's t (D31); NaN bounds for fewer than two.

    Args:
        values: (recordings,); NaN where a recording has no such score, which is then left out.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if len(known) < 2:
        return (float(known[0]) if len(known) else math.nan), math.nan, math.nan
    reach = student(len(known) - 1) * float(known.std(ddof=1)) / math.sqrt(len(known))
    mean = float(known.mean())
    return mean, mean - reach, mean + reach


def student(degrees: int) -> float:
    """The 97.5 % quantile of Student's t, to a thousandth (Abramowitz and Stegun 1964, 26.7.5, from 10 degrees on)."""
    if degrees <= len(STUDENT):
        return STUDENT[degrees - 1]
    z = 1.959964
    terms = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + sum(term / degrees**power for power, term in enumerate(terms, 1))
