"""Scores of a file's predictions recalibrated from the past alone, beside those of the predictions as they are written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core import scores
from core.market.adaptive import SCORED_AFTER, AdaptiveHead, Recalibrated
from core.market.book import BookError, BookRows, FloatArray
from core.market.bootstrap import block_length, resampled_sums
from core.market.conformal import MEMORY, PROMISED
from core.market.labels import UNKNOWN, Head, classify, momentum_calls, moves_after
from core.market.naive_rules import baseline_summary, naive_answers, naive_scores
from core.market.predictor import MarketCard
from core.market.row_predictions import RowPredictions
from core.messages import compose

Thresholds = Literal["card", "past"]
"""Source of the label thresholds: the checkpoint's card, or the market's own first quarter hour."""


@dataclass(frozen=True, kw_only=True)
class RecalibratedRows:
    """A whole file's predictions of one head, recalibrated row by row from the past alone.

    Attributes:
        adapted: (n, 3). limits: (n,) of the conformal sets.
        truth: (n,) by `alpha`; UNKNOWN where it is not known, and before the threshold was settled.
        alpha: the threshold in use at the end.
    """

    adapted: FloatArray
    limits: FloatArray
    truth: NDArray[np.int64]
    alpha: float

    @property
    def covered(self) -> NDArray[np.bool_]:
        """(n,) whether the set named what happened; False where that is not known."""
        p = self.adapted[np.arange(len(self.truth)), np.maximum(self.truth, 0)]
        return (self.truth != UNKNOWN) & (1 - p <= self.limits)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(n,) classes in each set."""
        return (1 - self.adapted <= self.limits[:, None]).sum(axis=1)


def recalibrate_rows(
    rows: NDArray[np.int64], probabilities: NDArray[np.floating], moves: FloatArray, head: AdaptiveHead
) -> RecalibratedRows:
    """Go through a file as a live session does: at each row first what became known, then the prediction.

    Args:
        rows: (n,) numbers of the rows predicted, rising. probabilities: (n, 3). moves: (n,) that followed, NaN where unknown.
        head: a new one.
    """
    predictions: list[Recalibrated] = []
    truth = np.full(len(rows), UNKNOWN)
    due = 0
    numbers, known = rows.tolist(), moves.tolist()
    for now, written in zip(numbers, np.asarray(probabilities, dtype=np.float64).tolist(), strict=True):
        while due < len(predictions) and numbers[due] + head.horizon <= now:
            if not math.isnan(known[due]):
                settled = head.settled
                truth[due] = head.resolve(predictions[due], known[due])
                truth[due] = truth[due] if settled else UNKNOWN
            due += 1
        predictions.append(head.predict(written))
    if head.settled:  # of the rest the outcome is known only after the last prediction
        truth[due:] = classify(moves[due:], head.alpha)
    return RecalibratedRows(
        adapted=np.array([p.adapted for p in predictions]).reshape(-1, 3),
        limits=np.array([p.limit for p in predictions]),
        truth=truth,
        alpha=head.alpha,
    )


@dataclass(frozen=True, kw_only=True)
class AdaptiveResult:
    """One head over a file: scores after the first `SCORED_AFTER` outcomes.

    Attributes:
        thresholds, alpha: where the label threshold came from, and it, a fraction of the price.
        confusion: "tlob" or naive rule -> counts (3, 3). TLOB's calls are those of the card's rule.
        naive_loss: log-loss of the naive rules that give probabilities.
        before, after: log_loss, ece and call_gap (see `HeadResult`) of the probabilities as written, and recalibrated.
        coverage: `promised`; `delivered` over all scored, with its 95 % interval `low` to `high` (block bootstrap);
            `delivered_last` over the last `MEMORY` of them; `mean_size` of the sets, and the share that are `empty`.
    """

    head: Head
    thresholds: Thresholds
    alpha: float
    confusion: dict[str, NDArray[np.int64]]
    naive_loss: dict[str, float]
    before: dict[str, float]
    after: dict[str, float]
    coverage: dict[str, float]

    def summary(self) -> dict[str, Any]:
        """Plain numbers, rounded to four decimals; log_loss, ece and call_gap are those after recalibration."""

        def rounded(values: dict[str, float]) -> dict[str, float]:
            return {name: round(value, 4) for name, value in values.items()}

        return {
            "label": self.head[0],
            "horizon": self.head[1],
            "samples": int(self.confusion["tlob"].sum()),
            "adaptive": True,
            "scored_after": SCORED_AFTER,
            "thresholds": self.thresholds,
            "alpha": self.alpha,
            **rounded(scores.summary(self.confusion["tlob"])),
            **rounded(self.after),
            "before": rounded(self.before),
            "coverage": rounded(self.coverage),
            "confusion": self.confusion["tlob"].tolist(),
            "baselines": baseline_summary(self.confusion, self.naive_loss),
        }


def score_recalibrated(
    found: RowPredictions, rows: BookRows, market: MarketCard, head: int, *, thresholds: Thresholds = "card"
) -> AdaptiveResult:
    """Recalibrate one head's predictions row by row, and score them after the first `SCORED_AFTER` outcomes.

    Args:
        found: predictions at rows of `rows`. head: index into its heads.

    Raises:
        BookError: where there are no more outcomes than those left out.
    """
    kind, horizon = found.heads[head]
    past = AdaptiveHead(horizon, market.alphas[head], own_threshold=thresholds == "past")
    p = found.probabilities[:, head].astype(np.float64)
    answer = recalibrate_rows(found.rows, p, moves_after(rows, (kind, horizon))[found.rows], past)
    known = np.flatnonzero(answer.truth != UNKNOWN)
    scored = known[SCORED_AFTER:]
    if not len(scored):
        raise BookError(
            compose(
                "{count} outcomes of {kind} {horizon} are known: more than {least} are needed, which the calibration begins with",
                count=len(known),
                kind=kind,
                horizon=horizon,
                least=SCORED_AFTER,
            )
        )
    truth, called = answer.truth[scored], found.calls[scored, head]
    momentum = found.momentum[:, head] if thresholds == "card" else momentum_calls(rows, horizon, answer.alpha)[found.rows]
    confusion, losses = naive_scores(naive_answers(found.timestamps, answer.truth, momentum, horizon), truth, scored)
    covered, sizes = answer.covered[scored], answer.sizes[scored]
    sums = resampled_sums(covered[:, None], block_length(len(covered), horizon)) / len(covered)
    low, high = np.quantile(sums, [0.025, 0.975])
    return AdaptiveResult(
        head=(kind, horizon),
        thresholds=thresholds,
        alpha=answer.alpha,
        confusion={"tlob": scores.confusion_matrix(truth, called), **confusion},
        naive_loss=losses,
        before=_probability_scores(p[scored], truth, called),
        after=_probability_scores(answer.adapted[scored], truth, called),
        coverage={
            "promised": PROMISED,
            "delivered": float(covered.mean()),
            "low": float(low),
            "high": float(high),
            "delivered_last": float(covered[-MEMORY:].mean()),
            "mean_size": float(sizes.mean()),
            "empty": float((sizes == 0).mean()),
        },
    )


def _probability_scores(p: FloatArray, truth: NDArray[np.int64], called: NDArray[np.int64]) -> dict[str, float]:
    return {
        "log_loss": scores.log_loss(p, truth),
        "ece": scores.calibration_error(p, truth),
        "call_gap": float(scores.reliability(p[np.arange(len(called)), called], called == truth)["gap"][0]),
    }
