"""From a model's logits to calibrated probabilities, and from those to a call.

Temperature and bias are fitted on validation data by likelihood, so that probabilities mean what they say although the loss
weighs the classes. The call is the likeliest class, or the class that a fitted threshold picks, whichever scores better on
validation data (D25): STATIONARY is nearly always the likeliest, so that rule alone would seldom call a move. DOWN and UP share
one bias and one threshold, since a market has no preferred direction that past data could teach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from core import scores
from core.market.labels import STATIONARY
from core.scores import fit_softmax, softmax

MOVING = np.array([1.0, 0.0, 1.0])
"""The classes that bias and lean are added to: DOWN and UP."""

RuleKind = Literal["likeliest", "threshold"]
Score = Literal["macro_f1", "matthews"]
_SCORES: Final = {"macro_f1": scores.macro_f1, "matthews": scores.matthews}


@dataclass(frozen=True, kw_only=True)
class CallRule:
    """Rule that turns one model's logits for one label and horizon of one market into probabilities and a call.

    Attributes:
        temperature: divides the logits.
        bias: then added to the logits of DOWN and UP.
        lean: added to log P(DOWN) and log P(UP) before the largest is called; 0 calls the likeliest class.
    """

    temperature: float = 1.0
    bias: float = 0.0
    lean: float = 0.0

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> CallRule:
        """From a card's JSON."""
        return cls(**{name: float(values[name]) for name in ("temperature", "bias", "lean")})

    @property
    def kind(self) -> RuleKind:
        """Kind of the rule: the likeliest class, or a fitted threshold."""
        return "threshold" if self.lean else "likeliest"

    def probabilities(self, logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """(..., 3) logits -> (..., 3) probabilities, rows summing to 1."""
        return softmax(np.asarray(logits, dtype=np.float64) / self.temperature + self.bias * MOVING)

    def call(self, probabilities: NDArray[np.floating]) -> NDArray[np.int64]:
        """(..., 3) probabilities -> (...) class called."""
        return np.argmax(np.log(np.maximum(probabilities, 1e-12)) + self.lean * MOVING, axis=-1).astype(np.int64)


def answers_of(rules: Sequence[CallRule], logits: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """`CallRule.probabilities` and `CallRule.call` of every head at once.

    (..., heads, 3) logits -> (..., heads, 3) probabilities and (..., heads) classes called.
    """
    temperature, bias, lean = np.array([(rule.temperature, rule.bias, rule.lean) for rule in rules]).reshape(-1, 3).T[..., None]
    probabilities = softmax(np.asarray(logits, dtype=np.float64) / temperature + bias * MOVING)
    calls = np.argmax(np.log(np.maximum(probabilities, 1e-12)) + lean * MOVING, axis=-1)
    return probabilities, calls.astype(np.int64)


def fit_rule(logits: NDArray[np.floating], truth: NDArray[np.int64], *, maximise: Score) -> CallRule:
    """Fit temperature and bias by likelihood, and the lean by a score where that beats calling the likeliest class (D25).

    Which of the two beats the other is measured on the second half of the rows, with a rule fitted on the first half; the lean
    that is returned is fitted on all rows.

    Args:
        logits: (n, 3) on validation data, in time order. truth: (n,) labels 0..2.
    """
    half = len(truth) // 2
    rule = _fit_leaning(logits, truth, maximise)
    trial = _fit_leaning(logits[:half], truth[:half], maximise) if half else CallRule()
    later = trial.probabilities(logits[half:])
    matrices = [scores.confusion_matrix(truth[half:], one.call(later)) for one in (trial, CallRule())]
    leaning, likeliest = _SCORES[maximise](np.stack(matrices))
    return rule if leaning > likeliest else CallRule(temperature=rule.temperature, bias=rule.bias)


def _fit_leaning(logits: NDArray[np.floating], truth: NDArray[np.int64], maximise: Score) -> CallRule:
    z = np.asarray(logits, dtype=np.float64)
    temperature, bias = _fit_calibration(z, truth)
    log_p = np.log(np.maximum(CallRule(temperature=temperature, bias=bias).probabilities(z), 1e-12))
    moving = np.where(log_p[:, 2] > log_p[:, 0], 2, 0)
    margin = np.maximum(log_p[:, 0], log_p[:, 2]) - log_p[:, STATIONARY]
    leans = np.linspace(-1.5, 4.0, 111)
    matrices = [scores.confusion_matrix(truth, np.where(margin + lean > 0, moving, STATIONARY)) for lean in leans]
    score = _SCORES[maximise](np.stack(matrices))
    # A single peak of a jagged curve is luck: the mean over neighbouring leans holds better on later data.
    smooth = np.convolve(np.pad(score, 3, mode="edge"), np.ones(7) / 7, mode="valid")
    return CallRule(temperature=temperature, bias=bias, lean=float(leans[int(np.argmax(smooth))]))


PRIOR: Final = np.diag([5.0, 1.0, 1.0])
"""Strength with which `fit_class_biases` holds scale and the biases of DOWN and UP to 1, 0 and 0, as a curvature."""


def fit_class_biases(
    logits: NDArray[np.floating],
    truth: NDArray[np.int64],
    weights: NDArray[np.floating],
    *,
    start: tuple[float, tuple[float, float, float]] = (1.0, (0.0, 0.0, 0.0)),
) -> tuple[float, tuple[float, float, float]]:
    """Scale and a bias a class by weighted likelihood with a Gaussian prior about "as it is": Newton's method, convex.

    DOWN and UP have biases of their own here: how often each comes is taken from a market's recent past, and only for as long as
    that past counts.

    Args:
        logits: (n, 3). truth: (n,) labels 0..2. weights: (n,) of each row, in independent outcomes. start: where to begin.

    Returns:
        Scale and biases (DOWN, 0, UP): probabilities are softmax(scale logits + biases).
    """
    z = np.asarray(logits, dtype=np.float64)
    directions = np.zeros((3, *z.shape))  # d logits / d (scale, DOWN's bias, UP's bias)
    directions[0], directions[1, :, 0], directions[2, :, 2] = z, 1.0, 1.0
    begin = np.array([start[0], start[1][0], start[1][2]])
    x = fit_softmax(directions, truth, np.asarray(weights, dtype=np.float64), begin, prior=PRIOR)
    return float(x[0]), (float(x[1]), 0.0, float(x[2]))


def _fit_calibration(logits: NDArray[np.float64], truth: NDArray[np.int64]) -> tuple[float, float]:
    """Temperature and bias by the mean log likelihood, convex in (1/temperature, bias)."""
    directions = np.stack([logits, np.broadcast_to(MOVING, logits.shape)])  # d logits / d (scale, bias)
    even = np.full(len(truth), 1 / max(len(truth), 1))
    scale, bias = fit_softmax(directions, truth, even, np.array([1.0, 0.0]), prior=1e-9 * np.eye(2))
    return 1.0 / float(scale), float(bias)
