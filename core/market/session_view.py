"""A consistent copy of a session's state, for a page to draw."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.market.bands import BandChange, Ladder
from core.market.book import FloatArray
from core.market.feeds.situations import LIVE, SILENT
from core.market.grid import DAY_MS

MINUTE_MS = 60_000


@dataclass(frozen=True, kw_only=True)
class View:
    """A consistent copy of a session's state: its newest rows, or what a step has changed.

    Attributes:
        step: number of the newest row since the session began, which everything drawn from it carries.
        warm: rows since the last gap, up to the window.
        provisional: how many of the newest rows the venue has not confirmed yet; they and their predictions may be dropped (D27).
        received_ms: when the newest row's book arrived, milliseconds since the epoch; 0 before the first.
        heard_ms: when the newest message came; a book that was asked for beside a quiet stream is none.
        timestamps: (n,) milliseconds; levels: (n, 40); both oldest first.
        trades: (m, 4) time in ms, price, size, and 1 for an aggressive buy, -1 for a sell, 0 unknown.
        predictions: structured rows of `core.market.answers.scoreboard.PredictionLog`, oldest first, for any of these timestamps.
        breaks: (b, 2) from when until when trades were not followed, milliseconds.
        scores: (heads, SCORES), see `core.market.stream.score_rows`.
        tick: the market's smallest step of price, quote currency; 0 where it is not known yet.
        ladder: steps of price of the bands; None where there are none. bands: what changed in those of the last rows, a row each;
            None for one that has none.
        outcomes: (k, 3) timestamp, head, class of earlier predictions.
    """

    step: int
    warm: int
    provisional: int
    received_ms: float
    heard_ms: float
    timestamps: NDArray[np.int64]
    levels: FloatArray
    trades: FloatArray
    predictions: NDArray[np.void]
    breaks: FloatArray
    scores: FloatArray
    tick: float
    ladder: Ladder | None
    bands: Sequence[BandChange | None]
    outcomes: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))


GOOD: Final = 0.98
"""Share of a minute from which on a feed was live in it."""

UNHEARD_MS: Final = 5_000
"""Time between two looks at a feed from which on nobody looked, as on a computer that slept."""


class DayOfStates:
    """The state of a feed in each whole minute of its newest day (UTC), from the first one in which it was followed throughout.

    That is the one that lasted longest of those that are not live, or live where these took less than a fiftieth of the minute.

    Attributes:
        known: end of the last whole minute in milliseconds, and the begin of each state until the next one's.
    """

    def __init__(self) -> None:
        self.known: tuple[int, tuple[tuple[int, str], ...]] = 0, ()
        self._whole, self._spent_ms = False, Counter[str]()
        self._last_ms, self._state = 0, SILENT

    def enter(self, now_ms: int, state: str) -> None:
        """The state from this moment on."""
        begin = now_ms // MINUTE_MS * MINUTE_MS
        if self._last_ms and begin > self._last_ms:
            self._close(begin)
        self._spend(now_ms, max(begin, self._last_ms) if self._last_ms else now_ms)
        self._last_ms, self._state = now_ms, state

    def _spend(self, until_ms: int, since_ms: int) -> None:
        self._spent_ms[self._state if until_ms - self._last_ms <= UNHEARD_MS else SILENT] += until_ms - since_ms

    def _close(self, now_ms: int) -> None:
        """Whole minutes are over at `now_ms`, which one begins: the one looked at last, and silent ones after it."""
        begin = self._last_ms // MINUTE_MS * MINUTE_MS
        over = begin + MINUTE_MS
        self._spend(over, self._last_ms)
        live = self._spent_ms.pop(LIVE, 0)
        others = self._spent_ms.total()
        midnight = now_ms // DAY_MS * DAY_MS
        runs = self.known[1] if begin >= midnight else ()
        if self._whole and begin >= midnight:
            state = LIVE if live >= GOOD * (live + others) else self._spent_ms.most_common(1)[0][0]
            runs = _with_run(runs, begin, state)
        if now_ms > max(over, midnight):
            runs = _with_run(runs, max(over, midnight), SILENT)
        self.known, self._whole, self._spent_ms = (now_ms, runs), True, Counter[str]()


def _with_run(runs: tuple[tuple[int, str], ...], begin_ms: int, state: str) -> tuple[tuple[int, str], ...]:
    return runs if runs and runs[-1][1] == state else (*runs, (begin_ms, state))
