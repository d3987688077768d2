"""Scores two TLOBs and the mean of their answers on validation: `python -m scripts.average_checkpoints A B --data FILE...`.

One market's files per `--data`. Probabilities are averaged in log space with equal weights. Call rules of each are fitted on the
first half of the validation windows and scored on the second; the test part is not read. Prints log-loss and the label's score.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from core.device import use_one_thread
from core.market.book import read_market
from core.market.forecasters.running_weights import log_average
from core.market.predictor import load_predictor, windows_of
from core.training.tlob import prepare_market
from core.training.tlob_run import MarketFiles
from scripts.tree_studies import score, spaced

BATCH = 512


def main() -> None:
    """Print a line per market and head."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("checkpoints", nargs=2, help="names of two checkpoints with the same heads")
    parser.add_argument("--data", nargs="+", action="append", required=True, type=Path, help="one market's files; repeat it")
    parser.add_argument("--rows", type=int, default=3_000, help="validation windows of a market, at most, evenly spaced")
    o = parser.parse_args()
    use_one_thread()
    predictors = [load_predictor(name) for name in o.checkpoints]
    heads = predictors[0].heads
    for files in (MarketFiles(paths=tuple(paths)) for paths in o.data):
        market = prepare_market(files.name, read_market(list(files.paths)), heads, predictors[0].window)
        ends = spaced(market.ends["validation"], o.rows)
        answers = []
        for predictor in predictors:
            entry = predictor.market(files.name)
            batches = (
                windows_of(market.rows.levels, ends[at : at + BATCH], predictor.window) for at in range(0, len(ends), BATCH)
            )
            answers.append(np.concatenate([predictor.predict(one, entry, batch=64).probabilities for one in batches]))
        three = dict(zip((*o.checkpoints, "mean"), (*answers, log_average(answers[0], answers[1], 0.5)), strict=True))
        for i, head in enumerate(heads):
            found = {name: score(p[:, i], market.labels[ends, i], head) for name, p in three.items()}
            line = "; ".join(f"{name} {one[0]:.4f} {one[1]:.4f}" for name, one in found.items())
            print(f"{files.name} {head[0]} {head[1]}: {line}", flush=True)


if __name__ == "__main__":
    main()
