"""A checkpoint as a forecaster, and TLOB and trees together: averaged in log space, with weights that follow the outcomes."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core import checkpoints
from core.market.book import FloatArray
from core.market.calibration import softmax
from core.market.forecasters.protocol import ForecasterError, ForecastTask, head_name
from core.market.forecasters.trees import FOLDER, TreeForecaster
from core.market.predictor import DEFAULT, Predictor, load_predictor


class CheckpointForecaster:
    """Calibrated probabilities of a checkpoint, by the entry of its card for the market.

    Args:
        name: of the checkpoint.

    Raises:
        ForecasterError: where it is not there, is damaged, or reads windows of another length.
    """

    def __init__(self, name: str, task: ForecastTask, *, folder: Path = checkpoints.FOLDER) -> None:
        if not (folder / f"{name}.json").is_file():
            raise ForecasterError("there is no checkpoint {name!r}: train one (see the README)", name=name)
        try:
            self.predictor: Predictor = load_predictor(name, folder=folder)
        except checkpoints.CheckpointError as error:
            raise ForecasterError(str(error)) from error
        if self.predictor.window > task.window:
            raise ForecasterError(
                "the checkpoint {name!r} reads {found} rows, and the windows have {window}",
                name=name,
                found=self.predictor.window,
                window=task.window,
            )
        self.entry = self.predictor.market(task.market)
        self.same_heads = self.predictor.heads == task.heads

    def predict(self, windows: FloatArray) -> NDArray[np.float32] | dict[str, NDArray[np.float32]]:
        """(n, heads, 3) where the task's heads are the checkpoint's, else (n, 3) by the name of each that the checkpoint has."""
        p = self.probabilities(windows)
        return p if self.same_heads else self.by_head(p)

    def by_head(self, p: NDArray[np.floating]) -> dict[str, NDArray[np.floating]]:
        """(n, heads, 3) -> (n, 3) by the name of each head of the checkpoint."""
        return {head_name(head): p[:, index] for index, head in enumerate(self.predictor.heads)}

    def probabilities(self, windows: FloatArray) -> NDArray[np.float32]:
        """(n, heads, 3), the checkpoint's heads. Live, one window at a time, calls and momentum would be computed for nobody."""
        windows = windows[:, -self.predictor.window :]
        if len(windows) == 1:
            return self.predictor.probabilities(windows, self.entry)
        return self.predictor.predict(windows, self.entry).probabilities


WEIGHTS = "blend.json"
"""The file with the trees' weights by market and head, which `python -m scripts.blend_weights` writes."""
GRID: Final = np.linspace(0, 1, 11)
"""Weights of the second forecaster that are followed."""
MEMORY: Final = 2_400
"""Outcomes after which one counts 1/e of a new one: ten minutes."""
NEAR: Final = 2.0
"""Fall of the log of a grid weight's first share per unit of its distance from the weight chosen on validation."""
AWAITED = 4_096
"""Rows whose outcomes may still be awaited; more than a batch over a recording asks at once."""


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


class BlendForecaster:
    """The average of TLOB and trees, with weights that follow the outcomes it is told of.

    They begin near those chosen on validation of the market that the task names, else near the pooled ones. Trees that lose on a
    day calmer than those they learnt from come to count less.

    Raises:
        ForecasterError: where the trees or TLOB cannot be used, or the weights are not there.
    """

    def __init__(self, task: ForecastTask, *, folder: Path = FOLDER) -> None:
        self.tlob, self.trees = CheckpointForecaster(DEFAULT, task), TreeForecaster(task, folder=folder)
        self.same = task.weights == self.tlob.predictor.card.get("weights_sha256")  # TLOB is the one that is averaged
        try:
            content = json.loads((folder / WEIGHTS).read_text(encoding="utf-8"))
            start: dict[str, float] = content["markets"][self.trees.market]["weights"]
            offered = [(index, head) for index, head in enumerate(task.heads) if head_name(head) in start]
        except (OSError, ValueError, KeyError) as error:
            raise ForecasterError(
                "there are no weights of the blend for {market}: {file} holds them", market=self.trees.market, file=WEIGHTS
            ) from error
        self.names = [head_name(head) for _, head in offered]
        self.weights = RunningWeights([start[name] for name in self.names], [horizon for _, (_, horizon) in offered])
        self._own = {index: own for own, (index, _) in enumerate(offered)}  # the task's heads -> those of the weights
        self._awaited: OrderedDict[int, NDArray[np.float64]] = OrderedDict()  # timestamp -> both answers (2, heads, 3)

    def predict(self, windows: FloatArray) -> dict[str, NDArray[np.float64]]:
        """(n, 3) by the name of a head, by the weights of now."""
        return self._average(self._both(windows, None))

    def predict_at(self, timestamps: NDArray[np.int64], windows: FloatArray) -> dict[str, NDArray[np.float64]]:
        """As `predict`; both answers are kept until `learn` tells what came."""
        return self._average(self._await(timestamps, self._both(windows, None)))

    def predict_beside(
        self, timestamps: NDArray[np.int64], windows: FloatArray, tlob: NDArray[np.floating]
    ) -> dict[str, NDArray[np.float64]]:
        """As `predict_at`, without a second pass of TLOB where it is the shipped one that has answered: `tlob` (n, heads, 3)."""
        return self._average(self._await(timestamps, self._both(windows, tlob if self.same else None)))

    def learn(self, head: int, timestamps: NDArray[np.int64], truth: NDArray[np.int64]) -> None:
        """Outcomes of one head, in time order, of rows that were asked about; others are passed over."""
        own = self._own.get(head)
        asked = [(self._awaited[row], came) for row, came in zip(timestamps.tolist(), truth, strict=True) if row in self._awaited]
        if asked and own is not None:
            both = np.stack([answers for answers, _ in asked])[:, :, own]  # (n, 2, 3)
            self.weights.learn(own, both[:, 0], both[:, 1], np.array([came for _, came in asked]))

    def forget(self) -> None:
        """Begin anew, as for a recording that is played again."""
        self.weights.forget()
        self._awaited.clear()

    def _both(self, windows: FloatArray, tlob: NDArray[np.floating] | None) -> NDArray[np.float64]:
        """TLOB's and the trees' probabilities, (2, n, heads, 3)."""
        trees = self.trees.predict(windows)
        if tlob is None:
            mine = self.tlob.by_head(self.tlob.probabilities(windows))
            tlob = np.stack([mine[name] for name in self.names], axis=1)
        return np.stack([tlob, np.stack([trees[name] for name in self.names], axis=1)]).astype(np.float64)

    def _await(self, timestamps: NDArray[np.int64], both: NDArray[np.float64]) -> NDArray[np.float64]:
        for index, row in enumerate(timestamps.tolist()):
            self._awaited[row] = both[:, index]
        while len(self._awaited) > AWAITED:
            self._awaited.popitem(last=False)
        return both

    def _average(self, both: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        average = log_average(both[0], both[1], self.weights.weights[:, None])
        return {name: average[:, own] for own, name in enumerate(self.names)}
