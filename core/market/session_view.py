"""What a page is handed of a session: a consistent copy, to be read and drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from core.market.book import FloatArray


class Status(StrEnum):
    """What the page says of the feed: always true, never hopeful."""

    CONNECTING = "connecting"
    WARMING = "warming"
    LIVE = "live"
    REPLAYING = "replaying"
    SIMULATING = "simulating"
    PAUSED = "paused"
    RECONNECTING = "reconnecting"
    STALE = "stale"
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Latency:
    """What the last steps took, milliseconds: median and 95th percentile over up to 500 batches that ended on a new book.

    Attributes:
        feed: book received to row complete. features, model: for one row of the batch it came in. total: received to
            prediction ready.
    """

    feed: tuple[float, float]
    features: tuple[float, float]
    model: tuple[float, float]
    total: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class View:
    """A consistent copy of a session's present.

    Attributes:
        step: rows seen since the session began; two viewers with the same step see the same.
        warm: rows since the last gap, up to the window.
        timestamps: (n,) milliseconds; levels: (n, 40); both oldest first.
        trades: (m, 4) time in ms, price, size, and 1 for an aggressive buy, -1 for a sell, 0 unknown.
        predictions: structured rows of `core.market.scoreboard.PredictionLog`, oldest first.
        age_ms: since the last book came; infinite before the first. received_ms: wall time at which the newest row's book came.
    """

    status: Status
    message: str
    step: int
    warm: int
    timestamps: NDArray[np.int64]
    levels: FloatArray
    trades: FloatArray
    predictions: NDArray[np.void]
    age_ms: float
    received_ms: float
    latency: Latency


def latency_of(rows: FloatArray) -> Latency:
    """From (n, 4) times in milliseconds: feed, features, model, total; NaN throughout where there are none."""
    if not len(rows):
        nothing = (math.nan, math.nan)
        return Latency(feed=nothing, features=nothing, model=nothing, total=nothing)
    middle, high = np.percentile(rows, [50, 95], axis=0)
    feed, features, model, total = ((float(a), float(b)) for a, b in zip(middle, high, strict=True))
    return Latency(feed=feed, features=features, model=model, total=total)
