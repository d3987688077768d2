"""Block bootstrap of sums over time, for intervals of scores whose rows depend on their neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1_000


def block_length(rows: int, horizon: int) -> int:
    """Rows per block: four horizons and at least 200 (50 s), so that overlapping labels mostly share one; at most an eighth."""
    return max(1, min(max(200, 4 * horizon), rows // 8))


def resampled_sums(columns: ArrayLike, block: int, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float64]:
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
    starts = np.random.default_rng(seed).integers(n, size=(resamples, len(lengths)))
    sums = [(column[starts + lengths] - column[starts]).sum(axis=1) for column in total.T]  # a column at a time, for memory
    return np.stack(sums, axis=1)
