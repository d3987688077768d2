"""Recalibration of a market's probabilities from its own past, as outcomes become known.

Every fifty seconds each head's temperature and class biases are fitted anew to the outcomes known by then, the newest weighing
most. The fit is trusted as far as it has given its outcomes more probability than the prediction as written did: a market that
the card fits well is left alone. What was predicted, and the calls, stay as they are: all of this is derived from them.
An outcome at row t is known at row t + h, and used from that row on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.market.calibration import fit_class_biases
from core.market.conformal import AdaptiveSets
from core.market.labels import classify, fit_alpha

REFIT_STEPS: Final = 200
"""Predictions between two fits: 50 s."""
HALF_LIFE: Final = 3_600
"""Outcomes after which an outcome's weight has halved: a quarter hour."""
KEPT: Final = 4 * HALF_LIFE
"""Outcomes that a fit reads: an hour."""
STRIDE: Final = 4
"""A fit reads every fourth outcome: neighbours tell nearly the same."""
FEWEST: Final = 200
"""Outcomes before the first fit."""
THRESHOLD_OUTCOMES: Final = 3_600
"""Outcomes that the label thresholds of an unknown market are fitted to: its first quarter hour."""
SCORED_AFTER: Final = 1_000
"""Outcomes that are left out of the scores of recalibrated probabilities: those the calibration begins with."""


@dataclass(frozen=True, slots=True)
class Recalibrated:
    """One head's prediction and what the past makes of it.

    Attributes:
        written: the three probabilities as predicted. fitted: by the newest fit. adapted: between the two, by how far the fit is
            trusted. limit: of the conformal set.
    """

    written: tuple[float, float, float]
    fitted: tuple[float, float, float]
    adapted: tuple[float, float, float]
    limit: float


class AdaptiveHead:
    """Recalibration and conformal sets of one head of one market. Not safe to call from two threads at once.

    Args:
        horizon: steps. alpha: the card's label threshold.
        own_threshold: replace the threshold, once the first quarter hour of outcomes is known, by one fitted to them (D8).
        first_fit: predictions until the first fit, so that the heads of a market take turns.

    Attributes:
        alpha: the label threshold in use. settled: whether it stays.
        scale, biases: the fitted probabilities are softmax(scale log p + biases).
    """

    def __init__(self, horizon: int, alpha: float, *, own_threshold: bool = False, first_fit: int = REFIT_STEPS) -> None:
        self.horizon = horizon
        self.alpha, self.settled = alpha, not own_threshold
        self.scale, self.biases = 1.0, (0.0, 0.0, 0.0)
        self.sets = AdaptiveSets()
        self._logits = np.zeros((KEPT // STRIDE, 3))
        self._moves = np.zeros(KEPT // STRIDE)
        self._first: list[float] = []  # moves of the first quarter hour
        self._count = 0
        self._evidence = 0.0  # log-likelihood of the fits less that as written, over the past, discounted
        self._independent = min(1.0, 2 / horizon)  # outcomes overlap: those of half a horizon count as one
        self._until_fit = first_fit

    def predict(self, probabilities: Sequence[float]) -> Recalibrated:
        """A prediction with what is known now; every `REFIT_STEPS` predictions the calibration is fitted first."""
        self._until_fit -= 1
        if self._until_fit <= 0:
            self._until_fit = REFIT_STEPS
            self._fit()
        down, stationary, up = probabilities
        written = (float(down), float(stationary), float(up))
        return Recalibrated(written, self._recalibrate(written, 1.0), self._recalibrate(written, self.trust), self.sets.limit)

    @property
    def trust(self) -> float:
        """0 to 1: the posterior probability that the fits are right rather than the predictions as written, from even odds."""
        return 1 / (1 + math.exp(min(max(-self._evidence, -50.0), 50.0)))

    def _recalibrate(self, p: tuple[float, float, float], trust: float) -> tuple[float, float, float]:
        """softmax(scale log p + biases), scale and biases being drawn towards 1 and 0 where trust is less than 1."""
        scale = 1 + trust * (self.scale - 1)
        a, b, c = (scale * _log(value) + trust * bias for value, bias in zip(p, self.biases, strict=True))
        top = max(a, b, c)
        down, stationary, up = math.exp(a - top), math.exp(b - top), math.exp(c - top)
        total = down + stationary + up
        return down / total, stationary / total, up / total

    def resolve(self, prediction: Recalibrated, move: float) -> int:
        """Resolves a prediction from the label's move, a fraction of the price: the class by the threshold in use."""
        if self._count % STRIDE == 0:
            place = self._count // STRIDE % len(self._moves)
            self._logits[place] = [_log(p) for p in prediction.written]
            self._moves[place] = move
        self._count += 1
        truth = 2 if move > self.alpha else 0 if move < -self.alpha else 1
        self.sets.resolve(prediction.adapted[truth], prediction.limit)
        gain = _log(prediction.fitted[truth]) - _log(prediction.written[truth])
        self._evidence = self._evidence * 0.5 ** (1 / HALF_LIFE) + gain * self._independent
        if not self.settled:
            self._first.append(move)
            if len(self._first) == THRESHOLD_OUTCOMES:
                self._settle()
        return truth

    def _settle(self) -> None:
        """Go over to the market's own threshold: what was fitted and counted by the other one does not hold any more."""
        self.alpha, self.settled = max(fit_alpha([np.array(self._first)]), 1e-9), True
        self._first, self.sets, self._evidence = [], AdaptiveSets(), 0.0
        self._fit()

    def _fit(self) -> None:
        if self._count < FEWEST:
            return
        used = -(-self._count // STRIDE)
        newest = (used - 1) % len(self._moves)
        filled = min(used, len(self._moves))
        age = (newest - np.arange(filled)) % len(self._moves) * STRIDE
        weights = 0.5 ** (age / HALF_LIFE) * STRIDE * self._independent
        truth = classify(self._moves[:filled], self.alpha)
        self.scale, self.biases = fit_class_biases(self._logits[:filled], truth, weights, start=(self.scale, self.biases))


def _log(p: float) -> float:
    return math.log(max(p, 1e-6))
