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

from core.market.answers.naive import NAIVE, naive_answers
from core.market.answers.predictions import outcomes, stalled_outcomes
from core.market.answers.table import Answered, Scores, Table
from core.market.answers.value import luck, spaced
from core.market.book import STEP_MS
from core.market.labels import UNKNOWN, Head, momentum_calls
from core.market.ledger.verification import RECOMPUTED, MarketLedger, Told, Verification
from core.market.predictor import MarketCard

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
        docs/value.md); ece, the calibration error of the likeliest class (D26); luck, the largest chance with which a
        coin that knows the period's class rates would ever have looked as good in it (docs/value.md). What was recomputed
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
    assert told is not None and header is not None and told.predictor is not None  # as something was recomputed
    made = np.flatnonzero(told.code == RECOMPUTED)
    at, late = told.at[made], told.late[made]
    times, lost = told.rows.timestamps[at], told.lost[at]
    truth, momentum, apart = (one[at] for one in _outcomes(told, header.heads, told.predictor.market(header.market)))
    begins = np.zeros(len(at), np.int64)
    if period is not None:
        begins = pd.Series(pd.to_datetime(times, unit="ms")).dt.to_period(_CODES[period]).dt.start_time.to_numpy()
    for i in sorted(range(len(header.heads)), key=lambda i: (header.heads[i][0] != "forward", header.heads[i][1])):
        kind, horizon = header.heads[i]
        rows = {"timestamp": times, "truth": truth[:, i], "apart": apart[:, i], "late": late, "lost": lost, "begins": begins}
        mine = {"tlob": Answered(calls=told.calls[made, i], probabilities=told.probabilities[made, i])}
        naive = naive_answers(times, truth[:, i], momentum[:, i], horizon)
        whole = Table(head=header.heads[i], rows=pd.DataFrame(rows), answers=mine | naive)
        for begin in np.unique(begins):
            part = whole[begins == begin]
            due, stalled = part.known, part[part.column("apart") != UNKNOWN]
            timely = due[~due.column("late")]
            scored, called = timely.score(), timely.answers["tlob"].calls
            once = spaced(timely.column("timestamp"), horizon * STEP_MS)  # calls whose outcomes do not overlap
            with_late = Scores.of(due.truth, due.answers["tlob"]).summary()
            still = Scores.of(stalled.column("apart"), stalled.answers["tlob"])
            yield {
                "market": market.name,
                "begins": begin,
                "head": f"{kind}_{horizon}",
                "samples": len(timely),
                **scored["tlob"].summary(),
                "luck": luck(called[once], timely.truth[once]).chance,
                **{f"{rule}_{name}": value for rule in NAIVE for name, value in scored[rule].summary().items()},
                **{f"{name}_with_late": value for name, value in with_late.items()},
                "late": len(due) - len(timely),
                "stalled": still.samples,
                "accuracy_stalled": still.summary()["accuracy"],
                "unconfirmed": int(part.column("lost").sum()),
                "no_outcome": int((~part.column("lost")).sum()) - len(due) - len(stalled),
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
