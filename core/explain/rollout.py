"""Attention rollout: how much of each input position reaches each position of the last layer by attention and residuals alone.

Source: Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Fusion = Literal["mean", "max", "min"]


def rollout(layers: Sequence[NDArray[np.floating]], *, residual: float = 0.5, fuse: Fusion = "mean") -> NDArray[np.float64]:
    """The product of all layers' maps, where the residual connection counts as attention of a position to itself.

    Value matrices and feed-forward networks are not part of it (D23).

    Args:
        layers: first layer first, each (heads, n, n) or (n, n), rows being queries.
        residual: share of the identity in each layer, 0 to 1; 0.5 is the paper's.
        fuse: how a layer's heads become one map.

    Returns:
        (n, n), float64, rows summing to 1: row i holds the shares of the input positions in position i of the last layer.

    Raises:
        ValueError: for no layers, maps that are not square or not of one size, or a share outside 0 to 1.
    """
    if not layers:
        raise ValueError("there are no attention maps to roll out: give one a layer")
    if not 0.0 <= residual <= 1.0:
        raise ValueError(f"a residual share of {residual} is impossible: it lies between 0 and 1")
    size = layers[0].shape[-1]
    rolled = np.eye(size)
    for weights in layers:
        if weights.shape[-2:] != (size, size):
            raise ValueError(
                f"a map of shape {weights.shape[-2:]} cannot follow one of {(size, size)}: rollout takes square maps of one size"
            )
        fused = fuse_heads(weights, fuse)
        mixed = residual * np.eye(size) + (1.0 - residual) * fused
        rolled = mixed / mixed.sum(axis=-1, keepdims=True) @ rolled
    return rolled


def fuse_heads(weights: NDArray[np.floating], how: Fusion = "mean") -> NDArray[np.float64]:
    """(heads, n, n) -> (n, n); a single map passes as it is. Under "max" and "min" rows need not sum to 1."""
    whole = np.asarray(weights, dtype=np.float64)
    if whole.ndim == 2:
        return whole
    if how == "mean":
        return np.asarray(whole.mean(axis=0))
    return np.asarray(whole.max(axis=0) if how == "max" else whole.min(axis=0))
