"""Makes soft targets for `train tlob --teacher`: `python -m scripts.tree_targets --data FILE... [--data FILE...] --to FILE.npz`.

LightGBM (an optional extra) learns each label and horizon from the book, event flow at the best prices and the drift of the mid.
A market's training part is cut into contiguous parts of time, and each is predicted by trees that learnt from the others, so no
target comes from a model that saw its outcome. Validation and test parts are not read.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.market.book import read_market
from core.market.event_flow import best_price_flow
from core.market.labels import HORIZONS, LABEL_KINDS, Head, trailing_mean
from core.training.tlob import MarketData, prepare_market
from core.training.tlob_run import MarketFiles
from core.training.tlob_teacher import time_folds, write_targets
from scripts.input_groups import WINDOW, recent_sums
from scripts.momentum_ceiling import features

TREES: dict[str, Any] = {
    "objective": "multiclass",
    "num_class": 3,
    "num_leaves": 15,
    "min_data_in_leaf": 100,
    "learning_rate": 0.1,
    "feature_fraction": 0.6,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "verbose": -1,
    "num_threads": 1,
}


def tree_inputs(market: MarketData) -> NDArray[np.float32]:
    """(n, features): the book, event flow of the last rows, and the mid against its own trailing means, basis points."""
    rows = market.rows
    unit = float(np.median(rows.levels[:, 1::2]))
    drift = [(rows.mid / trailing_mean(rows.mid, steps) - 1) * 1e4 for steps in (10, 50)]
    return np.concatenate(
        [features(rows), recent_sums(best_price_flow(rows.levels), unit), np.stack(drift, axis=1).astype(np.float32)], axis=1
    )


def market_targets(market: MarketData, *, folds: int, most: int, rounds: int, seed: int) -> NDArray[np.float32]:
    """(training windows, heads, 3) out-of-fold probabilities."""
    import lightgbm

    x, ends = tree_inputs(market), market.ends["train"]
    heads: list[Head] = list(market.heads)
    found = np.empty((len(ends), len(heads), 3), dtype=np.float32)
    gap = WINDOW + max(horizon for _, horizon in heads)
    at = 0
    for learnt, predicted in time_folds(ends, folds, gap):
        learnt = learnt[:: -(-len(learnt) // most)]
        shared, later = x[learnt], x[predicted]
        for i in range(len(heads)):
            data = lightgbm.Dataset(shared, market.labels[learnt, i], params={"verbose": -1, "num_threads": 1})
            booster = lightgbm.train(TREES | {"seed": seed}, data, rounds)
            found[at : at + len(predicted), i] = booster.predict(later, num_threads=1)
        at += len(predicted)
        print(f"{market.name}: {at:,} of {len(ends):,} windows", flush=True)
    return found


def main() -> None:
    """Train, predict and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", action="append", required=True, type=Path, help="one market's files; repeat it")
    parser.add_argument("--to", required=True, type=Path, help="the .npz file to write")
    parser.add_argument("--folds", type=int, default=4, help="parts of time")
    parser.add_argument("--most", type=int, default=30_000, help="windows that the trees of a part learn from, evenly spaced")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    o = parser.parse_args()
    heads: list[Head] = [(kind, horizon) for kind in LABEL_KINDS for horizon in HORIZONS]
    targets = {}
    for files in (MarketFiles(paths=tuple(paths)) for paths in o.data):
        market = prepare_market(files.name, read_market(list(files.paths)), heads, WINDOW)
        targets[files.name] = market_targets(market, folds=o.folds, most=o.most, rounds=o.rounds, seed=o.seed)
    write_targets(o.to, targets)


if __name__ == "__main__":
    main()
