"""Temperature scaling (Guo et al. 2017): one divisor of the logits, fitted on held-out images, that calibrates confidences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Along the last axis, without overflow."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def fit_temperature(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The temperature T under which softmax(logits / T) has the least negative log-likelihood.

    The negative log-likelihood is convex in 1/T; its slope is the mean of (expected logit - true logit), bisected to zero.

    Args:
        logits: (n, classes). labels: (n,).

    Returns:
        T, between 1/50 and 50.
    """
    z = np.asarray(logits, dtype=np.float64)
    true = z[np.arange(len(z)), labels]
    low, high = np.log(1 / 50), np.log(50.0)
    for _ in range(60):
        middle = (low + high) / 2
        slope = float(((softmax(z * np.exp(middle)) * z).sum(axis=1) - true).mean())
        low, high = (low, middle) if slope > 0 else (middle, high)
    return float(np.exp(-(low + high) / 2))
