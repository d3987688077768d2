"""Trains the trees that ship as a forecaster: `python -m scripts.ship_trees --data FILE... [--data FILE...]`.

One market's files per `--data`. LightGBM (`pip install lightgbm`) learns from the training part of each
market (D10), for every label and horizon of a checkpoint, with the label thresholds of its card; a further model learns from all
markets, for those that have none. Writes `assets/forecasters/trees_<market>.json.xz`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import checkpoints
from core.cli import told
from core.market.forecasters.trees import POOLED, window_features, write_trees
from core.market.labels import Head
from core.market.predictor import DEFAULT, windows_of
from core.market.store.rows import read_market
from core.training.tlob import MarketFiles, prepare_market

TREES: dict[str, Any] = {
    "objective": "multiclass",
    "num_class": 3,
    "num_leaves": 15,
    "min_data_in_leaf": 200,
    "learning_rate": 0.1,
    "feature_fraction": 0.7,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "verbose": -1,
    "num_threads": 1,
    "seed": 0,
}
ROUNDS = 50
MOST = 60_000
"""Training windows of one market, evenly spaced."""


def main() -> None:
    """Train and write one file per market, and the pooled one."""
    import lightgbm

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", action="append", required=True, type=Path, help="one market's files; repeat it")
    parser.add_argument("--checkpoint", default=DEFAULT)
    options = parser.parse_args()
    card = checkpoints.read_card(options.checkpoint)
    heads: list[Head] = [(kind, int(horizon)) for kind, horizon in card["heads"]]
    x: dict[str, NDArray[np.float32]] = {}
    y: dict[str, NDArray[np.int64]] = {}
    origin: dict[str, list[dict[str, str]]] = {}
    for files in (MarketFiles(paths=tuple(paths)) for paths in options.data):
        rows = read_market(list(files.paths))
        market = prepare_market(files.name, rows, heads, card["config"]["steps"])
        ends = market.ends["train"][:: -(-len(market.ends["train"]) // MOST)]
        name = "_".join(files.known_by)
        parts = [windows_of(rows.levels, ends[at : at + 2_000], market.window) for at in range(0, len(ends), 2_000)]
        x[name] = np.concatenate([window_features(part, market.alphas[0]) for part in parts])
        y[name] = market.labels[ends]
        origin[name] = [{"file": path.name, "sha256": checkpoints.sha256(path)} for path in files.paths]
    x[POOLED], y[POOLED] = np.concatenate(list(x.values())), np.concatenate(list(y.values()))
    origin[POOLED] = [one for data in list(origin.values()) for one in data]
    words = [Path(word).name if Path(word).exists() else word for word in sys.argv[1:]]
    for name, features in x.items():
        models = {
            head: lightgbm.train(TREES, lightgbm.Dataset(features, y[name][:, i]), ROUNDS).model_to_string()
            for i, head in enumerate(heads)
        }
        about = {
            "settings": {**TREES, "rounds": ROUNDS},
            "data": origin[name],
            "windows": len(features),
            "command": f"python -m scripts.ship_trees {' '.join(words)}",
            "versions": checkpoints.versions("lightgbm", "numpy"),
        }
        path = write_trees(models, about, name)
        print(f"{name}: {len(features):,} windows, {path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    raise SystemExit(told(main, "python -m scripts.ship_trees"))
