"""The table of answers of one label and horizon: a line per row of a book, what came of it, and every forecaster's answer.

Whole files, folders of recordings and running sessions are all scored by its `Scores`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import scores
from core.market.answers.intervals import FEWEST, block_length, resampled_sums
from core.market.answers.value import CallRows, Estimate
from core.market.book import FloatArray
from core.market.labels import STATIONARY, UNKNOWN, Head
from core.scores import CALIBRATION_BINS

NO_CALL: Final = -1
"""The call of a forecaster that did not answer."""
MEASURES: Final = ("accuracy", "macro_f1", "matthews", "log_loss", "ece")


@dataclass(frozen=True, kw_only=True)
class Answered:
    """One forecaster's answers at n rows: calls (n,), `NO_CALL` where missing; probabilities (n, 3), NaN where it gives none."""

    calls: NDArray[np.integer]
    probabilities: NDArray[np.floating]

    def __getitem__(self, rows: Any) -> Answered:
        return replace(self, calls=self.calls[rows], probabilities=self.probabilities[rows])


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Counts from which every score of one forecaster follows.

    Attributes:
        confusion: (3, 3) counts. lost: sum of the log-losses, NaN without probabilities.
        bins: (2, 3, `CALIBRATION_BINS`) of the likeliest class and of the class called: confidence, hits and rows; None where
            there are no probabilities, or nobody counts them.
    """

    confusion: NDArray[np.int64]
    lost: float = math.nan
    bins: FloatArray | None = None

    @classmethod
    def of(cls, truth: NDArray[np.integer], answers: Answered) -> Scores:
        """Scores of n answered rows, whose outcomes are known."""
        p = np.asarray(answers.probabilities, dtype=np.float64)
        confusion = scores.confusion_matrix(truth, answers.calls)
        if not np.isfinite(p).all():
            return cls(confusion=confusion)
        labels = np.stack([p.argmax(axis=1), answers.calls])
        confidence = p[np.arange(len(p)), labels]
        place = np.minimum((confidence * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
        sums = [
            [np.bincount(at, weights, CALIBRATION_BINS) for weights in (sure, hit, None)]
            for at, sure, hit in zip(place, confidence, labels == truth, strict=True)
        ]
        return cls(confusion=confusion, lost=float(losses(p, truth).sum()), bins=np.array(sums, dtype=np.float64))

    @property
    def samples(self) -> int:
        """Rows counted."""
        return int(self.confusion.sum())

    @property
    def log_loss(self) -> float:
        """Mean log-loss; NaN without rows."""
        return self.lost / self.samples if self.samples else float("nan")

    @property
    def reliability(self) -> dict[str, FloatArray]:
        """As `core.scores.reliability`, of the likeliest class, whose gap is the expected calibration error (D26)."""
        return self._reliability(0)

    @property
    def ece(self) -> float:
        """Expected calibration error; NaN without rows or bins."""
        return float(self._reliability(0)["gap"][0]) if self.samples else math.nan

    @property
    def call_gap(self) -> float:
        """Mean distance of the probability of the class called from how often it came true, by the same bins."""
        return float(self._reliability(1)["gap"][0]) if self.samples else math.nan

    def _reliability(self, which: int) -> dict[str, FloatArray]:
        """As `core.scores.reliability`, of one of the two; of no bins nothing is known."""
        if self.bins is None:
            return dict.fromkeys(("edges", "confidence", "accuracy", "count"), np.zeros(0)) | {"gap": np.array([math.nan])}
        return scores.reliability_of_bins(*self.bins[which])

    def summary(self) -> dict[str, float]:
        """`MEASURES` by name."""
        return {**scores.summary(self.confusion), "log_loss": self.log_loss, "ece": self.ece}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows in time order, of one recording after another where there are several.

    Attributes:
        rows: columns `timestamp` (milliseconds), `truth` (UNKNOWN where it is not known) and those that are grouped by; `mid`,
            `spread` (quote currency) and, where a book may stall, `stalled` where the worth of calls is asked for.
        answers: by the forecaster's name.
    """

    head: Head
    rows: pd.DataFrame
    answers: Mapping[str, Answered]

    @classmethod
    def joined(cls, tables: Mapping[str, Table]) -> Table:
        """Tables of recordings by name, of the same columns and forecasters: one after the other, named in `recording`."""
        each, names = list(tables.values()), list(tables)
        number = np.repeat(np.arange(len(each)), [len(table) for table in each])
        rows = pd.concat([table.rows for table in each], ignore_index=True)
        answers = {
            name: Answered(
                calls=np.concatenate([table.answers[name].calls for table in each]),
                probabilities=np.concatenate([table.answers[name].probabilities for table in each]),
            )
            for name in each[0].answers
        }
        return cls(head=each[0].head, rows=rows.assign(recording=pd.Categorical.from_codes(number, names)), answers=answers)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Table:
        """Some of the rows, by a mask, indices or a slice."""
        answers = {name: one[rows] for name, one in self.answers.items()}
        return replace(self, rows=self.rows.iloc[rows], answers=answers)

    def column(self, name: str) -> NDArray[Any]:
        """(n,) one of `rows`."""
        return self.rows[name].to_numpy()

    @property
    def truth(self) -> NDArray[np.int64]:
        """(n,) what came, UNKNOWN where it is not known."""
        return self.column("truth")

    def score(self) -> dict[str, Scores]:
        """Each forecaster's scores on the rows that it answered and whose outcome is known."""
        truth, known = self.truth, self.truth != UNKNOWN
        there = {name: known & (one.calls != NO_CALL) for name, one in self.answers.items()}
        return {name: Scores.of(truth[there[name]], one[there[name]]) for name, one in self.answers.items()}

    def call_rows(self, name: str) -> CallRows:
        """A forecaster's calls, for the measures of their worth; none of a stalled book, and none where its answer is missing."""
        calls = self.answers[name].calls
        silent = (calls == NO_CALL) | (self.column("stalled") if "stalled" in self.rows else False)
        return CallRows(
            horizon=self.head[1],
            timestamps=self.column("timestamp"),
            mid=self.column("mid"),
            spread=self.column("spread"),
            calls=np.where(silent, STATIONARY, calls),
            truth=self.truth,
        )


def score(table: Table, *, by: Sequence[str] = ()) -> pd.DataFrame:
    """A line per group of rows and forecaster: columns `by`, `forecaster`, `samples`, `missing`, then `MEASURES`.

    Args:
        by: columns of the table's rows; groups without a row are left out.
    """
    groups: Iterable[tuple[Any, Table]] = [((), table)]
    if by:
        keys = table.rows[list(by)].reset_index(drop=True).groupby(list(by), observed=True)
        groups = ((key, table[part.index.to_numpy()]) for key, part in keys)
    lines = []
    for key, part in groups:
        due = int((part.truth != UNKNOWN).sum())
        for name, one in part.score().items():
            counts = {"samples": one.samples, "missing": due - one.samples}
            lines.append({**dict(zip(by, key, strict=True)), "forecaster": name, **counts, **one.summary()})
    return pd.DataFrame(lines)


def losses(probabilities: NDArray[np.floating], truth: NDArray[np.integer]) -> FloatArray:
    """(n,) -log of the probability given to what happened, cut at 1e-12; NaN where there is none."""
    p = np.asarray(probabilities, dtype=np.float64)[np.arange(len(truth)), truth]
    return -np.log(np.maximum(p, 1e-12))


def intervals(table: Table, name: str) -> dict[str, tuple[float, float]]:
    """95 % intervals of one recording's accuracy, macro-F1, Matthews correlation and log-loss, by blocks of its rows.

    Returns:
        The bounds by the measure's name, log-loss of a forecaster with probabilities; nothing for fewer than `FEWEST` rows.
    """
    return {measure: _bounds(drawn[1:, 0]) for measure, drawn in _resampled(table, name).items()}


def differences(table: Table, mine: str, other: str) -> dict[str, Estimate]:
    """A forecaster's score less another's on the rows that both answered, with intervals of a paired block bootstrap.

    Returns:
        By `matthews` and, where both give probabilities, `log_loss`; nothing where fewer than `FEWEST` rows are shared.
    """
    drawn = _resampled(table, mine, other)
    less = {measure: drawn[measure][:, 0] - drawn[measure][:, 1] for measure in ("matthews", "log_loss") if measure in drawn}
    bounds = {measure: _bounds(values[1:]) for measure, values in less.items()}
    return {measure: Estimate(value=float(less[measure][0]), low=low, high=high) for measure, (low, high) in bounds.items()}


def _bounds(drawn: FloatArray) -> tuple[float, float]:
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def _resampled(table: Table, *names: str) -> dict[str, FloatArray]:
    """(1 + resamples, names) scores by measure on the rows that all of these answered, the first of the rows as they are.

    Nothing where the rows are fewer than `FEWEST`.
    """
    each = [table.answers[name] for name in names]
    there = np.logical_and.reduce([table.truth != UNKNOWN, *(one.calls != NO_CALL for one in each)])
    truth = table.truth[there].astype(np.int64)
    if len(truth) < FEWEST:
        return {}
    columns = np.column_stack(  # of each the nine cells of its matrix, and its log-loss
        [part for one in each for part in (np.eye(9)[3 * truth + one.calls[there]], losses(one.probabilities[there], truth))]
    )
    sums = resampled_sums(columns, block_length(len(truth), table.head[1]))
    sums = np.concatenate([columns.sum(axis=0)[None], sums]).reshape(-1, len(names), 10)
    confusion = sums[..., :9].reshape(*sums.shape[:2], 3, 3)
    drawn = {measure: getattr(scores, measure)(confusion) for measure in ("accuracy", "macro_f1", "matthews")}
    return drawn | ({"log_loss": sums[..., 9] / len(truth)} if np.isfinite(sums[0, :, 9]).all() else {})
