"""Calibration on held-out images: one divisor of the logits (temperature scaling, Guo et al. 2017), and the odds of "none"."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.scores import softmax


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


def fit_slope(inside: NDArray[np.float64], outside: NDArray[np.float64], even: float) -> float:
    """The slope k under which sigmoid(k (strangeness - even)) tells best whether an image shows none of the classes.

    The least negative log-likelihood, images of the classes and others weighing the same; it is convex in k, and its slope is
    bisected to zero.

    Args:
        inside: strangeness of images of the classes. outside: of others. even: where both are as likely.

    Returns:
        k, between 1/50 and 50; 1 without others.
    """
    if not len(outside):
        return 1.0
    low, high = np.log(1 / 50), np.log(50.0)
    for _ in range(60):
        k = np.exp((low + high) / 2)
        in_, out = (1 / (1 + np.exp(np.clip(-k * (part - even), -500, 500))) for part in (inside, outside))
        slope = float((in_ * (inside - even)).mean() - ((1 - out) * (outside - even)).mean())
        low, high = (low, np.log(k)) if slope > 0 else (np.log(k), high)
    return float(np.exp((low + high) / 2))


def slope_of_typical(inside: NDArray[np.float64], even: float, beyond: float) -> float:
    """The slope under which "none" is as likely at the median strangeness as images of the classes lie beyond `even`, a share."""
    return float(np.log((1 - beyond) / beyond) / max(even - float(np.median(inside)), 1e-9))
