"""Scores of predictions: of three classes from their confusion matrix, so that running counts are enough, and of probabilities.

Matrices are (..., 3, 3), rows the truth and columns the call, in the order DOWN, STATIONARY, UP.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

CLASS_COUNT = 3
CALIBRATION_BINS = 15
"""Of equal width over 0 to 1 (Guo et al. 2017; D26)."""


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over the last axis, after subtracting the largest (iiga-equations section 16.1)."""
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def fit_softmax(
    directions: NDArray[np.float64],
    truth: NDArray[np.int64],
    weights: NDArray[np.float64],
    begin: NDArray[np.float64],
    *,
    prior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Parameters x (k,) by the weighted likelihood of softmax(sum of x_a directions_a), by Newton's method.

    Args:
        directions: (k, n, classes) what each parameter multiplies; the first is a scale, which stays above 0.
        truth: (n,) labels. weights: (n,) of each row. begin: (k,) where to begin.
        prior: (k, k) curvature that holds x to 1, 0, ..., 0.
    """
    x, rows = begin, np.arange(len(truth))
    product = "nk,ank,bnk->ab"
    path, _told = np.einsum_path(product, directions[0], directions, directions)  # the same in every step, and dear to find
    for _ in range(50):
        p = softmax(np.asarray(sum(value * direction for value, direction in zip(x, directions, strict=True))))
        expected = (p * directions).sum(axis=-1)
        gradient = ((expected - directions[:, rows, truth]) * weights).sum(axis=1) + prior @ (x - np.eye(len(x))[0])
        centred = directions - expected[..., None]
        hessian = np.einsum(product, p * weights[:, None], centred, centred, optimize=path) + prior
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 1.0 / max(np.abs(step).max(), 1e-12))
        x = x - step
        x[0] = max(x[0], 1e-3)
        if np.abs(step).max() < 1e-8:
            break
    return x


def confusion_matrix(truth: ArrayLike, called: ArrayLike) -> NDArray[np.int64]:
    """(3, 3) counts from two arrays of labels 0..2 of the same length."""
    cells = CLASS_COUNT * np.asarray(truth, dtype=np.int64) + np.asarray(called, dtype=np.int64)
    return np.bincount(cells, minlength=CLASS_COUNT**2).reshape(CLASS_COUNT, CLASS_COUNT)


def accuracy(confusion: ArrayLike) -> NDArray[np.float64]:
    """Share of calls that came true; NaN without a call."""
    c = np.asarray(confusion, dtype=np.float64)
    return _divide(np.trace(c, axis1=-2, axis2=-1), c.sum(axis=(-2, -1)), empty=np.nan)


def macro_f1(confusion: ArrayLike) -> NDArray[np.float64]:
    """Mean F1 of the classes that occur in truth or calls (as scikit-learn counts it); NaN without a call."""
    c = np.asarray(confusion, dtype=np.float64)
    hits = np.diagonal(c, axis1=-2, axis2=-1)
    seen = c.sum(axis=-1) + c.sum(axis=-2)
    f1 = _divide(2 * hits, seen, empty=0.0)
    return _divide(f1.sum(axis=-1), (seen > 0).sum(axis=-1), empty=np.nan)


def matthews(confusion: ArrayLike) -> NDArray[np.float64]:
    """Matthews correlation for several classes (Gorodkin 2004): 0 for a rule that always says the same."""
    c = np.asarray(confusion, dtype=np.float64)
    hits, total = np.trace(c, axis1=-2, axis2=-1), c.sum(axis=(-2, -1))
    truth, called = c.sum(axis=-1), c.sum(axis=-2)
    covariance = hits * total - (truth * called).sum(axis=-1)
    spread = (total**2 - (truth**2).sum(axis=-1)) * (total**2 - (called**2).sum(axis=-1))
    return np.where(total > 0, _divide(covariance, np.sqrt(np.maximum(spread, 0)), empty=0.0), np.nan)


def reliability(confidence: ArrayLike, hit: ArrayLike, bins: int = CALIBRATION_BINS) -> dict[str, NDArray[np.float64]]:
    """Rate at which a class came true by the probability it was given.

    Args:
        confidence: (n,) probability of one class a row, 0 to 1: the likeliest, or the one called.
        hit: (n,) whether that class came true.
        bins: of equal width over 0 to 1.

    Returns:
        `edges` (bins + 1,), `confidence` and `accuracy` (bins,; NaN in an empty bin), `count` (bins,), and `gap` (1,), the
        absolute difference of the two, weighted by count: of the likeliest class, the expected calibration error.
    """
    p, h = np.asarray(confidence, dtype=np.float64), np.asarray(hit, dtype=np.float64)
    index = np.clip((p * bins).astype(np.int64), 0, bins - 1)
    return reliability_of_bins(*(np.bincount(index, weights, bins).astype(np.float64) for weights in (p, h, np.ones_like(p))))


def reliability_of_bins(
    confidence: NDArray[np.float64], hits: NDArray[np.float64], count: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """`reliability` from running sums, each (bins,): of confidence, of hits, and of rows."""
    mean_p, mean_h = _divide(confidence, count, empty=np.nan), _divide(hits, count, empty=np.nan)
    gap = np.nansum(np.abs(mean_p - mean_h) * count) / max(float(count.sum()), 1.0)
    edges = np.linspace(0, 1, len(count) + 1)
    return {"edges": edges, "confidence": mean_p, "accuracy": mean_h, "count": count.copy(), "gap": np.array([gap])}


def summary(confusion: ArrayLike) -> dict[str, float]:
    """`accuracy`, `macro_f1` and `matthews` of one matrix (3, 3)."""
    return {
        "accuracy": float(accuracy(confusion)),
        "macro_f1": float(macro_f1(confusion)),
        "matthews": float(matthews(confusion)),
    }


def _divide(a: ArrayLike, b: ArrayLike, *, empty: float) -> NDArray[np.float64]:
    """a / b, and `empty` where b is zero."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), empty)
