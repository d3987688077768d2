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
        self.steps = [smoothing_steps(horizon) for _, horizon in task.heads]
        self.alphas = np.maximum(np.array(task.alphas), 1e-12)

    def predict(self, windows: FloatArray) -> NDArray[np.float64]:
        recent = windows[:, -max(self.steps, default=1) :]
        mid = (recent[..., 0] + recent[..., 2]) / 2
        moves = {w: mid[:, -1] / mid[:, -w:].mean(axis=1) - 1 for w in set(self.steps)}  # most heads share one average
        distance = np.clip(np.stack([moves[w] for w in self.steps], axis=1) / self.alphas, -50, 50)  # (n, heads)
        return softmax(np.stack([-distance - 1, np.zeros_like(distance), distance - 1], axis=-1))


class StationaryForecaster:
    """The same probabilities for every window, STATIONARY the likeliest; fitting its bias makes base rates of them."""

    def __init__(self, task: ForecastTask) -> None:
        self.heads = len(task.heads)

    def predict(self, windows: FloatArray) -> NDArray[np.float64]:
        return np.tile([0.25, 0.5, 0.25], (len(windows), self.heads, 1))
