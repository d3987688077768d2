"""A checkpoint's answers at every row of a file and their scores, for `evaluate tlob` and cards."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.answers.naive import baseline_summary, momentum_calls, naive_answers
from core.market.answers.table import Answered, Scores, Table
from core.market.book import BookError, BookRows, FloatArray
from core.market.calibration import RuleKind
from core.market.grid import segments
from core.market.labels import Head, classify, moves_after
from core.market.predictor import MarketCard, Predictor, windows_of
from core.market.windows import window_ends

BATCH = 512
"""Windows between two words of progress."""


@dataclass(frozen=True, kw_only=True)
class RowPredictions:
    """Predictions at every row that ends a whole window, n in all, in time order. Never written to.

    Attributes:
        rows: (n,) number of each row in the file. timestamps: (n,) milliseconds since the epoch.
        mid, spread: (n,) quote currency.
        probabilities: (n, heads, 3). calls, momentum: (n, heads) classes called by TLOB and by the momentum rule.
        truth: (n, heads) what happened, UNKNOWN where the horizon reaches past the end or over a gap, and at stalled rows.
        stalled: (n,) rows of a stalled book (`core.market.grid.stalled`).
    """

    heads: tuple[Head, ...]
    rows: NDArray[np.int64]
    timestamps: NDArray[np.int64]
    mid: FloatArray
    spread: FloatArray
    probabilities: NDArray[np.float32]
    calls: NDArray[np.int64]
    momentum: NDArray[np.int64]
    truth: NDArray[np.int64]
    stalled: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)

    def of_head(self, head: int) -> Table:
        """One head's table: "tlob" and the naive rules."""
        truth, momentum = self.truth[:, head], self.momentum[:, head]
        rows = {"timestamp": self.timestamps, "truth": truth, "mid": self.mid, "spread": self.spread, "stalled": self.stalled}
        naive = naive_answers(self.timestamps, truth, momentum, self.heads[head][1])
        return Table(head=self.heads[head], rows=pd.DataFrame(rows), answers={"tlob": self.answers(head), **naive})

    def answers(self, head: int) -> Answered:
        """The checkpoint's answers alone."""
        return Answered(calls=self.calls[:, head], probabilities=self.probabilities[:, head])


def predict_rows(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    *,
    first: int = 0,
    every: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> RowPredictions:
    """Predict at every row from `first` on that ends a whole window. Nothing is predicted or labelled across a gap.

    Args:
        every: predict at every so many-th of these rows.
        progress: called with (windows done, windows in all); what it raises ends the work.
    """
    ends, heads = window_ends(rows.timestamps, predictor.window), len(predictor.heads)
    ends = ends[ends >= first][::every]
    probabilities = np.empty((len(ends), heads, 3), dtype=np.float32)
    calls = np.empty((len(ends), heads), dtype=np.int64)
    for start in range(0, len(ends), BATCH):
        part = slice(start, start + BATCH)
        answer = predictor.predict(windows_of(rows.levels, ends[part], predictor.window), market)
        probabilities[part], calls[part] = answer.probabilities, answer.calls
        if progress is not None:
            progress(min(start + BATCH, len(ends)), len(ends))
    moves = [moves_after(rows, head) for head in predictor.heads]
    return RowPredictions(
        heads=predictor.heads,
        rows=ends,
        timestamps=rows.timestamps[ends],
        mid=rows.mid[ends],
        spread=rows.spread[ends],
        probabilities=probabilities,
        calls=calls,
        momentum=momentum_calls(rows, predictor.heads, market.alphas)[ends],
        truth=np.stack([classify(move[ends], alpha) for move, alpha in zip(moves, market.alphas, strict=True)], axis=1),
        stalled=rows.stalled[ends],
    )


@dataclass(frozen=True, kw_only=True)
class HeadResult:
    """One head on one set of rows.

    Attributes:
        call: how TLOB's calls were made (D25); naive rules keep their plain form.
        scores: of "tlob" and every naive rule.
    """

    head: Head
    call: RuleKind
    scores: dict[str, Scores]

    def summary(self) -> dict[str, Any]:
        """Plain numbers, rounded to four decimals."""
        mine = self.scores["tlob"]
        return {
            "label": self.head[0],
            "horizon": self.head[1],
            "samples": mine.samples,
            "call": self.call,
            **{name: round(value, 4) for name, value in {**mine.summary(), "call_gap": mine.call_gap}.items()},
            "confusion": mine.confusion.tolist(),
            "baselines": baseline_summary(self.scores),
        }


def evaluate(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    *,
    first: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[HeadResult]:
    """Predict at every row from `first` on that ends a whole window, and score every head.

    Label thresholds, constants and call rules are the card's. Nothing is predicted or labelled across a gap.

    Args:
        progress: called with (windows done, windows in all).

    Raises:
        BookError: where no stretch without a gap is long enough for a window and the longest horizon.
    """
    heads = range(len(predictor.heads))
    require_scorable(predictor, rows, heads, first)
    predicted = predict_rows(predictor, rows, market, first=first, progress=progress)
    return [HeadResult(head=predictor.heads[h], call=market.rules[h].kind, scores=predicted.of_head(h).score()) for h in heads]


def require_scorable(predictor: Predictor, rows: BookRows, heads: Iterable[int], first: int = 0) -> None:
    """Raises a `BookError` where no row from `first` on could be scored for these heads."""
    stretches = segments(rows.timestamps)
    longest = max(predictor.heads[h][1] for h in heads)
    if not any(s.stop - max(s.start, first - predictor.window + 1) >= predictor.window + longest for s in stretches):
        raise BookError(
            "the data has no stretch of {rows} rows without a gap from row {first} on: "
            "a window of {window} rows and {longest} more to see what happened are needed",
            first=first,
            rows=predictor.window + longest,
            window=predictor.window,
            longest=longest,
        )
