"""Summaries of attention maps: entropy and mean distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def row_entropy(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Shannon entropy of every query's weights, in nats.

    Args:
        weights: (..., queries, keys), rows summing to 1.

    Returns:
        (..., queries): 0 where a query looks at one key only, ln(keys) where it looks at all keys equally.
    """
    w = np.asarray(weights, dtype=np.float64)
    logs = np.log(w, out=np.zeros_like(w), where=w > 0)
    return np.asarray(-(w * logs).sum(axis=-1))


def mean_entropy(weights: NDArray[np.floating]) -> float:
    """`row_entropy` averaged over queries and heads, in nats."""
    return float(row_entropy(weights).mean())


def row_distance(weights: NDArray[np.floating], *, step: float = 1.0) -> NDArray[np.float64]:
    """Mean distance between each query and the keys it looks at: sum over keys j of weight(i, j) * |i - j| * step.

    Args:
        weights: (..., n, n), queries and keys being the same positions.
        step: distance of neighbours, in the unit of the result (0.25 for seconds on the 250 ms grid).

    Returns:
        (..., n). It has no meaning for learned channels, which have no order (D2).

    Raises:
        ValueError: for a map that is not square.
    """
    queries, keys = weights.shape[-2:]
    if queries != keys:
        raise ValueError(f"a distance needs queries and keys to be the same positions, not {queries} and {keys} of them")
    position = np.arange(keys)
    apart = np.abs(position[:, None] - position[None, :]) * step
    return np.asarray((np.asarray(weights, dtype=np.float64) * apart).sum(axis=-1))


def mean_distance(weights: NDArray[np.floating], *, step: float = 1.0) -> float:
    """`row_distance` averaged over queries and heads."""
    return float(row_distance(weights, step=step).mean())


def grid_distances(grid: int) -> NDArray[np.float64]:
    """(grid^2, grid^2): Euclidean distances between the cells of a square grid, numbered row by row, in cells."""
    row, column = np.divmod(np.arange(grid**2), grid)
    return np.asarray(np.hypot(row[:, None] - row[None, :], column[:, None] - column[None, :]))


def patch_distance(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Mean distance between each patch and the patches it looks at, in patches (Dosovitskiy et al. 2021, figure 7).

    The class token has no place, so it is left out as query and key, and each row's other weights are rescaled to sum to 1.

    Args:
        weights: (..., 1 + grid^2, 1 + grid^2), the class token first, patches row by row.

    Returns:
        (..., grid^2): 0 where a patch looks only at itself, or at no patch.

    Raises:
        ValueError: where the patches are not a square grid's.
    """
    queries, keys = weights.shape[-2:]
    grid = round(max(keys - 1, 0) ** 0.5)
    if queries != keys or keys != 1 + grid**2:
        raise ValueError(f"a map of {queries} x {keys} is not one of a class token and a square grid of patches")
    patches = np.asarray(weights, dtype=np.float64)[..., 1:, 1:]
    whole = patches.sum(axis=-1)
    reach = (patches * grid_distances(grid)).sum(axis=-1)
    return np.asarray(np.divide(reach, whole, out=np.zeros_like(whole), where=whole > 0))


def mean_patch_distance(weights: NDArray[np.floating]) -> float:
    """`patch_distance` averaged over patches and heads."""
    return float(patch_distance(weights).mean())


def even_patch_distance(grid: int) -> float:
    """Mean distance, in patches, of uniform attention over a square grid."""
    return float(grid_distances(grid).mean())


def even_entropy(count: int) -> float:
    """Entropy of uniform attention over `count` keys: ln(count), nats."""
    return float(np.log(count))


def even_distance(count: int, *, step: float = 1.0) -> float:
    """Mean distance of uniform attention over `count` positions: (n^2 - 1) / (3 n) steps."""
    return (count**2 - 1) / (3 * count) * step


def effective_keys(entropy: float) -> float:
    """Perplexity: the number of keys over which uniform attention has this entropy (nats)."""
    return float(np.exp(entropy))


def strongest(weights: NDArray[np.floating], count: int) -> list[tuple[int, float]]:
    """The `count` largest of a row of weights, largest first: (index, weight)."""
    order = np.argsort(-np.asarray(weights), kind="stable")[:count]
    return [(int(index), float(weights[index])) for index in order]
