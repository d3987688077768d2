"""The naive rules as forecasters with probabilities, so that they too get a fitted call rule (D25)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.calibration import softmax
from core.market.forecasters.protocol import ForecastTask
from core.market.labels import smoothing_steps


class MomentumForecaster:
    """Softmax of (-m/alpha - 1, 0, m/alpha - 1), m the mid now against the mean of its last w = min(10, h).

    Its likeliest class is what `core.market.labels.momentum` calls.
    """

    def __init__(self, task: ForecastTask) -> None:
        self.task = task

    def predict(self, windows: FloatArray) -> NDArray[np.float64]:
        mid = (windows[..., 0] + windows[..., 2]) / 2
        logits = np.zeros((len(windows), len(self.task.heads), 3))
        for index, ((_, horizon), alpha) in enumerate(zip(self.task.heads, self.task.alphas, strict=True)):
            drift = mid[:, -1] / mid[:, -smoothing_steps(horizon) :].mean(axis=1) - 1
            distance = np.clip(drift / max(alpha, 1e-12), -50, 50)
            logits[:, index, 0], logits[:, index, 2] = -distance - 1, distance - 1
        return softmax(logits)


class StationaryForecaster:
    """The same probabilities for every window, STATIONARY the likeliest; fitting its bias makes base rates of them."""

    def __init__(self, task: ForecastTask) -> None:
        self.heads = len(task.heads)

    def predict(self, windows: FloatArray) -> NDArray[np.float64]:
        return np.tile([0.25, 0.5, 0.25], (len(windows), self.heads, 1))
