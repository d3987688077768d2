"""Gain of training on a market: log-loss on its test part, beside the checkpoint that training started from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.answers.table import Answered, Table, differences
from core.market.calibration import CallRule
from core.market.labels import Head
from core.market.predictor import Predictor, load_predictor, windows_of
from core.training.tlob import MarketData, fit_rules

TEST_S = 600
"""Seconds of the test part that are scored: the ten minutes after training and validation."""
STRIDE = 2
"""Rules are fitted on every second validation window, as those of the card are."""


def measure_gains(
    trained: Predictor, start: Path | None, markets: Sequence[MarketData], *, seconds: float = TEST_S
) -> dict[str, list[dict[str, Any]]]:
    """By market, one entry per head: log-loss on the first `seconds` of the test part, by four forecasters on the same rows.

    `trained`; `start`, the earlier checkpoint as it is, with its entry for the market or the pooled one; `refitted`, the same
    weights with probabilities calibrated on this market's validation part, as the trained one's are; `frequencies`, how often
    each class came in the training part. Labels are the market's own for all. Differences are the trained one's log-loss less
    the other's, with 95 % block-bootstrap intervals: below zero the training was worth it.

    Args:
        start: card of the checkpoint that training started from; None where it started from nothing.
    """
    before = load_predictor(start.stem, folder=start.parent) if start is not None else None
    found: dict[str, list[dict[str, Any]]] = {}
    for market in markets:
        ends = market.ends["test"]
        ends = ends[market.rows.timestamps[ends] <= market.rows.timestamps[ends[0]] + seconds * 1e3]
        truth = market.labels[ends]
        mine = trained.predict(windows_of(market.rows.levels, ends, trained.window), trained.markets[market.name])
        answers: dict[str, NDArray[np.float64]] = {"trained": mine.probabilities.astype(np.float64)}
        if before is not None and before.heads == tuple(market.heads):
            answers["start"], answers["refitted"] = _earlier(before, market, ends)
        counts = [np.bincount(column, minlength=3) for column in market.labels[market.ends["train"]].T]
        rates = np.stack([(one + 1) / (one + 1).sum() for one in counts])
        answers["frequencies"] = np.broadcast_to(rates, mine.probabilities.shape).astype(np.float64)
        found[market.name] = [_head_gain(market.heads[i], truth[:, i], answers, i) for i in range(len(market.heads))]
    return found


def _earlier(before: Predictor, market: MarketData, ends: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The earlier checkpoint's probabilities (n, heads, 3): as it is, and calibrated on this market."""
    entry = before.market(market.name)

    def logits(rows: NDArray[np.int64]) -> NDArray[np.float32]:
        parts = [
            before.logits(before.inputs(windows_of(market.rows.levels, rows[i : i + 64], before.window), entry))
            for i in range(0, len(rows), 64)
        ]
        return np.concatenate(parts)

    validation = market.ends["validation"][::STRIDE]
    rules = fit_rules(market.heads, market.labels[validation], logits(validation))
    scored = logits(ends)

    def probabilities(rules: Sequence[CallRule]) -> NDArray[np.float64]:
        return np.stack([rule.probabilities(scored[:, i]) for i, rule in enumerate(rules)], axis=1)

    return probabilities(entry.rules), probabilities(rules)


def _head_gain(head: Head, truth: NDArray[np.int64], answers: dict[str, NDArray[np.float64]], index: int) -> dict[str, Any]:
    given = {name: Answered(calls=p[:, index].argmax(axis=1), probabilities=p[:, index]) for name, p in answers.items()}
    table = Table(head=head, rows=pd.DataFrame({"truth": truth}), answers=given)
    entry: dict[str, Any] = {"label": head[0], "horizon": head[1], "samples": len(truth)}
    entry |= {f"{name}_log_loss": round(one.log_loss, 5) for name, one in table.score().items()}
    for name in list(given)[1:]:
        less = differences(table, "trained", name, fewest=1)["log_loss"]
        entry[f"less_{name}"] = {bound: round(value, 5) for bound, value in asdict(less).items()}
    return entry
