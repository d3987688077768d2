"""One market as a row of the watch wall: what its session says now."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.market.answers.ahead import Standing
from core.market.book import STEP_MS
from core.market.labels import DOWN, UP
from core.market.session import MarketSession
from core.market.session_view import Status

SPARK_ROWS = 240
"""Most rows whose mids are drawn: one minute."""
LOST = (Status.STALE, Status.FAILED, Status.RECONNECTING, Status.INTERRUPTED)
"""Statuses in which the book of now is not known. Of one that is stalled it is, as far as the venue says."""
WAITING = (Status.PAUSED, Status.ENDED)
"""Statuses in which no book is due, so that the newest one has no age."""


@dataclass(frozen=True, kw_only=True)
class WallRow:
    """A market now, for one label and horizon.

    Attributes:
        symbol: of the feed. message: what the feed says of its status; "" for nothing.
        warm: rows since the last gap, up to the window.
        mids: of the newest rows without a gap, oldest first, at most `SPARK_ROWS`.
        call: the likeliest class of the answer on the newest row; None without a prediction, or where the feed is stale or lost.
        net: P(up) - P(down) of that answer; NaN where `call` is None.
        independent: outcomes so far that do not overlap. nearest: name of the nearest naive rule on them, "" below ten.
        lead: over that rule, nats a call; NaN below ten. standing: of the answers beside all rules.
        look: how far apart the chances of up and down are, where the answers are ahead of the rules; else 0.
        age_s: seconds since the newest book arrived; NaN before the first, and while none is due.
    """

    symbol: str
    status: Status
    message: str
    warm: int
    mids: tuple[float, ...]
    call: int | None
    net: float
    independent: int
    nearest: str
    lead: float
    standing: Standing
    look: float
    age_s: float


def wall_row(session: MarketSession, head: int) -> WallRow:
    """The session's row.

    Args:
        head: index of the label and horizon.
    """
    view = session.view(SPARK_ROWS)
    mids = (view.levels[:, 0] + view.levels[:, 2]) / 2
    gaps = np.flatnonzero(np.diff(view.timestamps) > STEP_MS)
    begins = int(gaps[-1]) + 1 if len(gaps) else 0
    call, net = None, math.nan
    answered = len(view.predictions) > 0 and view.predictions[-1]["timestamp"] == view.timestamps[-1]
    if answered and view.status not in LOST:
        newest = view.predictions[-1]
        call, p = int(newest["answered"][head]), newest["recalibrated"][head]
        net = float(p[UP]) - float(p[DOWN])
    score = session.answer_score(head)
    ahead = score.lead.standing is Standing.AHEAD
    due = math.isfinite(view.age_ms) and view.status not in WAITING
    return WallRow(
        symbol=session.feed.market,
        status=view.status,
        message=view.message,
        warm=view.warm,
        mids=tuple(mids[begins:].tolist()),
        call=call,
        net=net,
        independent=score.independent,
        nearest=score.nearest if score.enough else "",
        lead=score.lead.per_call if score.enough else math.nan,
        standing=score.lead.standing,
        look=abs(net) if call is not None and ahead else 0.0,
        age_s=view.age_ms / 1e3 if due else math.nan,
    )
