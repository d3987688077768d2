"""An attention map in a number or two: how spread it is, and how far it reaches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def row_entropy(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Shannon entropy of every query's weights, in nats.

    Args:
        weights: (..., queries, keys), rows summing to 1.

    Returns:
        (..., queries): 0 where a query looks at one key alone, ln(keys) where it looks at all alike.
    """
    w = np.asarray(weights, dtype=np.float64)
    logs = np.log(w, out=np.zeros_like(w), where=w > 0)
    return np.asarray(-(w * logs).sum(axis=-1))


def mean_entropy(weights: NDArray[np.floating]) -> float:
    """`row_entropy` averaged over queries and heads, in nats."""
    return float(row_entropy(weights).mean())


def row_distance(weights: NDArray[np.floating], *, step: float = 1.0) -> NDArray[np.float64]:
    """How far from itself each query looks on average: sum over keys j of weight(i, j) * |i - j| * step.

    Args:
        weights: (..., n, n), queries and keys being the same positions.
        step: between neighbours, in the unit of the answer (0.25 for seconds on the 250 ms grid).

    Returns:
        (..., n). Only where neighbours mean something: learned channels have no order (D2).

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
    """(grid^2, grid^2): how far the cells of a square grid, numbered row by row, lie from each other, in cells."""
    row, column = np.divmod(np.arange(grid**2), grid)
    return np.asarray(np.hypot(row[:, None] - row[None, :], column[:, None] - column[None, :]))


def patch_distance(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """How far from itself each patch of a picture looks on average, in patches (Dosovitskiy et al. 2021, figure 7).

    The class token lies nowhere, so it is left out as a query and as a key, and each row's other weights count as shares of what
    they sum to.

    Args:
        weights: (..., 1 + grid^2, 1 + grid^2), the class token first, patches row by row.

    Returns:
        (..., grid^2): 0 where a patch looks at itself alone, or at no patch at all.

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
    """Mean distance, in patches, of a map over a square grid whose every patch looks at all alike."""
    return float(grid_distances(grid).mean())


def even_entropy(count: int) -> float:
    """Entropy of a map that looks at `count` keys alike: ln(count), nats."""
    return float(np.log(count))


def even_distance(count: int, *, step: float = 1.0) -> float:
    """Mean distance of a map over `count` positions that looks at all alike: (n^2 - 1) / (3 n) steps."""
    return (count**2 - 1) / (3 * count) * step


def effective_keys(entropy: float) -> float:
    """How many keys, looked at all alike, would have this entropy (nats): its exponential."""
    return float(np.exp(entropy))


def strongest(weights: NDArray[np.floating], count: int) -> list[tuple[int, float]]:
    """The `count` largest of a row of weights, largest first: (index, weight)."""
    order = np.argsort(-np.asarray(weights), kind="stable")[:count]
    return [(int(index), float(weights[index])) for index in order]
