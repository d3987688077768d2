"""Calls of a predictor at every row of a file, and the outcomes: for evaluations and for whole recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.book import BookRows, FloatArray
from core.market.grid import segments
from core.market.labels import STATIONARY, UNKNOWN, Head, all_moves, classify, moves_after
from core.market.predictor import MarketCard, Predictor, windows_of
from core.market.scoreboard import predictions_table


@dataclass(frozen=True, kw_only=True)
class RowCall:
    """One head's call at one row.

    Attributes:
        timestamp: milliseconds since the epoch. probability: of the class called. truth: None where it is not known.
    """

    timestamp: int
    call: int
    probability: float
    truth: int | None


@dataclass(frozen=True, kw_only=True)
class RowPredictions:
    """Predictions at every row that ends a whole window, n in all, in time order. Never written to.

    Attributes:
        rows: (n,) number of each row in the file. timestamps: (n,) milliseconds since the epoch.
        mid, spread: (n,) quote currency.
        probabilities: (n, heads, 3). calls, momentum: (n, heads) classes called by TLOB and by the momentum rule.
        truth: (n, heads) what happened, UNKNOWN where the horizon reaches past the end or over a gap, and at stalled rows.
        stalled: (n,) rows of a stalled book (`core.market.grid.stalled`). apart: (n, heads) what happened after these, UNKNOWN at
            all others.
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
    apart: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, row: int, head: int) -> RowCall | None:
        """Returns the call at a row, or None where nothing was predicted there."""
        place = int(np.searchsorted(self.rows, row))
        if place == len(self.rows) or self.rows[place] != row:
            return None
        call, truth = int(self.calls[place, head]), int(self.truth[place, head])
        return RowCall(
            timestamp=int(self.timestamps[place]),
            call=call,
            probability=float(self.probabilities[place, head, call]),
            truth=None if truth == UNKNOWN else truth,
        )

    def next_call(self, head: int, after: int) -> int | None:
        """The first row after row `after` at which TLOB begins to call Up, or Down; None where there is none."""
        return _first(self._beginnings(head, self.calls[:, head] != STATIONARY), after)

    def next_mistake(self, head: int, after: int) -> int | None:
        """The first row after row `after` at which a run of wrong calls of Up, or of Down, begins; None where there is none."""
        return _first(self._beginnings(head, self._wrong(head)), after)

    def previous_mistake(self, head: int, before: int) -> int | None:
        """The last such row before row `before`; None where there is none."""
        rows = self._beginnings(head, self._wrong(head))
        place = int(np.searchsorted(rows, before, side="left"))
        return int(rows[place - 1]) if place else None

    def table(self) -> pd.DataFrame:
        """One line per row, columns as those of `Scoreboard.export`."""
        return predictions_table(
            self.heads,
            timestamps=self.timestamps,
            mid=self.mid,
            probabilities=self.probabilities,
            calls=self.calls,
            momentum=self.momentum,
            truth=self.truth,
        )

    def _wrong(self, head: int) -> NDArray[np.bool_]:
        called, truth = self.calls[:, head], self.truth[:, head]
        return (called != STATIONARY) & (truth != UNKNOWN) & (called != truth)

    def _beginnings(self, head: int, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Rows at which a run of wanted rows with the same call begins."""
        called = self.calls[:, head]
        begins = wanted.copy()
        begins[1:] &= ~(wanted[:-1] & (called[1:] == called[:-1]) & (np.diff(self.rows) == 1))
        return self.rows[begins]


def outcomes(rows: BookRows, heads: Sequence[Head], market: MarketCard) -> NDArray[np.int64]:
    """Outcomes after every row, (n, heads): UNKNOWN where `moves_after` is not known."""
    moves = [moves_after(rows, head) for head in heads]
    return np.stack([classify(move, alpha) for move, alpha in zip(moves, market.alphas, strict=True)], axis=1)


def stalled_outcomes(rows: BookRows, heads: Sequence[Head], market: MarketCard) -> NDArray[np.int64]:
    """Outcomes after every row of a stalled book, (n, heads): UNKNOWN at all other rows, and where it is not known."""
    apart = np.full((len(rows), len(heads)), UNKNOWN)
    if rows.stalled.any():
        every_row = [classify(all_moves(rows, head), alpha) for head, alpha in zip(heads, market.alphas, strict=True)]
        apart[rows.stalled] = np.stack(every_row, axis=1)[rows.stalled]
    return apart


def predict_rows(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    *,
    first: int = 0,
    every: int = 1,
    batch: int = 512,
    progress: Callable[[int, int], None] | None = None,
) -> RowPredictions:
    """Predict at every row from `first` on that ends a whole window. Nothing is predicted or labelled across a gap.

    Args:
        every: predict at every so many-th of these rows.
        batch: windows between two calls of `progress`.
        progress: called with (windows done, windows in all); what it raises ends the work.
    """
    stretches, heads = segments(rows.timestamps), len(predictor.heads)
    ends = np.concatenate([np.arange(max(s.start + predictor.window - 1, first), s.stop) for s in stretches])[::every]
    probabilities = np.empty((len(ends), heads, 3), dtype=np.float32)
    calls, momentum = np.empty((2, len(ends), heads), dtype=np.int64)
    for start in range(0, len(ends), batch):
        part = slice(start, start + batch)
        answer = predictor.predict(windows_of(rows.levels, ends[part], predictor.window), market)
        probabilities[part], calls[part], momentum[part] = answer.probabilities, answer.calls, answer.momentum
        if progress is not None:
            progress(min(start + batch, len(ends)), len(ends))
    truth = outcomes(rows, predictor.heads, market)
    apart = stalled_outcomes(rows, predictor.heads, market)
    return RowPredictions(
        heads=predictor.heads,
        rows=ends,
        timestamps=rows.timestamps[ends],
        mid=rows.mid[ends],
        spread=rows.levels[ends, 0] - rows.levels[ends, 2],
        probabilities=probabilities,
        calls=calls,
        momentum=momentum,
        truth=truth[ends],
        stalled=rows.stalled[ends],
        apart=apart[ends],
    )


def _first(rows: NDArray[np.int64], after: int) -> int | None:
    place = int(np.searchsorted(rows, after, side="right"))
    return int(rows[place]) if place < len(rows) else None
