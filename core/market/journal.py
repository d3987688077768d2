"""The journal of predictions: what a checkpoint says of a recording's rows, written down before it is known what comes (D28).

A journal begins with its recording, as a market's day does and as a restart does: the window, and what the recalibration has
learned, are of the rows recorded since then, so that both can be made again from the files alone (`core.market.made_again`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.market.answers.scoreboard import Scoreboard
from core.market.book import LEVELS, STEP_MS, FloatArray
from core.market.events import Row
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import FeedEvent
from core.market.grid import StandStill
from core.market.labels import Head
from core.market.predictor import POOLED, MarketCard, Predictions, Predictor, identity
from core.market.recent_rows import RunningWindow
from core.market.store.call_columns import CalledBy
from core.market.store.segments import begins_anew

AWAITED_MS: Final = 60_000
"""Longest that a row waits for the venue's word and is called; a venue without any check confirms none (D27)."""


class Answer(NamedTuple):
    """A row's prediction: `which` of `of`."""

    of: Predictions
    which: int


class KnownPast:
    """Outcomes of a recording's rows so far, confirmed ones in their order, and what the recalibration learned of them.

    Attributes:
        until_ms: the newest of them; 0 before the first.
    """

    def __init__(self, heads: Sequence[Head], entry: MarketCard) -> None:
        self._heads, self._entry = heads, entry
        self._begin()

    def _begin(self) -> None:
        kept = 2 * max(horizon for _, horizon in self._heads)
        own = self._entry.name == POOLED
        self._board = Scoreboard(self._heads, self._entry.alphas, own_thresholds=own, kept=kept)
        self._still = StandStill()
        self.until_ms = 0

    def learn(self, timestamp: int, levels: FloatArray, answer: Answer | None) -> None:
        """The next row, its levels (40,), and what was predicted there."""
        if begins_anew(self.until_ms, timestamp):
            self._begin()
        elif timestamp != self.until_ms + STEP_MS:
            self._board.gap()
        self.until_ms = timestamp
        predictions, which = answer or (None, 0)
        mid, stalled = float(levels[0] + levels[2]) / 2, self._still.take(timestamp, levels)
        self._board.step(timestamp, mid, predictions, which, spread=float(levels[0] - levels[2]), stalled=stalled)

    def recalibrated(self, raw: NDArray[np.float32]) -> NDArray[np.float32]:
        """(heads, 3) probabilities -> (heads, 3) by what is known."""
        return self._board.recalibrated(raw)


class Caller:
    """Predicts at a recording's rows. Used by one thread at a time.

    Args:
        entry: of the predictor's card for the market. clock_ms: milliseconds since the epoch, by the clock of the rows.
    """

    def __init__(self, predictor: Predictor, entry: MarketCard, *, clock_ms: Callable[[], int] = CLOCK.now_ms) -> None:
        weights, card = identity(predictor.card)
        self.by = CalledBy(weights=weights, card=card, entry=entry.name, heads=predictor.heads)
        self._predictor, self._entry, self._clock_ms = predictor, entry, clock_ms
        self._window = RunningWindow(predictor.window, daily=True)
        self._past = KnownPast(predictor.heads, entry)

    def answers(self, batch: Sequence[FeedEvent]) -> Iterator[Answer | None]:
        """For each event the prediction there: at a row that ends a whole window."""
        lengths, windows = self._window.slide(batch)
        predictions = self._predictor.predict(np.stack(windows), self._entry) if windows else None
        which = iter(range(len(windows)))
        for event, length in zip(batch, lengths, strict=True):
            whole = isinstance(event, Row) and length >= self._predictor.window
            yield Answer(predictions, next(which)) if whole and predictions is not None else None

    def learn(self, row: Row, answer: Answer | None) -> None:
        """A row is confirmed."""
        self._past.learn(row.timestamp, row.levels[: 4 * LEVELS], answer)

    def may_hold(self, row: Row) -> bool:
        """Tells whether the venue has confirmed rows of late, so that it may confirm this one."""
        return row.timestamp - self._past.until_ms <= AWAITED_MS

    def call(self, row: Row, answer: Answer) -> tuple[Any, ...]:
        """Values of `core.market.store.call_columns.LINE`, written now."""
        raw, calls = answer.of.probabilities[answer.which], answer.of.calls[answer.which]
        recalibrated = self._past.recalibrated(raw)
        return row.timestamp, self._clock_ms(), self._past.until_ms, raw.ravel(), recalibrated.ravel(), calls
