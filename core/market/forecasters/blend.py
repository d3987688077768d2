"""TLOB and trees together: their probabilities averaged in log space, with a weight for each market and head."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.calibration import softmax
from core.market.forecasters.checkpoint import CheckpointForecaster
from core.market.forecasters.protocol import ForecasterError, ForecastTask, head_name
from core.market.forecasters.trees import FOLDER, TreeForecaster
from core.market.predictor import DEFAULT
from core.messages import compose

WEIGHTS = "blend.json"
"""The file with the trees' weights by market and head, which `python -m scripts.blend_weights` writes."""


def log_average(
    tlob: NDArray[np.floating], trees: NDArray[np.floating], weight: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probabilities (..., 3) in proportion to tlob^(1 - weight) x trees^weight; a weight for all, or some that broadcast."""
    one, other = (np.log(np.maximum(np.asarray(p, dtype=np.float64), 1e-9)) for p in (tlob, trees))
    return softmax((1 - weight) * one + weight * other)


class BlendForecaster:
    """The average, with the weights chosen on validation of the market that the task names, else the pooled ones.

    Raises:
        ForecasterError: where the trees or TLOB cannot be used, or the weights are not there.
    """

    def __init__(self, task: ForecastTask, *, folder: Path = FOLDER) -> None:
        self.tlob, self.trees = CheckpointForecaster(DEFAULT, task), TreeForecaster(task, folder=folder)
        self.heads = task.heads
        self.same = task.weights == self.tlob.predictor.card.get("weights_sha256")  # TLOB is the one that is averaged
        try:
            content = json.loads((folder / WEIGHTS).read_text(encoding="utf-8"))
            self.weights: dict[str, float] = content["markets"][self.trees.market]["weights"]
        except (OSError, ValueError, KeyError) as error:
            raise ForecasterError(
                compose(
                    "there are no weights of the blend for {market}: {file} holds them", market=self.trees.market, file=WEIGHTS
                )
            ) from error

    def predict(self, windows: FloatArray) -> dict[str, NDArray[np.float64]]:
        """(n, 3) by the name of a head."""
        return self._average(self.tlob.by_head(self.tlob.probabilities(windows)), windows)

    def predict_beside(self, windows: FloatArray, tlob: NDArray[np.floating]) -> dict[str, NDArray[np.float64]]:
        """As `predict`, without a second pass of TLOB where it is the shipped one that has answered: (n, heads, 3)."""
        if not self.same:
            return self.predict(windows)
        return self._average({head_name(head): tlob[:, index] for index, head in enumerate(self.heads)}, windows)

    def _average(self, tlob: Mapping[str, NDArray[np.floating]], windows: FloatArray) -> dict[str, NDArray[np.float64]]:
        trees = self.trees.predict(windows)
        one, other = (np.stack([found[head] for head in self.weights]) for found in (tlob, trees))  # (heads, n, 3)
        weights = np.array(list(self.weights.values()))[:, None, None]
        return dict(zip(self.weights, log_average(one, other, weights), strict=True))
