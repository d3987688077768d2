"""Three questions answered by trees on validation: `python -m scripts.tree_studies QUESTION --data FILE... [--data FILE...]`.

`markets`: what a market gains from training on each other one. Pooled trees learn from the same number of windows in all, from
every market and then without each in turn. `traded`: what traded size a side brings as columns, beside a column that says whether
trades are known; half of the windows with trades are also learnt from as if they had none. `two-part`: whether a market moves and
which way as two classifiers, against one of three classes.

LightGBM (an optional extra) learns with the settings of `scripts.ship_trees`. Log-loss and the label's score are of the second
half of each market's validation part, with the call rule fitted on the first half; test parts are not read. Each number is the
mean over seeds.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core import scores
from core.market.book import read_market
from core.market.calibration import fit_rule
from core.market.forecasters.trees import window_features
from core.market.labels import HORIZONS, LABEL_KINDS, STATIONARY, UP, Head
from core.market.predictor import windows_of
from core.training.tlob import MarketData, prepare_market, score_name
from core.training.tlob_run import MarketFiles
from scripts.input_groups import WINDOW, recent_sums, traded_sizes
from scripts.ship_trees import ROUNDS, TREES

BATCH: Final = 2_000
CHECKED: Final = 6_000
"""Validation windows of a market, at most, evenly spaced."""
Floats = NDArray[np.floating]


@dataclass(kw_only=True)
class Study:
    """One market's windows.

    Attributes:
        train, checked: rows at which windows end. features: (n,) of `train`, then of `checked`.
        traded: columns of traded size, alike; None where trades are not known.
    """

    name: str
    market: MarketData
    train: NDArray[np.int64]
    checked: NDArray[np.int64]
    features: tuple[Floats, Floats]
    traded: tuple[Floats, Floats] | None = None


def spaced(ends: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most so many of these rows, evenly spaced."""
    return ends[:: -(-len(ends) // most)]


def read_study(files: MarketFiles, heads: list[Head], most: int, events: Path | None) -> Study:
    """A market's windows and features; traded sizes where the file of events is its own."""
    rows = read_market(list(files.paths))
    market = prepare_market(files.name, rows, heads, WINDOW)
    parts = spaced(market.ends["train"], most), spaced(market.ends["validation"], CHECKED)

    def features(ends: NDArray[np.int64]) -> Floats:
        batches = (windows_of(rows.levels, ends[at : at + BATCH], WINDOW) for at in range(0, len(ends), BATCH))
        return np.concatenate([window_features(windows, market.alphas[0]) for windows in batches])

    study = Study(
        name="_".join(files.known_by),
        market=market,
        train=parts[0],
        checked=parts[1],
        features=(features(parts[0]), features(parts[1])),
    )
    if events is not None and study.name.split("_")[0] in events.name:
        sums = recent_sums(traded_sizes(rows, events), float(np.median(rows.levels[:, 1::2])))
        study.traded = sums[parts[0]], sums[parts[1]]
    return study


def fit(x: Floats, y: NDArray[np.int64], seed: int, *, classes: int = 3) -> Any:
    """Trees of the shipped settings."""
    import lightgbm

    kind = {"num_class": 3} if classes == 3 else {"objective": "binary", "num_class": 1}
    settings = {**TREES, **kind, "seed": seed}
    return lightgbm.train(settings, lightgbm.Dataset(x, y, params={"verbose": -1, "num_threads": 1}), ROUNDS)


def score(p: Floats, truth: NDArray[np.int64], head: Head) -> tuple[float, float]:
    """Log-loss and the label's score on the second half, with the call rule of the first."""
    half, log_p = len(truth) // 2, np.log(np.maximum(p, 1e-12))
    rule = fit_rule(log_p[:half], truth[:half], maximise=score_name(head[0]))
    calibrated = rule.probabilities(log_p[half:])
    found = scores.summary(scores.confusion_matrix(truth[half:], rule.call(calibrated)))[score_name(head[0])]
    return scores.log_loss(calibrated, truth[half:]), found


def study_markets(studies: list[Study], heads: list[Head], total: int, seeds: int) -> None:
    """Print, for each market left out and each market checked, the mean over heads and seeds."""
    for left in [None, *(study.name for study in studies)]:
        kept = [study for study in studies if study.name != left]
        rows = [np.linspace(0, len(study.train) - 1, total // len(kept)).astype(int) for study in kept]
        x = np.concatenate([study.features[0][at] for study, at in zip(kept, rows, strict=True)])
        found: dict[str, list[tuple[float, float]]] = {study.name: [] for study in studies}
        for i, head in enumerate(heads):
            y = np.concatenate([study.market.labels[study.train[at], i] for study, at in zip(kept, rows, strict=True)])
            for seed in range(seeds):
                trees = fit(x, y, seed)
                for study in studies:
                    p = trees.predict(study.features[1], num_threads=1)
                    found[study.name].append(score(p, study.market.labels[study.checked, i], head))
        means = {name: np.mean(values, axis=0) for name, values in found.items()}
        print(f"without {left}: " + "; ".join(f"{name} {one[0]:.4f} {one[1]:.4f}" for name, one in means.items()), flush=True)


def study_traded(studies: list[Study], heads: list[Head], seeds: int) -> None:
    """Print a line per head and market: the book alone, with traded size, and with traded size but as if it were absent."""
    width = next(study.traded[0].shape[1] for study in studies if study.traded is not None)

    def absent(x: Floats) -> Floats:
        return np.concatenate([x, np.zeros((len(x), width)), np.ones((len(x), 1))], axis=1)

    def known(x: Floats, traded: Floats) -> Floats:
        return np.concatenate([x, traded, np.zeros((len(x), 1))], axis=1)

    plain, wide, again = [], [], []  # features; with columns of trades; which training rows, as those with trades come twice
    for study in studies:
        x, rows = study.features[0], np.arange(len(study.train))
        plain.append(x)
        wide.append(absent(x) if study.traded is None else np.concatenate([known(x, study.traded[0]), absent(x[::2])]))
        again.append(rows if study.traded is None else np.concatenate([rows, rows[::2]]))
    for i, head in enumerate(heads):
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(seeds):
            labels = [study.market.labels[study.train, i] for study in studies]
            book = fit(np.concatenate(plain), np.concatenate(labels), seed)
            both = fit(np.concatenate(wide), np.concatenate([y[at] for y, at in zip(labels, again, strict=True)]), seed)
            for study in studies:
                x, truth = study.features[1], study.market.labels[study.checked, i]
                tried = {"book": (book, x), "absent": (both, absent(x))}
                if study.traded is not None:
                    tried["traded"] = (both, known(x, study.traded[1]))
                for name, (trees, inputs) in tried.items():
                    found.setdefault(f"{study.name} {name}", []).append(score(trees.predict(inputs, num_threads=1), truth, head))
        means = ((name, np.mean(values, axis=0)) for name, values in found.items())
        print(f"{head[0]} {head[1]}: " + "; ".join(f"{name} {one[0]:.4f} {one[1]:.4f}" for name, one in means), flush=True)


def study_two_parts(studies: list[Study], heads: list[Head], seeds: int) -> None:
    """Print a line per market and head: one classifier, and the product of two."""
    for study in studies:
        (x, checked), market = study.features, study.market
        for i, head in enumerate(heads):
            y, truth = market.labels[study.train, i], market.labels[study.checked, i]
            moved, found = y != STATIONARY, []
            for seed in range(seeds):
                one = fit(x, y, seed).predict(checked, num_threads=1)
                moves = fit(x, moved.astype(np.int64), seed, classes=2).predict(checked, num_threads=1)
                up = fit(x[moved], (y[moved] == UP).astype(np.int64), seed, classes=2).predict(checked, num_threads=1)
                two = np.stack([moves * (1 - up), 1 - moves, moves * up], axis=1)
                found.append((*score(one, truth, head), *score(two, truth, head)))
            a, b, c, d = np.mean(found, axis=0)
            print(f"{study.name} {head[0]} {head[1]}: one {a:.4f} {b:.4f}; two {c:.4f} {d:.4f}", flush=True)


def main() -> None:
    """Read and answer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("question", choices=("markets", "traded", "two-part"))
    parser.add_argument("--data", nargs="+", action="append", required=True, type=Path, help="one market's files; repeat it")
    parser.add_argument("--events", type=Path, help="LOBSTER's events of one of the markets, for traded size")
    parser.add_argument("--label", nargs="+", choices=LABEL_KINDS, default=["forward"])
    parser.add_argument("--windows", type=int, default=30_000, help="training windows: of all markets together, or of each")
    parser.add_argument("--seeds", type=int, default=2)
    o = parser.parse_args()
    if o.question == "traded" and o.events is None:
        parser.error("traded size comes from a file of events: give --events")
    heads: list[Head] = [(kind, horizon) for kind in o.label for horizon in HORIZONS]
    studies = [read_study(MarketFiles(paths=tuple(paths)), heads, o.windows, o.events) for paths in o.data]
    if o.question == "markets":
        study_markets(studies, heads, o.windows, o.seeds)
    elif o.question == "traded":
        study_traded(studies, heads, o.seeds)
    else:
        study_two_parts(studies, heads, o.seeds)


if __name__ == "__main__":
    main()
