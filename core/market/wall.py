"""One market as a row of the watch wall: what its session says now."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

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
        key, symbol: of the feed. message: what the feed says of its status; "" for nothing.
        warm: rows since the last gap, up to the window.
        mids: of the newest rows without a gap, oldest first, at most `SPARK_ROWS`.
        call: the class called on the newest row; None without a prediction, or where the feed is stale or lost.
        net: P(up) - P(down) of that prediction; NaN where `call` is None.
        scored: predictions in the two scores, at most `core.market.answers.scoreboard.LATEST`.
        tlob, momentum: Matthews correlation over those; NaN where there are none.
        age_s: seconds since the newest book arrived; NaN before the first, and while none is due.
    """

    key: str
    symbol: str
    status: Status
    message: str
    warm: int
    mids: tuple[float, ...]
    call: int | None
    net: float
    scored: int
    tlob: float
    momentum: float
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
    predicted = len(view.predictions) > 0 and view.predictions[-1]["timestamp"] == view.timestamps[-1]
    if predicted and view.status not in LOST:
        newest = view.predictions[-1]
        call, p = int(newest["calls"][head]), newest["probabilities"][head]
        net = float(p[UP]) - float(p[DOWN])
    scored, tlob, momentum = session.latest_scores(head)
    due = math.isfinite(view.age_ms) and view.status not in WAITING
    return WallRow(
        key=session.feed.key,
        symbol=session.feed.market,
        status=view.status,
        message=view.message,
        warm=view.warm,
        mids=tuple(mids[begins:].tolist()),
        call=call,
        net=net,
        scored=scored,
        tlob=tlob if scored else math.nan,
        momentum=momentum if scored else math.nan,
        age_s=view.age_ms / 1e3 if due else math.nan,
    )
