"""Measures what groups of inputs bring: `python -m scripts.input_groups --data FILE... [--events FILE]`, one market's files.

LightGBM (an optional extra) learns each label and horizon from every third training row: from the book as `scripts.tree_peers`
has it, then also from event flow at the best prices (`core.market.event_flow`), then also from traded size a side, where a file
of events tells it (LOBSTER's, with `msg_event_type`, `msg_size` and `msg_direction`). Log-loss and the label's score are measured
on the second half of validation, with the call rule fitted on the first half; the test part is not read.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import scores
from core.market.book import STEP_MS, BookRows, read_market
from core.market.calibration import fit_rule
from core.market.event_flow import best_price_flow
from core.market.labels import HORIZONS, LABEL_KINDS
from core.training.tlob import prepare_market, score_name
from scripts.momentum_ceiling import EVERY, features
from scripts.tree_peers import TREES

WINDOW = 128
SUMS = (1, 4, 16, 64)
"""Sizes are summed over this many steps."""
EXECUTED = (4, 5)
"""LOBSTER's event types for a visible and a hidden order that is executed."""


def recent_sums(sizes: NDArray[np.float64], unit: float) -> NDArray[np.float32]:
    """(n, kinds) -> (n, kinds x SUMS): logarithms of the sums of the last rows, in units of a usual size."""
    total = np.concatenate([np.zeros_like(sizes[:1]), np.cumsum(sizes, axis=0)])
    now = np.arange(len(sizes)) + 1
    return np.concatenate([np.log1p((total[now] - total[np.maximum(now - k, 0)]) / unit) for k in SUMS], axis=1).astype(
        np.float32
    )


def traded_sizes(rows: BookRows, path: Path) -> NDArray[np.float64]:
    """(n, 2) size bought and sold by takers within the step that ends at each row."""
    events = pd.read_parquet(path, columns=["timestamp", "msg_event_type", "msg_size", "msg_direction"])
    events = events[events.msg_event_type.isin(EXECUTED)]
    at = np.searchsorted(rows.timestamps, events.timestamp.to_numpy())
    known = (at < len(rows)) & (rows.timestamps[np.minimum(at, len(rows) - 1)] - events.timestamp < STEP_MS)
    sizes = np.zeros((len(rows), 2))
    # direction 1: a resting buy order was executed, so a taker sold
    np.add.at(sizes, (at[known], (events.msg_direction[known] == 1).astype(int)), events.msg_size[known].to_numpy())
    return sizes


def main() -> None:
    """Print a line per label and horizon."""
    from lightgbm import LGBMClassifier

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", required=True, type=Path, help="one market's files")
    parser.add_argument("--events", type=Path, help="its events")
    parser.add_argument("--horizon", nargs="+", type=int, default=list(HORIZONS))
    parser.add_argument("--label", nargs="+", choices=LABEL_KINDS, default=list(LABEL_KINDS))
    o = parser.parse_args()
    rows = read_market(o.data)
    heads = [(kind, horizon) for kind in o.label for horizon in o.horizon]
    market = prepare_market(o.data[0].stem, rows, heads, WINDOW)
    unit = float(np.median(rows.levels[:, 1::2]))
    groups = {"book": features(rows), "+ event flow": recent_sums(best_price_flow(rows.levels), unit)}
    if o.events is not None:
        groups["+ traded size"] = recent_sums(traded_sizes(rows, o.events), unit)
    train, validation = market.ends["train"][::EVERY], market.ends["validation"]
    half = len(validation) // 2
    for i, (kind, horizon) in enumerate(heads):
        found = []
        for count in range(1, len(groups) + 1):
            x = np.concatenate(list(groups.values())[:count], axis=1)
            trees = LGBMClassifier(**TREES).fit(x[train], market.labels[train, i])
            log_p = np.log(np.maximum(np.asarray(trees.predict_proba(x[validation])), 1e-12))
            truth = market.labels[validation, i]
            rule = fit_rule(log_p[:half], truth[:half], maximise=score_name(kind))
            p = rule.probabilities(log_p[half:])
            score = scores.summary(scores.confusion_matrix(truth[half:], rule.call(p)))[score_name(kind)]
            found.append(f"log-loss {scores.log_loss(p, truth[half:]):.4f}, {score_name(kind)} {score:.3f}")
        print(f"{kind} {horizon}: " + "; ".join(f"{name}: {one}" for name, one in zip(groups, found, strict=True)), flush=True)


if __name__ == "__main__":
    main()
