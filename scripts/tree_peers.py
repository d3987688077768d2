"""Scores gradient-boosted trees beside a TLOB: `python -m scripts.tree_peers --data FILE... [--data FILE...] [--write]`.

LightGBM (the extra `peers`) learns from hand-made features of the book for each market, label and horizon
of a checkpoint, on the checkpoint's own splits and label thresholds. Three models learn from every third training row each, and
their probabilities are averaged, since one model depends much on which third it saw; `--shipped` takes the trees that the app
runs (`scripts.ship_trees`) instead. The call rule is fitted and chosen on the validation rows that TLOB's rules are fitted on, by
the same function (D25). The rows of the test part are those that the card's TLOB is scored at. `--write` puts the scores into the
checkpoint's card, under `metrics.peers.lightgbm`.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import checkpoints, scores
from core.cli import told
from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, BookRows, read_market
from core.market.calibration import fit_rule
from core.market.forecasters.protocol import ForecastTask, head_name
from core.market.forecasters.trees import TreeForecaster
from core.market.labels import UNKNOWN
from core.market.predictor import DEFAULT, windows_of
from core.market.windows import window_ends
from core.training.tlob import RULE_STRIDE, MarketData, MarketFiles, prepare_market, rule_entry, score_name

TREES: dict[str, Any] = {"n_estimators": 120, "num_leaves": 31, "verbose": -1, "n_jobs": 1, "random_state": 0}
BATCH = 512
LAGS = (1, 2, 4, 8, 16, 32, 64, 128)
EVERY = 3
"""Trees learn from every so many-th training row."""


Answers = Callable[[int, NDArray[np.int64]], NDArray[np.float64]]
"""Head and rows -> probabilities (rows, 3)."""


def features(rows: BookRows) -> NDArray[np.float32]:
    """(n, features): distances of prices from the mid, log sizes, and changes of mid and pressure over eight lags."""
    mid, levels = rows.mid, rows.levels
    ask, bid = (np.log(levels[:, sizes] + 1e-9) for sizes in (ASK_SIZES, BID_SIZES))
    near = [(levels[:, prices] / mid[:, None] - 1) * 1e4 for prices in (ASK_PRICES, BID_PRICES)]
    log_mid, pressure = np.log(mid), np.cumsum(ask[:, 0] - bid[:, 0])
    past = []
    for lag in LAGS:
        for series, scale in ((log_mid, 1e4), (pressure, 1 / lag)):
            change = np.zeros_like(series)
            change[lag:] = (series[lag:] - series[:-lag]) * scale
            past.append(change)
    blocks = [*near, ask - np.median(ask), bid - np.median(bid), ask - bid, np.stack(past, axis=1)]
    return np.concatenate(blocks, axis=1).astype(np.float32)


def new_trees(market: MarketData) -> Answers:
    """Trees trained for each head as it is asked for."""
    from lightgbm import LGBMClassifier

    x, train = features(market.rows), market.ends["train"]

    @cache
    def models(head: int) -> list[Any]:
        labels = market.labels[:, head]
        return [LGBMClassifier(**TREES).fit(x[train[first::EVERY]], labels[train[first::EVERY]]) for first in range(EVERY)]

    return lambda head, ends: np.mean([model.predict_proba(x[ends]) for model in models(head)], axis=0)


def shipped_trees(market: MarketData, spelling: str) -> Answers:
    """The trees in `assets/forecasters`."""
    heads = tuple(market.heads)
    trees = TreeForecaster(ForecastTask(heads=heads, alphas=tuple(market.alphas), window=market.window, market=spelling))

    @cache
    def answers(ends: tuple[int, ...]) -> list[dict[str, NDArray[np.float64]]]:
        parts = [ends[at : at + BATCH] for at in range(0, len(ends), BATCH)]
        return [trees.predict(windows_of(market.rows.levels, part, market.window)) for part in parts]

    return lambda head, ends: np.concatenate([part[head_name(heads[head])] for part in answers(tuple(ends.tolist()))])


def score_trees(market: MarketData, trees: Answers, every: int = 1) -> list[dict[str, Any]]:
    """One row of scores on the test part for each head of the market, as `core.market.answers.predictions` gives them of TLOB."""
    rows, validation = [], market.ends["validation"][::RULE_STRIDE]
    tested = window_ends(market.rows.timestamps, market.window)
    tested = tested[tested >= market.ends["test"][0]][::every]
    for i, (kind, horizon) in enumerate(market.heads):
        labels = market.labels[:, i]
        test = tested[labels[tested] != UNKNOWN]
        log_p = np.log(np.maximum(trees(i, validation), 1e-12))
        log_p_test = np.log(np.maximum(trees(i, tested)[labels[tested] != UNKNOWN], 1e-12))
        rule = fit_rule(log_p, labels[validation], maximise=score_name(kind))
        p, truth = rule.probabilities(log_p_test), labels[test]
        called = rule.call(p)
        found = {
            **scores.summary(scores.confusion_matrix(truth, called)),
            "log_loss": scores.log_loss(p, truth),
            "ece": scores.calibration_error(p, truth),
            "call_gap": float(scores.reliability(p[np.arange(len(p)), called], called == truth)["gap"][0]),
        }
        likeliest = scores.summary(scores.confusion_matrix(truth, log_p_test.argmax(axis=1)))
        rows.append(
            {
                "label": kind,
                "horizon": horizon,
                "samples": len(test),
                "call": rule.kind,
                "rule": rule_entry(rule),
                **{name: round(value, 4) for name, value in found.items()},
                "argmax": {name: round(value, 4) for name, value in likeliest.items()},
            }
        )
        shown = (f"macro-F1 {one['macro_f1']:.3f}, Matthews {one['matthews']:.3f}" for one in (found, likeliest))
        print(f"{market.name} {kind} {horizon}: {rule.kind}, {'; plain argmax '.join(shown)}", flush=True)
    return rows


def main() -> None:
    """Print the scores, and write them into the card where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", action="append", required=True, type=Path, help="one market's files; repeat it")
    parser.add_argument("--checkpoint", default=DEFAULT)
    parser.add_argument("--folder", type=Path, default=checkpoints.FOLDER)
    parser.add_argument("--shipped", action="store_true", help="score the trees that the app ships, without training")
    parser.add_argument("--write", action="store_true", help="put the scores into the checkpoint's card")
    options = parser.parse_args()
    card = checkpoints.read_card(options.checkpoint, folder=options.folder)
    tests = {}
    for files in (MarketFiles(paths=tuple(paths)) for paths in options.data):
        rows = read_market(list(files.paths))
        market = prepare_market(files.name, rows, [tuple(h) for h in card["heads"]], card["config"]["steps"])
        trees = shipped_trees(market, " ".join(files.known_by)) if options.shipped else new_trees(market)
        tests[files.name] = score_trees(market, trees, card["metrics"].get("test_every", 1))
    if options.write:
        arguments = [Path(word).name if Path(word).exists() else word for word in sys.argv[1:]]
        card["metrics"].setdefault("peers", {})["lightgbm"] = {
            "features": "distances of the levels from the mid, log sizes, and changes of mid and pressure over eight lags",
            "settings": "those of scripts.ship_trees" if options.shipped else TREES,
            "command": f"python -m scripts.tree_peers {shlex.join(arguments)}",
            "versions": checkpoints.versions("lightgbm", "numpy"),
            "test": tests,
        }
        path = options.folder / f"{options.checkpoint}.json"
        path.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(told(main, "python -m scripts.tree_peers"))
