"""Scores a predictor on order-book files, beside the naive rules, for `python -m core evaluate tlob` and for cards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import scores
from core.market.book import BookError, BookRows
from core.market.calibration import RuleKind
from core.market.grid import segments
from core.market.labels import STATIONARY, UNKNOWN, Head
from core.market.naive_rules import baseline_summary, naive_answers, naive_scores
from core.market.predictor import MarketCard, Predictor
from core.market.row_predictions import RowPredictions, predict_rows
from core.market.value import CallRows, call_value, calls_by_rule, precision_by_confidence
from core.messages import compose

BATCH = 512


@dataclass(frozen=True, kw_only=True)
class HeadResult:
    """One head on one set of rows.

    Attributes:
        call: how TLOB's calls were made (D25); naive rules keep their plain form.
        confusion: "tlob" or naive rule -> counts (3, 3). log_loss: likewise, of those that give probabilities.
        ece: of TLOB's probabilities, the calibration error of the likeliest class (D26).
        apart: of rows of a stalled book, which nothing else here counts: `samples` and `accuracy` (NaN without one).
        call_gap: how far the probability of the class called lies from how often it came true, by bins as in ece.
    """

    head: Head
    call: RuleKind
    confusion: dict[str, NDArray[np.int64]]
    log_loss: dict[str, float]
    ece: float
    call_gap: float
    apart: dict[str, float]

    def summary(self) -> dict[str, Any]:
        """Plain numbers, rounded to four decimals."""
        numbers = scores.summary(self.confusion["tlob"]) | {"log_loss": self.log_loss["tlob"]}
        numbers |= {"ece": self.ece, "call_gap": self.call_gap}
        return {
            "label": self.head[0],
            "horizon": self.head[1],
            "samples": int(self.confusion["tlob"].sum()),
            "call": self.call,
            **{name: round(value, 4) for name, value in numbers.items()},
            "confusion": self.confusion["tlob"].tolist(),
            "baselines": baseline_summary(self.confusion, self.log_loss),
        }


def evaluate(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    *,
    first: int = 0,
    every: int = 1,
    heads: list[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[HeadResult]:
    """Predict at every row from `first` on that ends a whole window, and score the heads asked for (all by default).

    Label thresholds, constants and call rules are the card's. Nothing is predicted or labelled across a gap.

    Args:
        every: predict at every so many-th of these rows.
        heads: indices into the predictor's heads.
        progress: called with (windows done, windows in all).

    Raises:
        BookError: where no stretch without a gap is long enough for a window and the longest horizon asked for.
    """
    heads = list(range(len(predictor.heads))) if heads is None else heads
    found = predict_scorable(predictor, rows, market, first=first, every=every, heads=heads, progress=progress)
    return [score_head(found, market, h) for h in heads]


def predict_scorable(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    *,
    first: int,
    heads: list[int],
    every: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> RowPredictions:
    """Predict as `evaluate` does, for every head.

    Raises:
        BookError: where no row could be scored for the heads asked for.
    """
    stretches = segments(rows.timestamps)
    longest = max(predictor.heads[h][1] for h in heads)
    if not any(s.stop - max(s.start, first - predictor.window + 1) >= predictor.window + longest for s in stretches):
        raise _too_short(predictor.window, longest, first)
    return predict_rows(predictor, rows, market, first=first, every=every, batch=BATCH, progress=progress)


def score_head(found: RowPredictions, market: MarketCard, head: int) -> HeadResult:
    """Score the rows of one head whose outcome is known; NaN where there are none.

    Args:
        head: index into the predictor's heads.
    """
    known = found.truth[:, head] != UNKNOWN
    truth, called, p = found.truth[known, head], found.calls[known, head], found.probabilities[known, head]
    answers = naive_answers(found.timestamps, found.truth[:, head], found.momentum[:, head], found.heads[head][1])
    confusion, losses = naive_scores(answers, truth, known)
    return HeadResult(
        head=found.heads[head],
        call=market.rules[head].kind,
        confusion={"tlob": scores.confusion_matrix(truth, called), **confusion},
        log_loss={"tlob": scores.log_loss(p, truth), **losses},
        ece=scores.calibration_error(p, truth),
        apart=score_apart(found, head),
        call_gap=float(scores.reliability(p[np.arange(len(called)), called], called == truth)["gap"][0]),
    )


def score_apart(found: RowPredictions, head: int) -> dict[str, float]:
    """Counts the predictions made of a stalled book, `samples`, and the share of their calls that came true, `accuracy`."""
    there = found.apart[:, head] != UNKNOWN
    right = found.calls[there, head] == found.apart[there, head]
    return {"samples": int(there.sum()), "accuracy": float(right.mean()) if len(right) else math.nan}


def call_rows(found: RowPredictions, head: int) -> dict[str, CallRows]:
    """One head's calls by rule ("tlob", "momentum", "stationary"), for the measures of their worth; none of a stalled book."""
    return calls_by_rule(
        horizon=found.heads[head][1],
        timestamps=found.timestamps,
        mid=found.mid,
        spread=found.spread,
        probabilities=found.probabilities[:, head],
        called=np.where(found.stalled, STATIONARY, found.calls[:, head]),
        momentum=np.where(found.stalled, STATIONARY, found.momentum[:, head]),
        truth=found.truth[:, head],
    )


def summarise_value(found: RowPredictions, head: int) -> dict[str, Any]:
    """Measures the value of one head's calls, as JSON's objects: `value` by rule, and TLOB's `precision_by_confidence`.

    Args:
        found: predictions of consecutive rows; with rows left out no move and no trade is known.
    """
    rules = call_rows(found, head)
    return {
        "value": {rule: call_value(rows).summary() for rule, rows in rules.items()},
        "precision_by_confidence": precision_by_confidence(rules["tlob"]),
    }


def _too_short(window: int, longest: int, first: int) -> BookError:
    """Error for data in which no row can be scored."""
    needed = {"rows": window + longest, "window": window, "longest": longest}
    if first:
        return BookError(
            compose(
                "the data has no stretch of {rows} rows without a gap around or after row {first}: "
                "a window of {window} rows and {longest} more to see what happened are needed",
                first=first,
                **needed,
            )
        )
    return BookError(
        compose(
            "the data has no stretch of {rows} rows without a gap: "
            "a window of {window} rows and {longest} more to see what happened are needed",
            **needed,
        )
    )
