"""Scores of a checked ledger: of what was recomputed and written in time, by market, head and day, week or month.

Late predictions stand beside, with what the score would be with them. So does everything else that a score leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import scores
from core.market.book import STEP_MS
from core.market.labels import UNKNOWN, Head, momentum_calls
from core.market.ledger.recomputation import RECOMPUTED, Told
from core.market.ledger.verification import MarketLedger, Verification
from core.market.luck import luck, spaced
from core.market.naive_rules import naive_answers, naive_scores
from core.market.predictor import MarketCard
from core.market.row_predictions import outcomes, stalled_outcomes

Period = Literal["day", "week", "month"]
PERIODS: Final[tuple[Period, ...]] = ("day", "week", "month")
_CODES: Final = {"day": "D", "week": "W-SUN", "month": "M"}

MEASURES: Final = (
    *("samples", "accuracy", "log_loss", "macro_f1", "matthews", "momentum_macro_f1", "momentum_matthews"),
    *("frequencies_matthews", "frequencies_log_loss", "decayed_matthews", "decayed_log_loss", "ece", "luck"),
    *("late", "accuracy_with_late", "matthews_with_late", "stalled", "accuracy_stalled", "unconfirmed", "no_outcome"),
)


def score_card(result: Verification, *, period: Period | None = None) -> pd.DataFrame:
    """One row per market, head, and period (UTC) where one is given; the forward label first (D24).

    Returns:
        Columns market, begins (with a period), head, and `MEASURES`: log_loss in nats; naive rules beside them (D8,
        `core.market.naive_rules`); ece, the calibration error of the likeliest class (D26); luck, the largest chance with which a
        coin that knows the period's class rates would ever have looked as good in it (`core.market.luck`). What was recomputed
        and is not among the samples is counted: late (D28), with accuracy and matthews as they would be with it; stalled, from a
        book that had stood still (D32), with its own accuracy; unconfirmed, its row never was (D27); no_outcome, as the horizon
        reaches past the end, over a gap or over lost rows.
    """
    lines: list[dict[str, Any]] = []
    for market in result.markets:
        if market.told is not None and market.recomputed:
            lines += sorted(_lines(market, period), key=itemgetter("begins"))  # by head within a period
    keys = ["market", "head"] if period is None else ["market", "begins", "head"]
    return pd.DataFrame(lines, columns=[*keys, *MEASURES])


def _lines(market: MarketLedger, period: Period | None) -> Iterator[dict[str, Any]]:
    """A market's lines, by head and then by period."""
    told, header = market.told, market.header
    assert told is not None and header is not None
    made = np.flatnonzero(told.code == RECOMPUTED)
    at, late = told.at[made], told.late[made]
    times, lost = told.rows.timestamps[at], told.lost[at]
    truth, momentum, apart = (np.full((len(at), len(header.heads)), UNKNOWN) for _ in range(3))
    for number in np.unique(told.model[made]).tolist():
        predictor, mine = told.models[number], told.model[made] == number
        assert predictor is not None
        of_rows = _outcomes(told, header.heads, predictor.market(header.market))
        truth[mine], momentum[mine], apart[mine] = (one[at[mine]] for one in of_rows)
    begins = np.zeros(len(at), np.int64)
    if period is not None:
        begins = pd.Series(pd.to_datetime(times, unit="ms")).dt.to_period(_CODES[period]).dt.start_time.to_numpy()
    for i in sorted(range(len(header.heads)), key=lambda i: (header.heads[i][0] != "forward", header.heads[i][1])):
        kind, horizon = header.heads[i]
        y, p, called = truth[:, i], told.probabilities[made, i], told.calls[made, i]
        rules = naive_answers(times, y, momentum[:, i], horizon)
        for begin in np.unique(begins):
            here = begins == begin
            due = here & (y != UNKNOWN)
            timely, stalled = due & ~late, here & (apart[:, i] != UNKNOWN)
            once = np.flatnonzero(timely)[spaced(times[timely], horizon * STEP_MS)]  # calls whose outcomes do not overlap
            confusion, losses = naive_scores(rules, y[timely], timely)
            yield {
                "market": market.name,
                "begins": begin,
                "head": f"{kind}_{horizon}",
                "samples": int(timely.sum()),
                **scores.summary(scores.confusion_matrix(y[timely], called[timely])),
                "log_loss": scores.log_loss(p[timely], y[timely]),
                "ece": scores.calibration_error(p[timely], y[timely]) if timely.any() else float("nan"),
                "luck": luck(called[once], y[once]).chance,
                **{f"{rule}_{name}": value for rule in rules for name, value in scores.summary(confusion[rule]).items()},
                **{f"{rule}_log_loss": value for rule, value in losses.items()},
                **{f"{k}_with_late": v for k, v in scores.summary(scores.confusion_matrix(y[due], called[due])).items()},
                "late": int((due & late).sum()),
                "stalled": int(stalled.sum()),
                "accuracy_stalled": float(scores.accuracy(scores.confusion_matrix(apart[stalled, i], called[stalled]))),
                "unconfirmed": int((here & lost).sum()),
                "no_outcome": int((here & ~lost & ~due & ~stalled).sum()),
            }


def _outcomes(told: Told, heads: tuple[Head, ...], market: MarketCard) -> tuple[NDArray[np.int64], ...]:
    """Three of (rows, heads): what happened after every row, what momentum calls there, and what happened after a stalled book.

    None of them reaches over a gap or a lost row.
    """
    truth, naive, apart = (np.full((len(told.rows), len(heads)), UNKNOWN) for _ in range(3))
    kept = np.flatnonzero(~told.lost)
    for part in np.split(kept, np.flatnonzero(np.diff(told.stretch[kept])) + 1):
        if len(part):
            here = told.rows.take(part)
            truth[part], apart[part] = outcomes(here, heads, market), stalled_outcomes(here, heads, market)
            calls = [momentum_calls(here, horizon, alpha) for (_, horizon), alpha in zip(heads, market.alphas, strict=True)]
            naive[part] = np.stack(calls, axis=1)
    return truth, naive, apart
