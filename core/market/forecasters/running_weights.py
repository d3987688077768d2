"""Weights of two forecasters in their average, learnt from outcomes as they become known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.market.calibration import softmax

GRID: Final = np.linspace(0, 1, 11)
"""Weights of the second forecaster that are followed."""
MEMORY: Final = 2_400
"""Outcomes after which one counts 1/e of a new one: ten minutes."""
NEAR: Final = 2.0
"""Fall of the log of a grid weight's first share per unit of its distance from the weight chosen on validation."""


def log_average(
    one: NDArray[np.floating], other: NDArray[np.floating], weight: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probabilities (..., 3) in proportion to one^(1 - weight) x other^weight; a weight for all, or some that broadcast."""
    first, second = (np.log(np.maximum(np.asarray(p, dtype=np.float64), 1e-9)) for p in (one, other))
    return softmax((1 - weight) * first + weight * second)


class RunningWeights:
    """The exponentially weighted average forecaster with discounted losses (Cesa-Bianchi and Lugosi 2006, sections 2.2 and 2.11).

    Each weight of `GRID` is followed as a forecaster of its own, whose losses are the log-losses of the average with that weight.
    Its share falls with the sum of its losses, older ones discounted; the weight in use is the grid's mean by these shares.
    Outcomes of one head overlap by its horizon, so that each counts as 1/horizon of an independent one.

    `MEMORY` and `NEAR` were chosen on the validation parts of three markets (docs/market_models.md).

    Args:
        start: (heads,) weights of the second forecaster that are favoured before any outcome. horizons: (heads,) steps.
        every: rows between two outcomes, where not every row is scored.
    """

    def __init__(self, start: Sequence[float], horizons: Sequence[int], *, every: int = 1) -> None:
        self._prior = -NEAR * np.abs(GRID - np.asarray(start, dtype=np.float64)[:, None])
        self._rate = np.minimum(1.0, every / np.asarray(horizons, dtype=np.float64))
        self._kept = 1 - every / MEMORY
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._losses = np.zeros_like(self._prior)
        self._weights = softmax(self._prior) @ GRID

    @property
    def weights(self) -> NDArray[np.float64]:
        """(heads,) weights of the second forecaster, by the outcomes so far."""
        return self._weights

    def learn(self, head: int, one: NDArray[np.floating], other: NDArray[np.floating], truth: NDArray[np.integer]) -> None:
        """Take in outcomes of one head that have become known.

        Args:
            one, other: (n, 3) what both forecasters had answered, oldest first. truth: (n,) the classes that came.
        """
        p = log_average(one[:, None], other[:, None], GRID[:, None])  # (n, grid, 3)
        losses = -np.log(p[np.arange(len(truth)), :, truth])
        discounts = self._kept ** np.arange(len(truth) - 1, -1, -1)
        self._losses[head] = self._losses[head] * self._kept ** len(truth) + discounts @ losses
        self._weights[head] = softmax(self._prior[head] - self._rate[head] * self._losses[head]) @ GRID
