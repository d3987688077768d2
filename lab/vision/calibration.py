"""Calibration on held-out images: one divisor of the logits (temperature scaling, Guo et al. 2017), and the odds of "none"."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.scores import fit_softmax

LARGEST: Final = 50.0
"""Largest divisor and slope; the smallest is one by it."""


def fit_temperature(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The temperature T under which softmax(logits / T) has the least negative log-likelihood, which is convex in 1/T.

    Args:
        logits: (n, classes). labels: (n,).

    Returns:
        T, between 1/50 and 50.
    """
    return 1 / _fit_scale(logits, labels, np.full(len(labels), 1 / len(labels)))


def fit_slope(inside: NDArray[np.float64], outside: NDArray[np.float64], even: float) -> float:
    """The slope k under which sigmoid(k (strangeness - even)) tells best whether an image shows none of the classes.

    The least negative log-likelihood, images of the classes and others weighing the same.

    Args:
        inside: strangeness of images of the classes. outside: of others. even: where both are as likely.

    Returns:
        k, between 1/50 and 50; 1 without others.
    """
    if not len(outside):
        return 1.0
    counts = [len(inside), len(outside)]
    beyond = np.concatenate([inside, outside]) - even
    logits = np.stack([np.zeros_like(beyond), beyond], axis=-1)
    return _fit_scale(logits, np.repeat([0, 1], counts), np.repeat([0.5 / count for count in counts], counts))


def _fit_scale(logits: NDArray[np.float64], labels: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    (scale,) = fit_softmax(np.asarray(logits, dtype=np.float64)[None], labels, weights, np.ones(1), prior=1e-9 * np.eye(1))
    return float(np.clip(scale, 1 / LARGEST, LARGEST))


def slope_of_typical(inside: NDArray[np.float64], even: float, beyond: float) -> float:
    """The slope under which "none" is as likely at the median strangeness as images of the classes lie beyond `even`, a share."""
    return float(np.log((1 - beyond) / beyond) / max(even - float(np.median(inside)), 1e-9))
