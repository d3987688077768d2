"""A forecaster that is a checkpoint: a DeepLOB, or another TLOB."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core import checkpoints
from core.market.book import FloatArray
from core.market.forecasters.protocol import ForecasterError, ForecastTask, head_name
from core.market.predictor import Predictor, load_predictor
from core.messages import compose


class CheckpointForecaster:
    """Calibrated probabilities of a checkpoint, by the entry of its card for the market.

    Args:
        name: of the checkpoint.

    Raises:
        ForecasterError: where it is not there, is damaged, or reads windows of another length.
    """

    def __init__(self, name: str, task: ForecastTask, *, folder: Path = checkpoints.FOLDER) -> None:
        if not (folder / f"{name}.json").is_file():
            raise ForecasterError(compose("there is no checkpoint {name!r}: train one (see the README)", name=name))
        try:
            self.predictor: Predictor = load_predictor(name, folder=folder)
        except checkpoints.CheckpointError as error:
            raise ForecasterError(str(error)) from error
        if self.predictor.window > task.window:
            raise ForecasterError(
                compose(
                    "the checkpoint {name!r} reads {found} rows, and the windows have {window}",
                    name=name,
                    found=self.predictor.window,
                    window=task.window,
                )
            )
        self.entry = self.predictor.market(task.market)

    def predict(self, windows: FloatArray) -> dict[str, NDArray[np.float32]]:
        """(n, 3) by the name of each head that the checkpoint has."""
        found = self._answer(windows[:, -self.predictor.window :])
        return {head_name(head): found[:, index] for index, head in enumerate(self.predictor.heads)}

    def _answer(self, windows: FloatArray) -> NDArray[np.float32]:
        """Live, one window at a time, the calls and the momentum rule would be computed for nobody."""
        if len(windows) == 1:
            return self.predictor.probabilities(windows, self.entry)
        return self.predictor.predict(windows, self.entry).probabilities
