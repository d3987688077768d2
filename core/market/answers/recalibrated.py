"""Scores of a file's predictions recalibrated from the past alone, beside those of the predictions as they are written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.market.adaptive import SCORED_AFTER, AdaptiveHead, Recalibrated
from core.market.answers.predictions import RowPredictions
from core.market.answers.table import Scores
from core.market.book import BookError, BookRows, FloatArray
from core.market.bootstrap import block_length, resampled_sums
from core.market.conformal import MEMORY, PROMISED
from core.market.labels import UNKNOWN, classify, momentum_calls, moves_after
from core.market.naive_rules import baseline_summary
from core.market.predictor import MarketCard
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


def score_recalibrated(
    found: RowPredictions, rows: BookRows, market: MarketCard, head: int, *, thresholds: Thresholds = "card"
) -> dict[str, Any]:
    """Recalibrate one head's predictions row by row, and score them after the first `SCORED_AFTER` outcomes.

    Args:
        found: predictions at rows of `rows`. head: index into its heads.

    Returns:
        Plain numbers, rounded to four decimals. Calls are those of the card's rule; log_loss, ece and call_gap are those after
        recalibration, and `before` has those of the probabilities as written. `coverage` has what was `promised`; `delivered`
        over all scored, with its 95 % interval `low` to `high` (block bootstrap), and over the last `MEMORY` of them;
        `mean_size` of the sets, and the share that are `empty`.

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
    momentum = momentum_calls(rows, horizon, answer.alpha)[found.rows] if thresholds == "past" else None
    table = found.of_head(head, truth=answer.truth, momentum=momentum)[scored]
    result = table.score()
    after = Scores.of(table.truth, replace(table.answers["tlob"], probabilities=answer.adapted[scored]))
    covered, sizes = answer.covered[scored], answer.sizes[scored]
    sums = resampled_sums(covered[:, None], block_length(len(covered), horizon)) / len(covered)
    low, high = np.quantile(sums, [0.025, 0.975])
    coverage = {
        "promised": PROMISED,
        "delivered": float(covered.mean()),
        "low": float(low),
        "high": float(high),
        "delivered_last": float(covered[-MEMORY:].mean()),
        "mean_size": float(sizes.mean()),
        "empty": float((sizes == 0).mean()),
    }
    return {
        "label": kind,
        "horizon": horizon,
        "samples": after.samples,
        "adaptive": True,
        "scored_after": SCORED_AFTER,
        "thresholds": thresholds,
        "alpha": answer.alpha,
        **_rounded({**after.summary(), "call_gap": after.call_gap}),
        "before": _rounded({name: getattr(result["tlob"], name) for name in ("log_loss", "ece", "call_gap")}),
        "coverage": _rounded(coverage),
        "confusion": after.confusion.tolist(),
        "baselines": baseline_summary(result),
    }


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}
