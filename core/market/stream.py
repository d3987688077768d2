"""A market's steps as binary frames: encoded once a step, sent to every viewer.

A frame is little-endian float64 throughout, so that a browser reads it as one `Float64Array`:

    header (HEADER numbers) | rows x row_width | trades x 4 | outcomes x 3 | heads x SCORES

A row is its timestamp, the 40 columns of the book, whether there is a prediction (0 or 1), then per head three probabilities, and
per head the call, momentum's call and the outcome (-1 while unknown). A trade is time, price, size and side (1 bought, -1 sold).
An outcome is the timestamp of a prediction, its head, and what happened. `assets/scripts/terminal_data.js` is the reader.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import scores
from core.market.book import FloatArray
from core.market.scoreboard import Scoreboard
from core.market.session_view import Status

STATUSES = tuple(Status)
"""A frame names a status by its place here."""
HEADER = 11
SCORES = 8
ROW_FIXED = 42


class FrameKind(IntEnum):
    """SNAPSHOT replaces everything a viewer has; STEP adds to it."""

    SNAPSHOT = 1
    STEP = 2


@dataclass(frozen=True, kw_only=True)
class SessionPresent:
    """What holds of a session at one step.

    Attributes:
        step: number of the newest row; everything drawn from this frame carries it.
        warm: rows since the last gap, up to the window.
        scores: (heads, SCORES), see `score_row`.
        received_ms: when the newest row's book came, by this machine's clock; 0 before the first.
        provisional: how many of the newest rows still wait to be confirmed (D27).
        began_ms: timestamp from which the scores count; 0 before the first.
    """

    step: int
    status: Status
    warm: int
    scores: FloatArray
    received_ms: float
    provisional: int
    began_ms: float


@dataclass(frozen=True, kw_only=True)
class FrameContent:
    """What one frame tells.

    Attributes:
        timestamps: (n,) milliseconds; levels: (n, 40).
        predictions: structured rows of `PredictionLog`, for any of these timestamps.
        trades: (m, 4) time in ms, price, size, side. outcomes: (k, 3) timestamp, head, class.
    """

    kind: FrameKind
    timestamps: NDArray[np.int64]
    levels: FloatArray
    predictions: NDArray[np.void]
    trades: FloatArray
    outcomes: FloatArray
    present: SessionPresent


def encode(content: FrameContent) -> bytes:
    """A frame's bytes."""
    now = content.present
    heads = len(now.scores)
    rows = np.zeros((len(content.timestamps), ROW_FIXED + 6 * heads))
    rows[:, 0], rows[:, 1:41] = content.timestamps, content.levels
    rows[:, ROW_FIXED + 5 * heads :] = -1
    if len(content.predictions):
        p = content.predictions
        at = np.searchsorted(content.timestamps, p["timestamp"])
        whole = at < len(content.timestamps)
        at, p = at[whole], p[whole]
        same = content.timestamps[at] == p["timestamp"]
        at, p = at[same], p[same]
        rows[at, 41] = 1
        rows[at, ROW_FIXED : ROW_FIXED + 3 * heads] = p["probabilities"].reshape(len(p), -1)
        for i, name in enumerate(("calls", "momentum", "truth")):
            start = ROW_FIXED + (3 + i) * heads
            rows[at, start : start + heads] = p[name]
    header = [
        content.kind,
        now.step,
        heads,
        len(rows),
        len(content.trades),
        len(content.outcomes),
        now.received_ms,
        STATUSES.index(now.status),
        now.warm,
        now.provisional,
        now.began_ms,
    ]
    parts = [np.array(header, dtype=np.float64), rows, content.trades, content.outcomes, now.scores]
    return b"".join(np.ascontiguousarray(part, dtype="<f8").tobytes() for part in parts)


def score_row(board: Scoreboard, head: int) -> list[float]:
    """One head's numbers in a frame.

    Predictions scored; Matthews correlation of TLOB and momentum, macro-F1 of both; then how many the latest scores cover, and
    Matthews correlation of both over those.
    """
    tlob, naive = board.confusion(head)
    recent = board.latest(head)
    return [
        float(tlob.sum()),
        float(scores.matthews(tlob)),
        float(scores.matthews(naive)),
        float(scores.macro_f1(tlob)),
        float(scores.macro_f1(naive)),
        float(recent[0].sum()),
        float(scores.matthews(recent[0])),
        float(scores.matthews(recent[1])),
    ]


class StepCollector:
    """What has changed since the last frame; a session fills it under its own lock and publishes once a batch.

    Attributes:
        version: number of the last published frame. Frames are told apart by it: a gap takes rows back without a new step.
    """

    def __init__(self) -> None:
        self.stream = FrameStream()
        self.version = 0
        self._anew = True
        self._rows: list[tuple[int, FloatArray, tuple[Any, ...] | None]] = []
        self._trades: list[tuple[float, float, float, float]] = []
        self._outcomes: list[tuple[float, float, float]] = []

    def add_row(self, timestamp: int, levels: FloatArray, prediction: tuple[Any, ...] | None) -> None:
        """A new row, and its prediction (one record of `PredictionLog`), if it has one."""
        self._rows.append((timestamp, levels, prediction))

    def add_trade(self, trade: tuple[float, float, float, float]) -> None:
        """A trade: time, price, size, side."""
        self._trades.append(trade)

    def add_outcomes(self, outcomes: Iterable[tuple[int, int, int]]) -> None:
        """What happened after earlier predictions: (timestamp, head, class)."""
        self._outcomes.extend((float(t), float(head), float(truth)) for t, head, truth in outcomes)

    def start_anew(self) -> None:
        """Rows were taken back or begin again: the next frame is no continuation."""
        self._anew = True

    def publish(self, present: SessionPresent, dtype: np.dtype[np.void]) -> None:
        """Encode what has changed for everybody who watches, and begin collecting again."""
        previous, self.version = self.version, self.version + 1
        if self.stream.viewers and not self._anew:
            predicted = [prediction for *_, prediction in self._rows if prediction is not None]
            frame = encode(
                FrameContent(
                    kind=FrameKind.STEP,
                    timestamps=np.array([timestamp for timestamp, *_ in self._rows], dtype=np.int64),
                    levels=np.array([levels for _, levels, _ in self._rows]).reshape(-1, 40),
                    predictions=np.array(predicted, dtype=dtype),
                    trades=np.array(self._trades).reshape(-1, 4),
                    outcomes=np.array(self._outcomes).reshape(-1, 3),
                    present=present,
                )
            )
            self.stream.publish(frame, previous=previous, version=self.version)
        else:
            self.stream.publish(b"", previous=-1, version=self.version)
        self._anew = False
        self._rows, self._trades, self._outcomes = [], [], []


class Subscription:
    """One viewer's place at a stream: wakes when there is a newer frame, and keeps none."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.changed = asyncio.Event()


class FrameStream:
    """The newest frame of one market, and whom to wake when it changes. `publish` may be called from any thread.

    A viewer that comes back late finds only the newest frame. Its `previous` tells whether the viewer missed some; then it takes
    a snapshot instead. So a slow reader costs nothing and delays nobody.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: set[Subscription] = set()
        self._frame, self._previous, self._version = b"", -1, 0

    def publish(self, frame: bytes, *, previous: int, version: int) -> None:
        """Make this the newest frame, which continues the one of version `previous` (-1: none), and wake everybody."""
        with self._lock:
            self._frame, self._previous, self._version = frame, previous, version
        self.wake()

    def wake(self) -> None:
        """Let every viewer look again: there is a new frame, or the feed's status has changed."""
        with self._lock:
            loops: dict[asyncio.AbstractEventLoop, list[Subscription]] = {}
            for one in self._subscriptions:
                loops.setdefault(one.loop, []).append(one)
        for loop, waiting in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, waiting)

    def newest(self) -> tuple[bytes, int, int]:
        """The newest frame, the version it continues, and its own version."""
        with self._lock:
            return self._frame, self._previous, self._version

    @property
    def viewers(self) -> int:
        """How many are subscribed."""
        with self._lock:
            return len(self._subscriptions)

    @contextmanager
    def subscribe(self) -> Iterator[Subscription]:
        """A subscription in the running loop, for as long as the block lasts."""
        one = Subscription(asyncio.get_running_loop())
        with self._lock:
            self._subscriptions.add(one)
        try:
            yield one
        finally:
            with self._lock:
                self._subscriptions.discard(one)


def _wake(waiting: list[Subscription]) -> None:
    for one in waiting:
        one.changed.set()
