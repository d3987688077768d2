"""Gradient-boosted trees (LightGBM, an optional package) on hand-made features of one window."""

from __future__ import annotations

import json
import lzma
import threading
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, FloatArray
from core.market.forecasters.protocol import ForecasterError, ForecastTask, head_name
from core.market.labels import Head
from core.messages import compose

FOLDER: Final = Path(__file__).resolve().parents[3] / "assets" / "forecasters"
LAGS: Final = (1, 2, 4, 8, 16, 32, 64, 127)
"""Rows back that changes of the mid and of the pressure reach."""
POOLED: Final = "pooled"
"""The model of a market that has none of its own."""


def window_features(windows: FloatArray, alpha: float) -> NDArray[np.float32]:
    """Features (n, 66) of raw windows (n, 128, 40).

    Distances of prices from the mid, log sizes less their median, log ratios of the sides, and over eight lags the changes of log
    mid and of summed pressure. Distances and changes of prices are in units of the threshold `alpha`, a fraction of the price.
    """
    mid = (windows[..., 0] + windows[..., 2]) / 2
    last, unit = windows[:, -1], max(alpha, 1e-9)
    near = [(last[:, prices] / mid[:, -1:] - 1) / unit for prices in (ASK_PRICES, BID_PRICES)]
    ask, bid = (np.log(last[:, sizes]) for sizes in (ASK_SIZES, BID_SIZES))
    middle = np.median(np.concatenate([ask, bid], axis=1), axis=1, keepdims=True)
    log_mid = np.log(mid)
    pressure = np.cumsum(np.log(windows[..., 1]) - np.log(windows[..., 3]), axis=1)
    past = [(log_mid[:, -1] - log_mid[:, -1 - lag]) / unit for lag in LAGS]
    past += [(pressure[:, -1] - pressure[:, -1 - lag]) / lag for lag in LAGS]
    return np.concatenate([*near, ask - middle, bid - middle, ask - bid, np.stack(past, axis=1)], axis=1).astype(np.float32)


class TreeForecaster:
    """The shipped trees of the market that the task names, else the pooled ones.

    Raises:
        ForecasterError: without the package LightGBM, or for windows shorter than 128 rows.
    """

    def __init__(self, task: ForecastTask, *, folder: Path = FOLDER) -> None:
        if task.window <= LAGS[-1]:
            raise ForecasterError(
                "the trees read {right} rows, and the windows have {window}", right=LAGS[-1] + 1, window=task.window
            )
        plain = "".join(character for character in task.market.lower() if character.isalnum())
        files = sorted(folder.glob("trees_*.json.xz"))
        named = {path.name.removeprefix("trees_").removesuffix(".json.xz"): path for path in files}
        own = [name for name in named if name != POOLED and all(word in plain for word in name.split("_"))]
        if not named:
            raise ForecasterError(compose("there are no shipped trees: python -m scripts.ship_trees makes them"))
        self.alpha = task.alphas[0]
        self.market = own[0] if own else POOLED
        self.boosters = _boosters(named[self.market])

    def predict(self, windows: FloatArray) -> dict[str, NDArray[np.float64]]:
        """(n, 3) by the name of a head."""
        return self.boosters(window_features(windows, self.alpha))


class Boosters:
    """LightGBM's boosters by the name of a head, which keep their latest answer: two forecasters ask them for the same window."""

    def __init__(self, heads: dict[str, Any]) -> None:
        self.heads = heads
        self._lock = threading.Lock()
        self._latest: tuple[bytes, dict[str, NDArray[np.float64]]] = (b"", {})

    def __call__(self, x: NDArray[np.float32]) -> dict[str, NDArray[np.float64]]:
        """Features (n, 66) -> probabilities (n, 3) by the name of a head."""
        key = x.tobytes()
        with self._lock:
            if key != self._latest[0]:
                answers = {head: np.asarray(one.predict(x, num_threads=1)).reshape(len(x), 3) for head, one in self.heads.items()}
                self._latest = key, answers
            return dict(self._latest[1])


@cache
def _boosters(path: Path) -> Boosters:
    try:
        import lightgbm
    except ImportError as error:
        raise ForecasterError(compose("LightGBM is not installed: pip install lightgbm installs it")) from error
    content = json.loads(lzma.decompress(path.read_bytes()))
    return Boosters({head: lightgbm.Booster(model_str=text) for head, text in content["heads"].items()})


def write_trees(models: dict[Head, str], card: dict[str, Any], market: str, *, folder: Path = FOLDER) -> Path:
    """Write the models (LightGBM's text by head) and where they come from; returns the file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"trees_{market}.json.xz"
    content = {**card, "heads": {head_name(head): text for head, text in models.items()}}
    path.write_bytes(lzma.compress(json.dumps(content).encode(), preset=9))
    return path
