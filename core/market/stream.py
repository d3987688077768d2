"""A market's steps as binary frames: encoded once a step, sent to every viewer.

A frame is little-endian float64 but for its end, so that a browser reads it as one `Float64Array`. `SCHEMA` names its numbers;
the page hands it to the browser with everything else, so that names and places stand here alone:

    header | rows: row, levels, per head its parts | trades | outcomes | breaks | heads x scores | keys, sizes of
    bands (float32)

Levels are the 40 columns of the book. `predicted` is 0 or 1; probabilities are the recalibrated ones, a call is their likeliest
class, and the outcome of a head -1 while unknown (`PredictionLog`). A trade's side is 1 bought, -1 sold; a break is a time in
which trades were not followed. `changes` counts a row's bands that changed
(`core.market.bands`), -1 for a row without bands; `whole` is 1 where these are all of them. Keys of all rows come first, then
sizes.
"""

import asyncio
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Final

import numpy as np

from core.market.answers.ahead import Standing
from core.market.answers.one_answer import ANSWER, FEWEST
from core.market.answers.scoreboard import Outcome, Scoreboard
from core.market.bands import BandChange
from core.market.book import FEATURES, STEP_MS, TEN_LEVELS, FloatArray
from core.market.events import Row
from core.market.feeds.protocol import Status
from core.market.session_view import View

STATUSES = tuple(Status)
"""A status is sent as its place here, in a message beside the frames: one that waits to be sent is of an earlier status."""
HEADER: Final = (
    "kind", "step", "heads", "rows", "trades", "outcomes", "receivedMs", "heardMs", "warm", "provisional",
    "tick", "fine", "coarse", "bands", "breaks",
)  # fmt: skip
ROW: Final = ("time", "predicted", "low", "high", "whole", "changes")
PARTS: Final = {"probabilities": 3, "calls": 1, "truth": 1}
SCORES: Final = (
    "outcomes", "independent", "sinceMs", "standing", "decided", "nearest", "nearestCall", "perCall", "untilMs", "right",
    "nearestRight", "usualDown", "usualStationary", "usualUp", "trades", "result", "reach", "hereSinceMs", "hereOutcomes",
    "hereStanding", "hereNearest", "herePerCall", "hereUntilMs",
)  # fmt: skip
STANDINGS: Final = tuple(Standing)
"""A frame names a standing by its place here."""
TRADE: Final = ("time", "price", "size", "side")
BREAK: Final = ("from", "until")
OUTCOME: Final = ("time", "head", "truth")
SCHEMA: Final = {
    "header": HEADER,
    "row": ROW,
    "levels": len(FEATURES),
    "parts": PARTS,
    "trade": TRADE,
    "outcome": OUTCOME,
    "break": BREAK,
    "scores": SCORES,
}
ROW_FIXED: Final = len(ROW) + len(FEATURES)
MAX_BEHIND = 16
"""Frames kept for readers that fell behind: four seconds. One further behind skips to the newest by a snapshot."""


class FrameKind(IntEnum):
    """SNAPSHOT replaces everything a viewer has; STEP adds to it."""

    SNAPSHOT = 1
    STEP = 2


def encode(content: View, kind: FrameKind) -> bytes:
    """The bytes of a frame of a view with scores."""
    heads = len(content.scores)
    rows = np.zeros((len(content.timestamps), ROW_FIXED + 5 * heads))
    rows[:, 0], rows[:, len(ROW) : ROW_FIXED] = content.timestamps, content.levels
    rows[:, ROW.index("changes")] = rows[:, ROW_FIXED + 4 * heads :] = -1
    given = content.bands[max(0, len(content.bands) - len(rows)) :]
    for row, change in zip(rows[len(rows) - len(given) :], given, strict=True):
        if change is not None:
            row[2 : len(ROW)] = change.low, change.high, change.whole, len(change.keys)
    changes = [change for change in given if change is not None]
    keys, sizes = (np.concatenate([np.zeros(0), *(change[i] for change in changes)]).astype("<f4") for i in (3, 4))
    if len(content.predictions):
        _, at, which = np.intersect1d(content.timestamps, content.predictions["timestamp"], return_indices=True)
        p = content.predictions[which]
        rows[at, 1] = 1
        rows[at, ROW_FIXED : ROW_FIXED + 3 * heads] = p["recalibrated"].reshape(len(p), 3 * heads)
        for i, name in enumerate(("answered", "came")):
            start = ROW_FIXED + (3 + i) * heads
            rows[at, start : start + heads] = p[name]
    header = [
        kind,
        content.step,
        heads,
        len(rows),
        len(content.trades),
        len(content.outcomes),
        content.received_ms,
        content.heard_ms,
        content.warm,
        content.provisional,
        content.tick,
        *(content.ladder or (0.0, 0.0)),
        len(keys),
        len(content.breaks),
    ]
    lists = content.trades, content.outcomes, content.breaks, content.scores
    parts = [np.array(header, dtype=np.float64), rows, *lists]
    return b"".join([*(np.ascontiguousarray(part, dtype="<f8").tobytes() for part in parts), keys.tobytes(), sizes.tobytes()])


def score_rows(board: Scoreboard) -> FloatArray:
    """(heads, SCORES), each head's numbers in a frame.

    Of the answers (`core.market.answers.one_answer`): outcomes known, those that do not overlap, the time of the first; how they
    stand and the last decision, as places in `STANDINGS`. Of the nearest rule: its place in `RIVALS`, what it calls now, the lead
    over it in nats a call; the milliseconds until a decision at this rate, infinite where none is in sight; how many of the
    outcomes that do not overlap the answers and that rule called rightly. The share of each class so far. Then a taker's trades
    by the calls, the mean result in basis points after the spread and before fees, and half of its 95 % interval. Last, the same
    of the lead with all that the market's journal knew before (D44). A score of fewer than ten outcomes, or trades, that do not
    overlap is NaN (D39), and so is the last where the journal knew nothing.
    """
    takers = board.taker_results().tolist()
    return np.array([_head_scores(board, head, *taker) for head, taker in enumerate(takers)], dtype=np.float64)


def _head_scores(board: Scoreboard, head: int, trades: float, result: float, reach: float) -> list[float]:
    """One head's row of `score_rows`; trades, their result and its reach are `Scoreboard.taker_results`."""
    one, horizon = board.answers.score(head), board.heads[head][1]
    lead, here = one.lead, one.here
    columns: dict[str, float] = {
        "outcomes": one.outcomes,
        "independent": lead.outcomes,
        "sinceMs": lead.since_ms,
        "standing": STANDINGS.index(lead.standing),
        "decided": STANDINGS.index(one.decided),
        "trades": trades,
    }
    if one.enough:
        columns |= {
            "nearest": lead.nearest,
            "nearestCall": board.rule_call(head, one.nearest),
            "perCall": lead.per_call,
            "untilMs": lead.outcomes_until_decided * horizon * STEP_MS,
            "right": one.right[ANSWER],
            "nearestRight": one.right[one.nearest],
            **dict(zip(("usualDown", "usualStationary", "usualUp"), one.usual.tolist(), strict=True)),
        }
    if trades >= FEWEST:
        columns |= {"result": result, "reach": reach}
    if here.outcomes >= max(FEWEST, lead.outcomes + 1):
        columns |= {
            "hereSinceMs": here.since_ms,
            "hereOutcomes": here.outcomes,
            "hereStanding": STANDINGS.index(here.standing),
            "hereNearest": here.nearest,
            "herePerCall": here.per_call,
            "hereUntilMs": here.outcomes_until_decided * horizon * STEP_MS,
        }
    return [columns.get(name, math.nan) for name in SCORES]


class StepCollector:
    """Changes since the last frame; a session fills it under its own lock and publishes once a batch.

    Attributes:
        rows: new ones, each with its answers (a record of `PredictionLog`) and the change of its bands, if it has them.
        trades: (time, price, size, side). outcomes: of earlier predictions, (timestamp, head, class).
        breaks: (from, until) of the trades.
    """

    def __init__(self) -> None:
        self.stream = FrameStream()
        self._anew = True
        self.rows: list[tuple[Row, tuple[Any, ...] | None, BandChange | None]] = []
        self.trades: list[tuple[float, float, float, float]] = []
        self.outcomes: list[Outcome] = []
        self.breaks: list[tuple[float, float]] = []

    def start_anew(self) -> None:
        """Rows were taken back or begin again: the next frame is no continuation."""
        self._anew = True

    def publish(self, view: Callable[..., View], dtype: np.dtype[np.void]) -> None:
        """Encode what has changed for everybody who watches, and begin collecting again.

        Args:
            view: makes a view with these rows, answers, trades, ...; asked only where somebody watches.
            dtype: of a row's answers.
        """
        frame = None
        if self.stream.viewers and not self._anew:
            answered = [answers for _, answers, _ in self.rows if answers is not None]
            content = view(
                timestamps=np.array([row.timestamp for row, *_ in self.rows], dtype=np.int64),
                levels=np.array([row.levels[TEN_LEVELS] for row, *_ in self.rows]).reshape(-1, 40),
                bands=[bands for *_, bands in self.rows],
                predictions=np.array(answered, dtype=dtype),
                trades=np.array(self.trades).reshape(-1, 4),
                outcomes=np.array(self.outcomes, dtype=np.float64).reshape(-1, 3),
                breaks=np.array(self.breaks, dtype=np.float64).reshape(-1, 2),
            )
            frame = encode(content, FrameKind.STEP)
        self.stream.publish(frame)
        self._anew = False
        self.rows, self.trades, self.outcomes, self.breaks = [], [], [], []


class FrameStream:
    """The last frames of one market, and whom to wake when there is a newer one. May be used from any thread.

    A reader asks for what came after the frame it has. One that is more than `MAX_BEHIND` frames behind, or has frames from
    before a jump, takes a snapshot instead. So a slow reader costs nothing and delays nobody.

    Attributes:
        version: number of the newest frame. Frames are told apart by it: a gap takes rows back without a new step.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._frames: deque[bytes] = deque(maxlen=MAX_BEHIND)
        self.version = 0

    def publish(self, frame: bytes | None) -> None:
        """Make this the newest frame and wake everybody; None: the change is no frame, and all take a snapshot."""
        with self._lock:
            self.version += 1
            if frame is None:
                self._frames.clear()
            else:
                self._frames.append(frame)
        self.wake()

    def after(self, version: int) -> list[bytes] | None:
        """The frames after that of this version, oldest first; None where they are no longer kept."""
        with self._lock:
            behind = self.version - version
            return list(self._frames)[len(self._frames) - behind :] if 0 <= behind <= len(self._frames) else None

    def wake(self) -> None:
        """Let every viewer look again: there is a new frame, or the feed's status has changed."""
        with self._lock:
            loops: dict[asyncio.AbstractEventLoop, list[asyncio.Event]] = {}
            for one, loop in self._waiting.items():
                loops.setdefault(loop, []).append(one)
        for loop, waiting in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, waiting)

    @property
    def viewers(self) -> int:
        """Number of subscribers."""
        with self._lock:
            return len(self._waiting)

    @contextmanager
    def subscribe(self) -> Iterator[asyncio.Event]:
        """An event of the running loop, for as long as the block lasts, which is set when there is something newer."""
        one = asyncio.Event()
        with self._lock:
            self._waiting[one] = asyncio.get_running_loop()
        try:
            yield one
        finally:
            with self._lock:
                self._waiting.pop(one, None)


def _wake(waiting: list[asyncio.Event]) -> None:
    for one in waiting:
        one.set()
