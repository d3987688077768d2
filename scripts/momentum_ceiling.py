"""How much can be had above the momentum rule? `python -m scripts.momentum_ceiling FILE...`, one market's files.

Gradient-boosted trees get the hand-made features of the LightGBM peer and, besides, the momentum rule's own number in units of
its threshold. They learn on the first 70 % of time; on the next 10 % (the validation part, never the test part) their macro-F1
on the smoothed label is printed beside the rule's. The trees' call rule is fitted on the first half of that part, and scores are
of the second, so neither is flattered.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from core.market import scores
from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, BookRows, read_market
from core.market.calls import fit_rule
from core.market.labels import HORIZONS, SMOOTHING, UNKNOWN, classify, fit_alpha, future_move, momentum, trailing_mean

LAGS = (1, 2, 4, 8, 16, 32, 64, 128)
EVERY = 3
"""Of the training rows, as the LightGBM peer."""


def features(rows: BookRows) -> NDArray[np.float32]:
    """(n, features): distances from the mid, log sizes, and what mid and pressure did over eight lags."""
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


def main() -> None:
    """Print a line a horizon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    rows = read_market(parser.parse_args().files)
    x, mid, n = features(rows), rows.mid, len(rows)
    drift = mid / trailing_mean(mid, SMOOTHING) - 1
    print(f"{'steps':>5} {'trees':>7} {'momentum':>9}")
    for horizon in HORIZONS:
        move = future_move(mid, horizon, "smoothed")
        alpha = fit_alpha([move[: int(n * 0.7) - horizon]])
        label = classify(move, alpha)
        told = np.concatenate([x, (drift / alpha)[:, None]], axis=1).astype(np.float32)
        train = np.arange(200, int(n * 0.7) - horizon, EVERY)
        train = train[label[train] != UNKNOWN]
        checked = np.arange(int(n * 0.7) + LAGS[-1] + horizon, int(n * 0.8) - horizon)
        checked = checked[label[checked] != UNKNOWN]
        rates = np.bincount(label[train], minlength=3) / len(train)
        trees = HistGradientBoostingClassifier(max_iter=150, learning_rate=0.08, early_stopping=False, random_state=0)
        trees.fit(told[train], label[train], sample_weight=rates[label[train]] ** -0.5)
        logits = np.log(trees.predict_proba(told[checked]) + 1e-9)
        half = len(checked) // 2
        rule = fit_rule(logits[:half], label[checked[:half]], maximise="macro_f1")
        answers = (rule.call(rule.probabilities(logits[half:])), momentum(mid, horizon, alpha)[checked[half:]])
        found = [scores.summary(scores.confusion_matrix(label[checked[half:]], answer))["macro_f1"] for answer in answers]
        print(f"{horizon:>5} {found[0]:>7.3f} {found[1]:>9.3f}", flush=True)


if __name__ == "__main__":
    main()
