"""Chooses the weights of TLOB and trees averaged: `python -m scripts.blend_weights --data FILE... [--data FILE...]`.

One market's files per `--data`; each needs trees of its own (`scripts.ship_trees`). The trees' weight of a head is the one with
the least log-loss on the first half of validation; the second half shows what it brings. With `--test` every so many-th row of
the test part is scored too: TLOB, trees and blend on the same rows, each with its call rule fitted on validation by the same
function (D25). "learnt" is the blend as it runs, whose weights begin near those chosen and follow the outcomes. Writes
`assets/forecasters/blend.json`; a market without trees of its own gets the mean weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import checkpoints, scores
from core.market.calibration import CallRule, fit_rule
from core.market.forecasters.blend import GRID, WEIGHTS, RunningWeights, log_average
from core.market.forecasters.protocol import ForecastTask, head_name
from core.market.forecasters.trees import FOLDER, POOLED, TreeForecaster
from core.market.labels import Head, momentum
from core.market.predictor import DEFAULT, load_predictor, windows_of
from core.market.store.rows import read_market
from core.training.tlob import MarketData, MarketFiles, prepare_market, score_name

BATCH = 512
Probabilities = dict[str, NDArray[np.float64]]


def answers(market: MarketData, ends: NDArray[np.int64], spelling: str) -> dict[str, Probabilities]:
    """Probabilities (len(ends), 3) of each head by forecaster: "tlob" and "trees"."""
    predictor = load_predictor(DEFAULT)
    entry = predictor.market(spelling)
    trees = TreeForecaster(ForecastTask(heads=predictor.heads, alphas=entry.alphas, window=predictor.window, market=spelling))
    found: dict[str, list[Any]] = {"tlob": [], "trees": []}
    for at in range(0, len(ends), BATCH):
        windows = windows_of(market.rows.levels, ends[at : at + BATCH], predictor.window)
        found["tlob"].append(predictor.predict(windows, entry, batch=64).probabilities)
        found["trees"].append(trees.predict(windows))
    tlob = np.concatenate(found["tlob"])
    return {
        "tlob": {head_name(head): tlob[:, i] for i, head in enumerate(predictor.heads)},
        "trees": {name: np.concatenate([part[name] for part in found["trees"]]) for name in found["trees"][0]},
    }


def fitted(p: NDArray[np.float64], truth: NDArray[np.int64], head: Head) -> CallRule:
    """The call rule of probabilities (n, 3)."""
    return fit_rule(np.log(np.maximum(p, 1e-12)), truth, maximise=score_name(head[0]))


def measured(p: NDArray[np.float64], rule: CallRule, truth: NDArray[np.int64], head: Head) -> dict[str, float]:
    """Log-loss and the label's score of probabilities (n, 3) under a call rule."""
    calibrated = rule.probabilities(np.log(np.maximum(p, 1e-12)))
    score = scores.summary(scores.confusion_matrix(truth, rule.call(calibrated)))[score_name(head[0])]
    return {"log_loss": round(scores.log_loss(calibrated, truth), 4), score_name(head[0]): round(score, 4)}


def choose(tlob: NDArray[np.float64], trees: NDArray[np.float64], truth: NDArray[np.int64], head: Head) -> float:
    """The weight of least log-loss once calibrated, on the rows that it is calibrated on."""

    def loss(weight: float) -> float:
        p = log_average(tlob, trees, weight)
        return measured(p, fitted(p, truth, head), truth, head)["log_loss"]

    return round(float(min(GRID, key=loss)), 1)


def learnt(
    tlob: NDArray[np.float64], trees: NDArray[np.float64], truth: NDArray[np.int64], head: Head, start: float, every: int
) -> NDArray[np.float64]:
    """The blend's probabilities (n, 3) with weights that follow the outcomes known so far, one row in `every` being scored."""
    weights = RunningWeights([start], [head[1]], every=every)
    later = -(-head[1] // every)  # rows until an outcome is known
    found = np.empty_like(tlob)
    for row in range(len(truth)):
        if row >= later:
            known = slice(row - later, row - later + 1)
            weights.learn(0, tlob[known], trees[known], truth[known])
        found[row] = log_average(tlob[row], trees[row], float(weights.weights[0]))
    return found


def study(files: MarketFiles, most: int, test_stride: int) -> dict[str, Any]:
    """Weights of one market, and the scores of TLOB, trees and blend on validation's second half and, if asked for, on test."""
    predictor = load_predictor(DEFAULT)
    heads, spelling = predictor.heads, " ".join(files.known_by)
    market = prepare_market(files.name, read_market(list(files.paths)), heads, predictor.window)
    stride = max(1, len(market.ends["validation"]) // most)
    ends = market.ends["validation"][::stride]
    test_ends = market.ends["test"][::test_stride] if test_stride else ends[:0]
    found = answers(market, ends, spelling)
    tested = answers(market, test_ends, spelling) if test_stride else {}
    half = len(ends) // 2
    entry: dict[str, Any] = {"rows": len(ends), "weights": {}, "validation": {}, "test_rows": len(test_ends), "test": {}}
    naive = market.rows.mid
    for i, head in enumerate(heads):
        name, truth = head_name(head), market.labels[ends, i]
        tlob, trees = (found[one][name] for one in ("tlob", "trees"))
        weight = choose(tlob[:half], trees[:half], truth[:half], head)
        four = {
            "tlob": tlob,
            "trees": trees,
            "blend": log_average(tlob, trees, weight),
            "learnt": learnt(tlob, trees, truth, head, weight, stride),
        }
        entry["weights"][name] = weight
        entry["validation"][name] = {
            one: measured(p[half:], fitted(p[:half], truth[:half], head), truth[half:], head) for one, p in four.items()
        }
        if test_stride:
            later = market.labels[test_ends, i]
            p_test = {
                **{one: tested[one][name] for one in tested},
                "blend": log_average(tested["tlob"][name], tested["trees"][name], weight),
                "learnt": learnt(tested["tlob"][name], tested["trees"][name], later, head, weight, test_stride),
            }
            entry["test"][name] = {one: measured(p, fitted(four[one], truth, head), later, head) for one, p in p_test.items()}
            called = momentum(naive, head[1], market.alphas[i])[test_ends]
            rule = scores.summary(scores.confusion_matrix(later, called))[score_name(head[0])]
            entry["test"][name]["momentum"] = {score_name(head[0]): round(rule, 4)}
        part = "test" if test_stride else "validation"
        print(f"{files.name} {name}: weight {weight:.1f}, {part} {entry[part][name]}", flush=True)
    return entry


def main() -> None:
    """Choose, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", action="append", required=True, type=Path, help="one market's files; repeat it")
    parser.add_argument("--rows", type=int, default=4_500, help="validation rows of a market that are used, about, evenly spaced")
    parser.add_argument(
        "--test", type=int, default=0, metavar="STRIDE", help="score every so many-th row of the test part; 0: none"
    )
    o = parser.parse_args()
    markets = {}
    for files in (MarketFiles(paths=tuple(paths)) for paths in o.data):
        markets["_".join(files.known_by)] = study(files, o.rows, o.test)
    names = next(iter(markets.values()))["weights"]
    markets[POOLED] = {
        "weights": {name: round(float(np.mean([one["weights"][name] for one in markets.values()])), 2) for name in names}
    }
    words = [Path(word).name if Path(word).exists() else word for word in sys.argv[1:]]
    content = {
        "tlob": checkpoints.read_card(DEFAULT)["weights_sha256"],
        "command": f"python -m scripts.blend_weights {' '.join(words)}",
        "markets": markets,
    }
    (FOLDER / WEIGHTS).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
