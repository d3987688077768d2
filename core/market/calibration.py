"""From a head's logits to calibrated probabilities, and from those to a call.

A head's numbers come out of a class-weighted loss. Temperature and bias, fitted on validation, make them mean what they say;
the call then takes the class whose probability exceeds its share of a threshold, also fitted on validation, because the
likeliest class is almost always STATIONARY. The two moving classes share one bias and one threshold: a market has no
preferred direction that yesterday could teach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core import scores
from core.market.labels import STATIONARY

MOVING = np.array([1.0, 0.0, 1.0])
"""Which classes the bias and the threshold bear on."""


@dataclass(frozen=True, kw_only=True)
class CallRule:
    """One head's rule for one market.

    Attributes:
        temperature: divides the logits.
        bias: then added to DOWN and UP.
        lean: added to log P(DOWN) and log P(UP) before the largest is called; 0 calls the likeliest.
    """

    temperature: float = 1.0
    bias: float = 0.0
    lean: float = 0.0

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> CallRule:
        """From a card's JSON."""
        return cls(**{name: float(values[name]) for name in ("temperature", "bias", "lean")})

    def probabilities(self, logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """(..., 3) logits -> (..., 3) probabilities, rows summing to 1."""
        return softmax(np.asarray(logits, dtype=np.float64) / self.temperature + self.bias * MOVING)

    def call(self, probabilities: NDArray[np.floating]) -> NDArray[np.int64]:
        """(..., 3) probabilities -> (...) class called."""
        return np.argmax(np.log(np.maximum(probabilities, 1e-12)) + self.lean * MOVING, axis=-1).astype(np.int64)


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over the last axis, the largest taken off first (iiga-equations section 16.1)."""
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def fit_rule(logits: NDArray[np.floating], truth: NDArray[np.int64], *, maximise: Literal["macro_f1", "matthews"]) -> CallRule:
    """Fit a rule on validation: temperature and bias by likelihood, then the lean by the score.

    Args:
        logits: (n, 3); truth: (n,) labels 0..2.
    """
    z = np.asarray(logits, dtype=np.float64)
    temperature, bias = _fit_calibration(z, truth)
    rule = CallRule(temperature=temperature, bias=bias)
    log_p = np.log(np.maximum(rule.probabilities(z), 1e-12))
    moving = np.where(log_p[:, 2] > log_p[:, 0], 2, 0)
    margin = np.maximum(log_p[:, 0], log_p[:, 2]) - log_p[:, STATIONARY]
    leans = np.linspace(-1.5, 4.0, 111)
    matrices = [scores.confusion_matrix(truth, np.where(margin + lean > 0, moving, STATIONARY)) for lean in leans]
    score = (scores.macro_f1 if maximise == "macro_f1" else scores.matthews)(np.stack(matrices))
    # A single peak of a jagged curve is luck; the middle of its neighbourhood holds better tomorrow.
    smooth = np.convolve(np.pad(score, 3, mode="edge"), np.ones(7) / 7, mode="valid")
    return CallRule(temperature=temperature, bias=bias, lean=float(leans[int(np.argmax(smooth))]))


def _fit_calibration(logits: NDArray[np.float64], truth: NDArray[np.int64]) -> tuple[float, float]:
    """Newton's method on the mean negative log likelihood in (1/temperature, bias): two numbers, convex."""
    scale, bias = 1.0, 0.0
    rows = np.arange(len(truth))
    for _ in range(50):
        p = softmax(scale * logits + bias * MOVING)
        directions = np.stack([logits, np.broadcast_to(MOVING, logits.shape)])  # d logits / d (scale, bias)
        expected = (p * directions).sum(axis=-1)
        gradient = (expected - directions[:, rows, truth]).mean(axis=1)
        centred = directions - expected[..., None]
        hessian = np.einsum("nk,ank,bnk->ab", p, centred, centred, optimize=True) / len(truth)
        step = np.linalg.solve(hessian + 1e-9 * np.eye(2), gradient)
        step *= min(1.0, 1.0 / max(np.abs(step).max(), 1e-12))
        scale, bias = max(scale - step[0], 1e-3), bias - step[1]
        if np.abs(step).max() < 1e-8:
            break
    return 1.0 / float(scale), float(bias)
