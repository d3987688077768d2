"""What a session's loop hands to its worker thread, in order."""

from __future__ import annotations

from dataclasses import dataclass

from core.market.book import FloatArray
from core.market.feeds.protocol import Trade
from core.market.predictor import Predictions


@dataclass(frozen=True)
class QueuedRow:
    """A row of the grid for the worker; `received_ns` is when its book arrived, `formed_ns` when the row was formed."""

    timestamp: int
    levels: FloatArray
    received_ns: int
    formed_ns: int
    provisional: bool


@dataclass(frozen=True)
class ConfirmedUntil:
    """Rows up to this time are confirmed, milliseconds since the epoch (D27)."""

    until_ms: int


@dataclass(frozen=True)
class ProvisionalRow:
    """A row that is not confirmed yet, and its prediction: row `which` of `predictions`."""

    timestamp: int
    mid: float
    predictions: Predictions | None
    which: int
    spread: float


QueueItem = QueuedRow | ConfirmedUntil | Trade | None
"""An item of the worker's queue; None is a gap."""
