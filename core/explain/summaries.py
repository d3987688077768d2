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
