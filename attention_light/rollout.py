"""Attention rollout: how much of each input position reaches each position of the last layer by attention and residuals alone.

Source: Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def rollout(layers: Sequence[NDArray[np.floating]]) -> NDArray[np.float64]:
    """The product of all layers' maps, each half identity: the residual connection counts as attention of a position to itself.

    Value matrices and feed-forward networks are not part of it (D23).

    Args:
        layers: first layer first, each (heads, n, n) or (n, n), rows being queries.

    Returns:
        (n, n), float64, rows summing to 1: row i holds the shares of the input positions in position i of the last layer.

    Raises:
        ValueError: for no layers, or maps that are not square or not of one size.
    """
    if not layers:
        raise ValueError("there are no attention maps to roll out: give one a layer")
    size = layers[0].shape[-1]
    rolled = np.eye(size)
    for weights in layers:
        if weights.shape[-2:] != (size, size):
            raise ValueError(
                f"a map of shape {weights.shape[-2:]} cannot follow one of {(size, size)}: rollout takes square maps of one size"
            )
        mixed = 0.5 * np.eye(size) + 0.5 * fuse_heads(weights)
        rolled = mixed / mixed.sum(axis=-1, keepdims=True) @ rolled
    return rolled


def fuse_heads(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """The mean over heads, (heads, n, n) -> (n, n); a single map passes as it is."""
    whole = np.asarray(weights, dtype=np.float64)
    return whole if whole.ndim == 2 else np.asarray(whole.mean(axis=0))
