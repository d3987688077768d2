"""Checks the alerts of every running session once a second, whether or not a page shows it."""

from __future__ import annotations

import logging
import math
import os
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from core.market.alerts import DELTA_S, AlertBook, MarketState
from core.market.book import ASK_SIZES, BID_SIZES, STEP_MS
from core.market.feeds.background import background_loop
from core.market.hub import hub
from core.market.marks import KINDS
from core.market.session import MarketSession
from core.market.webhook import WebhookSender
from core.once import once

FILE_VARIABLE: Final = "OBSERVATORY_ALERTS"
"""Environment variable: the file of the alerts of those whose alerts outlive their browser tab."""
DEFAULT_FILE: Final = Path("recordings") / "alerts.json"
SECRET_VARIABLE: Final = "OBSERVATORY_WEBHOOK_SECRET"
"""Environment variable: the secret that signs webhooks; without it each start of the app draws one, which no receiver knows."""
EVERY_S: Final = 1.0

log = logging.getLogger(__name__)


def market_of(key: str) -> str:
    """A feed's key without whose playback it is: an alert on a recording holds for each playback that its owner watches."""
    return key.split("~", 1)[0]


def state_of(session: MarketSession, owners: frozenset[str] | None = None) -> MarketState:
    """State of a session now, as the alerts' rules read it.

    Args:
        owners: whose rules it may set off; None for all.
    """
    view = session.view(DELTA_S * 1000 // STEP_MS + 1)
    times, levels, trades = view.timestamps, view.levels, view.trades
    probabilities: dict[str, tuple[float, float, float]] = {}
    scores: dict[str, tuple[int, float, float]] = {}
    newest = view.predictions[-1] if len(view.predictions) and view.predictions[-1]["timestamp"] == times[-1] else None
    for i, (label, horizon) in enumerate(session.predictor.heads):
        if newest is not None:
            down, still, up = (float(p) for p in newest["probabilities"][i])
            probabilities[f"{label}_{horizon}"] = (down, still, up)
        scores[f"{label}_{horizon}"] = session.latest_scores(i)
    mid = imbalance = delta = move = math.nan
    if len(levels):
        first = int(np.flatnonzero(np.diff(times, prepend=times[0] - 2 * STEP_MS) > STEP_MS)[-1])  # of what is without a gap
        mids, bids, asks = (levels[first:, 0] + levels[first:, 2]) / 2, levels[-1, BID_SIZES].sum(), levels[-1, ASK_SIZES].sum()
        mid, imbalance, move = float(mids[-1]), float((bids - asks) / (bids + asks)), float(mids[-1] - mids[0])
        delta = float((trades[:, 2] * trades[:, 3])[trades[:, 0] > times[first]].sum())
    return MarketState(
        feed=session.feed.key,
        market=market_of(session.feed.key),
        owners=owners,
        symbol=session.feed.market,
        status=view.status,
        mid=mid,
        probabilities=probabilities,
        scores=scores,
        time_ms=int(times[-1]) if len(times) else 0,
        imbalance=imbalance,
        delta=delta,
        move=move,
        eaten=tuple(mark for mark in session.marks() if KINDS[mark.kind] == "eaten"),
    )


class AlertMonitor:
    """A daemon thread that checks a book of alerts against the running sessions."""

    def __init__(self, book: AlertBook) -> None:
        self.book = book
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            watched = self.book.markets()
            if not watched:
                continue
            running = hub().sessions()
            self.book.forget(session.feed.key for session in running)
            for session in running:
                if market_of(session.feed.key) in watched:
                    live = session.feed.clock != "event"
                    owners = None if live else self.book.owners_of(hub().viewers(session.feed.key))
                    try:
                        self.book.check(state_of(session, owners))
                    except Exception:  # one session's fault must not silence the others' alerts
                        log.exception("the alerts of %s could not be checked", session.feed.key)

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join(timeout=5)


def alert_file() -> Path:
    """The file of alerts, by the environment."""
    return Path(os.environ.get(FILE_VARIABLE, "").strip() or DEFAULT_FILE)


@once
def alert_book(lasting: Callable[[str], bool]) -> AlertBook:
    """The process's alerts, read from their file; the monitor starts with them.

    Args:
        lasting: whether an owner's rules are kept in the file.
    """
    deliver = WebhookSender(background_loop(), os.environ.get(SECRET_VARIABLE) or secrets.token_hex(16))
    book = AlertBook(alert_file(), lasting=lasting, deliver=deliver)
    AlertMonitor(book)
    return book
