"""Measures what trees find beyond the momentum rule: `python -m scripts.momentum_ceiling FILE...`, one market's files.

Gradient-boosted trees learn from hand-made features of the book and from the momentum rule's own number in units of the label's
threshold, on the first 70 % of time. Their macro-F1 on the smoothed label is printed beside the rule's, on validation (the next
10 %; the test part is not read). Two kinds: trees that classify, and trees that forecast the part of the label that lies in the
future, which is added to the rule's number with a weight. Call rule, weight and threshold are fitted on the first half of
validation and scored on the second. A weight of 0 means that the forecast was best left out; the last column is the correlation
of the forecast with the outcome.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from core import scores
from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, BookRows, read_market
from core.market.calibration import fit_rule
from core.market.labels import HORIZONS, SMOOTHING, UNKNOWN, classify, fit_alpha, future_move, momentum, trailing_mean

LAGS = (1, 2, 4, 8, 16, 32, 64, 128)
EVERY = 3
"""Trees learn from every so many-th training row."""
TREES: Final[dict[str, Any]] = {"max_iter": 150, "learning_rate": 0.08, "early_stopping": False, "random_state": 0}
WEIGHTS, THRESHOLDS = (0, 0.25, 0.5, 0.75, 1, 1.5), (0.7, 0.8, 0.9, 1, 1.1, 1.2)
"""Weights of the forecast and thresholds of the sum that are tried, in units of the label's threshold."""
FAR = 8.0
"""Moves are clipped here, in the same unit, before trees learn to forecast them, so that no single jump dominates."""


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


def macro_f1(truth: NDArray[np.int64], called: NDArray[np.integer]) -> float:
    """Macro-F1 of the three classes."""
    return float(scores.macro_f1(scores.confusion_matrix(truth, called)))


def forecast(
    x: NDArray[np.float32],
    known: NDArray[np.float64],
    whole: NDArray[np.float64],
    label: NDArray[np.int64],
    *,
    train: NDArray[np.int64],
    checked: NDArray[np.int64],
) -> tuple[float, float, float]:
    """Macro-F1 of the rule's number plus a weighted forecast, on the second half of `checked`; the weight; the correlation.

    Args:
        known: (n,) the rule's number. whole: (n,) the labelled move. Both in units of the threshold. train, checked: row numbers.
    """
    rest = whole - known
    trees = HistGradientBoostingRegressor(**TREES)
    trees.fit(x[train], np.clip(rest[train], -FAR, FAR))
    predicted = trees.predict(x[checked])
    half = len(checked) // 2

    def called(rows: slice, weight: float, threshold: float) -> NDArray[np.int64]:
        return classify(known[checked[rows]] + weight * predicted[rows], threshold)

    first, second = slice(None, half), slice(half, None)
    tried = [(macro_f1(label[checked[first]], called(first, w, t)), w, t) for w in WEIGHTS for t in THRESHOLDS]
    _, weight, threshold = max(tried, key=lambda one: (one[0], -one[1]))
    found = macro_f1(label[checked[second]], called(second, weight, threshold))
    return found, weight, float(np.corrcoef(predicted[second], rest[checked[second]])[0, 1])


def main() -> None:
    """Print one line per horizon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    rows = read_market(parser.parse_args().files)
    x, mid, n = features(rows), rows.mid, len(rows)
    drift = mid / trailing_mean(mid, SMOOTHING) - 1
    print(f"{'steps':>5} {'trees':>7} {'momentum':>9} {'+ forecast':>10} {'weight':>7} {'correlation':>11}")
    for horizon in HORIZONS:
        move = future_move(mid, horizon, "smoothed")
        alpha = fit_alpha([move[: int(n * 0.7) - horizon]])
        label = classify(move, alpha)
        inputs = np.concatenate([x, (drift / alpha)[:, None]], axis=1).astype(np.float32)
        train = np.arange(200, int(n * 0.7) - horizon, EVERY)
        train = train[label[train] != UNKNOWN]
        checked = np.arange(int(n * 0.7) + LAGS[-1] + horizon, int(n * 0.8) - horizon)
        checked = checked[label[checked] != UNKNOWN]
        rates = np.bincount(label[train], minlength=3) / len(train)
        trees = HistGradientBoostingClassifier(**TREES)
        trees.fit(inputs[train], label[train], sample_weight=rates[label[train]] ** -0.5)
        logits = np.log(trees.predict_proba(inputs[checked]) + 1e-9)
        half = len(checked) // 2
        rule = fit_rule(logits[:half], label[checked[:half]], maximise="macro_f1")
        answers = (rule.call(rule.probabilities(logits[half:])), momentum(mid, horizon, alpha)[checked[half:]])
        found = [macro_f1(label[checked[half:]], answer) for answer in answers]
        both, weight, correlation = forecast(inputs, drift / alpha, move / alpha, label, train=train, checked=checked)
        print(f"{horizon:>5} {found[0]:>7.3f} {found[1]:>9.3f} {both:>10.3f} {weight:>7.2f} {correlation:>11.3f}", flush=True)


if __name__ == "__main__":
    main()
