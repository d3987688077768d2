"""A consistent copy of a session's state, for a page to draw."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from core.market.bands import BandChange, Ladder
from core.market.book import FloatArray
from core.market.feeds.situations import Since

MINUTE_MS = 60_000
DAY_MINUTES = 24 * 60


class Status(StrEnum):
    """The feed's status as a page shows it."""

    CONNECTING = "connecting"
    WARMING = "warming"
    LIVE = "live"
    REPLAYING = "replaying"
    SIMULATING = "simulating"
    PAUSED = "paused"
    RECONNECTING = "reconnecting"
    INTERRUPTED = "interrupted"
    """The venue answers, and no row can be made: see `core.market.feeds.situations`."""
    STALE = "stale"
    STALLED = "stalled"
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class View:
    """A consistent copy of a session's state: its newest rows, or what a step has changed.

    Attributes:
        step: number of the newest row since the session began, which everything drawn from it carries.
        warm: rows since the last gap, up to the window.
        provisional: how many of the newest rows the venue has not confirmed yet; they and their predictions may be dropped (D27).
        received_ms: when the newest row's book arrived, milliseconds since the epoch; 0 before the first.
        timestamps: (n,) milliseconds; levels: (n, 40); both oldest first.
        trades: (m, 4) time in ms, price, size, and 1 for an aggressive buy, -1 for a sell, 0 unknown.
        predictions: structured rows of `core.market.answers.scoreboard.PredictionLog`, oldest first, for any of these timestamps.
        breaks: (b, 2) from when until when trades were not followed, milliseconds.
        age_ms: since the last book arrived; infinite before the first. message: the feed's, or "".
        situations: states of the market and its stream that pass, with their beginnings.
        scores: (heads, SCORES), see `core.market.stream.score_rows`; none where they were not asked for.
        began_ms: timestamp from which the scores count; 0 before the first.
        tick: the market's smallest step of price, quote currency; 0 where it is not known yet.
        ladder: steps of price of the bands; None where there are none. bands: what changed in those of the last rows, a row each;
            None for one that has none.
        outcomes: (k, 3) timestamp, head, class of earlier predictions.
    """

    status: Status
    step: int
    warm: int
    provisional: int
    received_ms: float
    timestamps: NDArray[np.int64]
    levels: FloatArray
    trades: FloatArray
    predictions: NDArray[np.void]
    age_ms: float = math.inf
    message: str = ""
    situations: tuple[Since, ...] = ()
    breaks: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    scores: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    began_ms: float = 0.0
    tick: float = 0.0
    ladder: Ladder | None = None
    bands: Sequence[BandChange | None] = ()
    outcomes: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))


class DayOfRows:
    """Confirmed rows in each whole minute of a feed's newest day (UTC), from the first whole minute in which it was followed."""

    def __init__(self) -> None:
        self._first = 0  # minutes since the epoch
        self._rows: list[int] = []

    def take(self, timestamp: int) -> None:
        """The next confirmed row."""
        minute = timestamp // MINUTE_MS
        if not self._rows or minute // DAY_MINUTES != self._first // DAY_MINUTES:
            self._first, self._rows = minute + bool(timestamp % MINUTE_MS), [0]
        if minute >= self._first:
            self._rows += [0] * (minute - self._first + 1 - len(self._rows))
            self._rows[minute - self._first] += 1

    def whole_minutes(self, now_ms: int) -> tuple[int, tuple[int, ...]]:
        """Time of the first minute in milliseconds, and the rows of each one that is over by now; of a silent minute 0."""
        count = min(now_ms // MINUTE_MS, (self._first // DAY_MINUTES + 1) * DAY_MINUTES) - self._first if self._rows else 0
        rows = self._rows[: max(0, count)]
        return self._first * MINUTE_MS, (*rows, *[0] * (count - len(rows)))


STAGES = ("feed", "features", "model", "total")
"""From the book received to its row; features and model for one row of its batch; from the book received to its prediction."""
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of a stage's histogram, seconds."""


class LatencyLog:
    """Durations of a session's steps: those of the last 500 batches that ended on a new book, and a histogram of all.

    Attributes:
        predictions: made so far. batches: milliseconds of the last ones, in the order of `STAGES`.
    """

    def __init__(self) -> None:
        self.predictions = 0
        self.batches: deque[tuple[float, ...]] = deque(maxlen=500)
        self._counts = {stage: [0] * (len(BUCKETS_S) + 1) for stage in STAGES}
        self._sums = dict.fromkeys(STAGES, 0.0)

    def add(self, *durations_ms: float) -> None:
        """One batch: milliseconds in the order of `STAGES`."""
        self.batches.append(durations_ms)
        for stage, value in zip(STAGES, durations_ms, strict=True):
            self._counts[stage][bisect_left(BUCKETS_S, value / 1e3)] += 1
            self._sums[stage] += value / 1e3

    def recent(self) -> dict[str, tuple[float, float]]:
        """Median and 95th percentile of each stage over the last batches, milliseconds; NaN where there are none."""
        rows = np.array(self.batches or [[math.nan] * len(STAGES)], dtype=np.float64)
        return {stage: (float(a), float(b)) for stage, a, b in zip(STAGES, *np.percentile(rows, [50, 95], axis=0), strict=True)}

    def histogram(self, stage: str) -> tuple[list[tuple[str, float]], float]:
        """Upper bound in seconds and how many batches took no longer, as Prometheus counts; and the sum in seconds."""
        bounds = [*map(str, BUCKETS_S), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self._counts[stage])), strict=True)), self._sums[stage]
