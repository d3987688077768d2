"""Follower of a market's rows: what a checkpoint says of each, what of it is shown, and what came of it.

A page draws its steps, a recording writes the same ones down, and a journal is made again by taking its rows once more (D28). So
a row is predicted once, whoever looks.

What is known of a market begins with its first row, and anew with each day (UTC), where a recording begins, and where a playback
is wound back: so it can be made again from the files of a day alone. It is said here, and nowhere else.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from core.market.answers.ahead import Lead
from core.market.answers.naive import RunningVwap
from core.market.answers.one_answer import RowAnswers, Shown
from core.market.answers.scoreboard import Outcome, PredictionLog, Scoreboard
from core.market.book import TEN_LEVELS, FloatArray
from core.market.events import Confirmed, Gap, GridItem, Row, Trade
from core.market.grid import DAY_MS, STEP_MS, StandStill
from core.market.predictor import POOLED, MarketCard, Predictions, Predictor, identity
from core.market.store.call_columns import CalledBy

AWAITED_MS: Final = 60_000
"""Longest that a row waits for the venue's word and is scored; a venue without any check confirms none (D27)."""
MAX_PROVISIONAL: Final = 4_800
"""Rows that wait for their confirmation at most: twenty minutes."""


class Prediction(NamedTuple):
    """A row's prediction: `which` of `of`; `vwap`, that rule's call, where a journal tells it, whose trades may lack."""

    of: Predictions
    which: int
    vwap: int | None = None


@dataclass(frozen=True, slots=True)
class FollowedRow:
    """A row, and what was said of it.

    Attributes:
        stalled: as by `core.market.grid.stalled`. vwap: that rule's call.
        known_ms: time of the newest row whose outcomes were known then; before the first one the step before it.
        answers: as they are shown; None without a prediction.
    """

    row: Row
    prediction: Prediction | None
    stalled: bool
    vwap: int
    known_ms: int
    answers: RowAnswers | None = None

    @property
    def in_time(self) -> bool:
        """Tells whether the venue confirmed rows of late, so that it may confirm this one."""
        return self.row.timestamp - self.known_ms <= AWAITED_MS

    def record(self) -> tuple[Any, ...] | None:
        """The row as one of `PredictionLog`; None without a prediction."""
        if self.prediction is None or self.answers is None:
            return None
        where = self.row.timestamp, self.row.mid, self.row.spread, self.stalled
        return PredictionLog.record(where, self.prediction.of.probabilities[self.prediction.which], self.answers)

    def line(self, written_ms: int) -> tuple[Any, ...] | None:
        """The row as a journal's line, of `core.market.store.call_columns.LINE`; None where there is none to write."""
        if self.prediction is None or self.answers is None or not self.in_time:
            return None
        of, which, _ = self.prediction
        recalibrated = self.answers.probabilities.astype(np.float32)
        times = self.row.timestamp, written_ms, self.known_ms
        return *times, of.probabilities[which].ravel(), recalibrated.ravel(), of.calls[which], self.vwap


class KnownRow(NamedTuple):
    """A row that the venue confirmed.

    Attributes:
        before: leads of all heads that go on (D44), where what is known of the market begins with this row; else None.
        leads: numbers of the heads whose lead it changed, with these.
    """

    row: Row
    before: tuple[Lead, ...] | None = None
    leads: Sequence[tuple[int, Lead]] = ()


class Step(NamedTuple):
    """One item of a market, and what follows from it.

    Attributes:
        followed: the row that the item is, as it is shown; None for others.
        known: rows that it confirmed, oldest first.
        outcomes: of earlier predictions that became known.
        dropped: rows that were shown and are none (D27).
        wound_back: whether rows come again, and all before this one are forgotten.
    """

    item: GridItem
    followed: FollowedRow | None = None
    known: Sequence[KnownRow] = ()
    outcomes: Sequence[Outcome] = ()
    dropped: int = 0
    wound_back: bool = False


class Follower:
    """Takes a market's rows, confirmations, gaps and trades in their order. Used by one thread at a time.

    Args:
        entry: of the predictor's card for the market.

    Attributes:
        board: answers and outcomes of the confirmed rows. provisional: rows that wait for their confirmation, oldest first.
        since_gap: rows since the last gap.
        newest: what was predicted last.
    """

    def __init__(self, predictor: Predictor, entry: MarketCard) -> None:
        self._predictor, self._entry = predictor, entry
        self.newest: Predictions | None = None
        self._wind_back()

    @property
    def by(self) -> CalledBy:
        """Identity of what predicts."""
        weights, card = identity(self._predictor.card)
        return CalledBy(weights=weights, card=card, entry=self._entry.name, heads=self._predictor.heads)

    def _wind_back(self) -> None:
        """Nothing is known of the market."""
        self.board = Scoreboard(self._predictor.heads, self._entry.alphas, own_thresholds=self._entry.name == POOLED)
        self._window = deque[FloatArray](maxlen=self._predictor.window)  # of the rows since the last gap, ahead of the others
        self._window_ms = 0
        self._vwap, self._still = RunningVwap(), StandStill()
        self.provisional = deque[FollowedRow](maxlen=MAX_PROVISIONAL)
        self.since_gap = self._newest_ms = self._known_ms = 0
        self._begins = True

    def begin_anew(self, before: Sequence[Lead] = ()) -> None:
        """Begins what is known of the market with the next row that is confirmed; no later prediction reads an earlier row.

        Args:
            before: lead of each head over rows long before, as the market's journal knows it (D44).
        """
        self.board.begin_anew(before)
        self._window.clear()
        self._still, self.since_gap, self._begins = StandStill(), 0, True
        for place, one in enumerate(self.provisional):
            still = self._still.step(one.row.timestamp, one.row.levels[TEN_LEVELS])
            self.provisional[place] = replace(one, prediction=None, stalled=still)

    def predict(self, items: Sequence[GridItem], *, wanted: bool = True) -> list[Prediction | None]:
        """Predictions at the rows among the next items that end a window without a gap.

        Args:
            wanted: whether somebody wants them; else the rows are kept for the windows of later ones, and none is predicted.
        """
        windows = [self._slide(item) for item in items]
        whole = [window for window in windows if window is not None]
        if not whole or not wanted:
            return [None] * len(items)
        self.newest = of = self._predictor.predict(np.stack(whole), self._entry)
        which = iter(range(len(whole)))
        return [None if window is None else Prediction(of, next(which)) for window in windows]

    def _slide(self, item: GridItem) -> FloatArray | None:
        """The window that ends with an item."""
        if isinstance(item, Gap):
            self._window.clear()
        if not isinstance(item, Row):
            return None
        if item.timestamp != self._window_ms + STEP_MS or begins_day(self._window_ms, item.timestamp):
            self._window.clear()
        self._window_ms = item.timestamp
        self._window.append(item.levels[TEN_LEVELS])
        return np.stack(self._window) if len(self._window) == self._window.maxlen else None

    def take(self, items: Sequence[GridItem], predictions: Sequence[Prediction | None], *, lag_ms: float = 0.0) -> list[Step]:
        """Take the next items in.

        Args:
            predictions: at each of them: those of `predict`, or a journal's.
            lag_ms: milliseconds that the venue's clock, by which trades have their time, lies behind that of the rows.
        """
        return [self._taken(item, prediction, lag_ms) for item, prediction in zip(items, predictions, strict=True)]

    def _taken(self, item: GridItem, prediction: Prediction | None, lag_ms: float) -> Step:
        if isinstance(item, Row):
            return self._row(item, prediction)
        if isinstance(item, Confirmed):
            known, outcomes = self._confirm(item.until_ms)
            return Step(item, known=known, outcomes=outcomes)
        if isinstance(item, Trade):
            self._vwap.trade(item.exchange_ms + lag_ms, item.price, item.size)
        if isinstance(item, Gap):  # rows that nothing confirmed are not rows (D27)
            self.since_gap, dropped = 0, len(self.provisional)
            if dropped:
                self.provisional.clear()
                self._still.restart()
            return Step(item, dropped=dropped)
        return Step(item)

    def _row(self, row: Row, prediction: Prediction | None) -> Step:
        wound_back = row.timestamp <= self._newest_ms
        if wound_back:
            window, window_ms = self._window, self._window_ms  # which are of this batch's end already
            self._wind_back()
            self._window, self._window_ms = window, window_ms
        follows = row.timestamp == self._newest_ms + STEP_MS and not begins_day(self._newest_ms, row.timestamp)
        self.since_gap = self.since_gap + 1 if follows else 1
        self._newest_ms = row.timestamp
        self._known_ms = self._known_ms or row.timestamp - STEP_MS
        stalled = self._still.step(row.timestamp, row.levels[TEN_LEVELS])
        vwap = self._vwap.row(row.timestamp, row.mid)
        vwap = vwap if prediction is None or prediction.vwap is None else prediction.vwap
        one = FollowedRow(row, prediction, stalled, vwap, self._known_ms)
        if row.provisional:  # what is shown now is what is scored once it is confirmed
            one = self._answered(one)
            self.provisional.append(one)
            return Step(row, followed=one, wound_back=wound_back)
        self.provisional.append(one)
        known, outcomes = self._confirm(row.timestamp)
        one = self._answered(replace(one, known_ms=row.timestamp))
        return Step(row, followed=one, known=known, outcomes=outcomes, wound_back=wound_back)

    def _answered(self, one: FollowedRow) -> FollowedRow:
        """The same with its answers by what is known now."""
        if one.prediction is None:
            return one
        of, which, _ = one.prediction
        return replace(one, answers=self.board.answers.answers(of.probabilities[which]))

    def _confirm(self, until_ms: int) -> tuple[list[KnownRow], list[Outcome]]:
        """Rows up to that time are rows; outcomes that became known by them."""
        known, outcomes = list[KnownRow](), list[Outcome]()
        while self.provisional and (row := self.provisional[0].row).timestamp <= until_ms:
            one = self.provisional.popleft()
            if not self._begins and begins_day(self._known_ms, row.timestamp):
                self.board.begin_anew(self.board.answers.here)
                self._begins = True
            elif row.timestamp != self._known_ms + STEP_MS:
                self.board.gap()
            answers = self.board.answers
            before, earlier = answers.before if self._begins else None, tuple(answers.leads)
            self._begins, self._known_ms = False, row.timestamp
            of, which, _ = one.prediction if one.prediction is not None and one.in_time else (None, 0, None)
            shown = Shown(one.vwap, one.answers)
            outcomes += self.board.step(row.timestamp, row.mid, of, which, spread=row.spread, stalled=one.stalled, shown=shown)
            leads = [(head, lead) for head, lead in enumerate(answers.leads) if lead is not earlier[head]]
            known.append(KnownRow(row, before, leads))
        return known, outcomes


def begins_day(last_ms: int, timestamp: int) -> bool:
    """Tells whether a row is of another day (UTC) than the one before it."""
    return timestamp // DAY_MS != last_ms // DAY_MS
