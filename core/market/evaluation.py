"""Scoring a predictor on files, beside the naive rules: what `python -m core evaluate tlob` prints and a card records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import scores
from core.market.book import BookError, BookRows, segments
from core.market.labels import STATIONARY, UNKNOWN, classify, future_move, momentum
from core.market.predictor import Head, MarketCard, Predictor, windows_of

BATCH = 512


@dataclass(frozen=True, kw_only=True)
class HeadResult:
    """One head on one set of rows.

    Attributes:
        confusion: rule ("tlob", "momentum", "stationary") -> counts (3, 3).
        ece: expected calibration error of TLOB's calls.
    """

    head: Head
    confusion: dict[str, NDArray[np.int64]]
    ece: float

    def summary(self) -> dict[str, Any]:
        """Plain numbers, rounded to a tenth of a thousandth."""

        def of(rule: str) -> dict[str, float]:
            return {name: round(value, 4) for name, value in scores.summary(self.confusion[rule]).items()}

        return {
            "label": self.head[0],
            "horizon": self.head[1],
            "samples": int(self.confusion["tlob"].sum()),
            **of("tlob"),
            "ece": round(self.ece, 4),
            "confusion": self.confusion["tlob"].tolist(),
            "baselines": {rule: of(rule) for rule in ("momentum", "stationary")},
        }


def evaluate(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    *,
    first: int = 0,
    heads: list[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[HeadResult]:
    """Predict at every row from `first` on that ends a whole window, and score the heads asked for (all by default).

    Alphas, constants and rules are the card's. Nothing is predicted or labelled across a gap.

    Args:
        progress: told (windows done, windows in all).

    Raises:
        BookError: where no stretch is long enough for a window and a horizon asked for.
    """
    heads = list(range(len(predictor.heads))) if heads is None else heads
    stretches = segments(rows.timestamps)
    ends = np.concatenate([np.arange(max(s.start + predictor.window - 1, first), s.stop) for s in stretches])
    longest = max(predictor.heads[h][1] for h in heads)
    if not any(s.stop - max(s.start, first - predictor.window + 1) >= predictor.window + longest for s in stretches):
        where = f" around or after row {first}" if first else ""
        raise BookError(
            f"the data has no stretch of {predictor.window + longest} rows without a gap{where}: "
            f"a window of {predictor.window} rows and {longest} more to see what happened are needed"
        )
    probabilities = np.empty((len(ends), len(predictor.heads), 3), dtype=np.float32)
    calls = np.empty((len(ends), len(predictor.heads)), dtype=np.int64)
    for start in range(0, len(ends), BATCH):
        part = slice(start, start + BATCH)
        answer = predictor.predict(windows_of(rows.levels, ends[part], predictor.window), market)
        probabilities[part], calls[part] = answer.probabilities, answer.calls
        if progress is not None:
            progress(min(start + BATCH, len(ends)), len(ends))
    return [_score(predictor, rows, market, stretches, h, ends, probabilities[:, h], calls[:, h]) for h in heads]


def _score(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    stretches: list[slice],
    index: int,
    ends: NDArray[np.int64],
    probabilities: NDArray[np.float32],
    calls: NDArray[np.int64],
) -> HeadResult:
    kind, horizon = predictor.heads[index]
    truth, naive = np.full(len(rows), UNKNOWN), np.full(len(rows), STATIONARY)
    for stretch in stretches:
        mid = rows.mid[stretch]
        truth[stretch] = classify(future_move(mid, horizon, kind), market.alphas[index]) if len(mid) > horizon else UNKNOWN
        naive[stretch] = momentum(mid, horizon, market.alphas[index])
    known = truth[ends] != UNKNOWN
    t, called, rule = truth[ends][known], calls[known], naive[ends][known]
    confidence = probabilities[known][np.arange(len(called)), called]
    return HeadResult(
        head=(kind, horizon),
        confusion={
            "tlob": scores.confusion_matrix(t, called),
            "momentum": scores.confusion_matrix(t, rule),
            "stationary": scores.confusion_matrix(t, np.full_like(t, STATIONARY)),
        },
        ece=float(scores.reliability(confidence, called == t)["ece"][0]),
    )
