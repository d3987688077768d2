"""Summaries of rows of attention: their entropy, and their largest weights."""

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


def strongest(weights: NDArray[np.floating], count: int) -> list[tuple[int, float]]:
    """The `count` largest of a row of weights, largest first: (index, weight)."""
    order = np.argsort(-np.asarray(weights), kind="stable")[:count]
    return [(int(index), float(weights[index])) for index in order]
