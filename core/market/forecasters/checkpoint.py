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
