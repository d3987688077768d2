"""Running scores of predictions: each is resolved h steps later with the label it was trained on (D8), never across a gap."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.answers.naive import CALLERS, NAIVE, RunningRates, in_turn, plain_answers
from core.market.answers.one_answer import AnswerBoard, RowAnswers, RuleState, Shown
from core.market.answers.recalibration import REFIT_STEPS, AdaptiveHead, AdaptiveScores
from core.market.answers.table import Answered, Scores, Table
from core.market.answers.value import CallRows, SpacedCount, TakerAccount
from core.market.labels import SMOOTHING, STATIONARY, UNKNOWN, Head, classify, future_move, smoothing_steps
from core.market.predictor import Predictions
from core.models.tlob import CLASSES

RULES = ("tlob", *NAIVE)
"""The model and the naive rules that are scored beside it."""
UNLEARNT: Final = np.array([[np.nan] * 3, [np.nan] * 3, [1 / 3] * 3])
"""Probabilities of momentum, of always stationary and of a third each."""
ROLLING = 1_000
"""Resolved predictions in the rolling scores."""
VALUED = 4 * 3600 * 4
"""Predictions that the worth of calls is computed over: four hours."""
DAY = 24 * 3600 * 4
"""Predictions kept in the log."""
KEPT_ANSWERS = 4_800
"""Answers kept for the live screen: twenty minutes."""


@dataclass(frozen=True, kw_only=True)
class HeadScores:
    """One head's scores so far.

    Attributes:
        resolved: predictions whose outcome is known; independent: those of them that do not overlap. since_ms: time of the first
            of them, milliseconds since the epoch.
        session: of every rule, over the whole session. rolling: rule -> confusion matrix (3, 3) over the last `ROLLING`.
        apart: of TLOB at stalled rows, which nothing else here counts: confusion matrix (3, 3).
    """

    resolved: int
    independent: int
    since_ms: int
    session: dict[str, Scores]
    rolling: dict[str, NDArray[np.int64]]
    apart: NDArray[np.int64]


class RowLog:
    """Rows of one kind, numbered from 0; the oldest are overwritten beyond `capacity`. Memory is taken as rows are added.

    Attributes:
        dtype: of a row. count: number of rows ever added.
    """

    def __init__(self, dtype: np.dtype[np.void], capacity: int) -> None:
        self.dtype = dtype
        self._rows = np.zeros(capacity, dtype=dtype)
        self.count = 0

    @property
    def first(self) -> int:
        """Number of the oldest row kept."""
        return max(0, self.count - len(self._rows))

    def add(self, record: tuple[Any, ...]) -> int:
        """Add a row; returns its number, which never changes."""
        self._rows[self.count % len(self._rows)] = record
        self.count += 1
        return self.count - 1

    def __getitem__(self, number: int) -> np.void:
        """A row by its number, as a view that can be written to.

        Raises:
            IndexError: for a row not yet added or no longer kept.
        """
        if not self.first <= number < self.count:
            raise IndexError(f"row {number} is not kept: rows {self.first} to {self.count - 1} are")
        row: np.void = self._rows[number % len(self._rows)]
        return row

    def tail(self, count: int) -> NDArray[np.void]:
        """Copies of the last `count` rows, oldest first."""
        return self._rows[np.arange(max(self.first, self.count - count), self.count) % len(self._rows)]


class PredictionLog(RowLog):
    """Predictions by time: timestamp, mid, and for each head its probabilities, call, momentum's call and truth.

    Then the spread, and whether the row is stalled.
    """

    def __init__(self, heads: int, capacity: int = DAY) -> None:
        super().__init__(
            np.dtype(
                [
                    ("timestamp", np.int64),
                    ("mid", np.float64),
                    ("probabilities", np.float32, (heads, len(CLASSES))),
                    ("calls", np.int8, (heads,)),
                    ("momentum", np.int8, (heads,)),
                    ("truth", np.int8, (heads,)),
                    ("spread", np.float64),
                    ("stalled", np.bool_),
                ]
            ),
            capacity,
        )

    def append(self, timestamp: int, mid: float, p: Predictions, row: int, *, spread: float = 0.0, stalled: bool = False) -> int:
        """Add row `row` of `p`, unresolved; returns its number."""
        return self.add(self.record(timestamp, mid, p, row, spread=spread, stalled=stalled))

    @staticmethod
    def record(
        timestamp: int, mid: float, p: Predictions, row: int, *, spread: float = 0.0, stalled: bool = False
    ) -> tuple[Any, ...]:
        """A row of `dtype`, unresolved, from row `row` of `p`."""
        unknown = np.full(p.calls.shape[1], UNKNOWN)
        return timestamp, mid, p.probabilities[row], p.calls[row], p.momentum[row], unknown, spread, stalled


class AnswerLog(RowLog):
    """Answers by time: timestamp, and for each head the recalibrated probabilities, the call, and what came of it.

    A call is `NO_CALL` where there is no signal; `leans` is what the card's rule calls, by a fitted threshold where it has one.
    Of the truth the threshold is the recalibration's own.
    """

    def __init__(self, heads: int, capacity: int = KEPT_ANSWERS) -> None:
        super().__init__(
            np.dtype(
                [
                    ("timestamp", np.int64),
                    ("probabilities", np.float64, (heads, len(CLASSES))),
                    ("calls", np.int8, (heads,)),
                    ("leans", np.int8, (heads,)),
                    ("truth", np.int8, (heads,)),
                ]
            ),
            capacity,
        )

    @staticmethod
    def record(timestamp: int, answers: RowAnswers, leans: NDArray[np.int8]) -> tuple[Any, ...]:
        """A row of `dtype`, unresolved."""
        return timestamp, answers.probabilities, answers.calls, leans, np.full(len(leans), UNKNOWN)


class Scoreboard:
    """Logs predictions step by step and scores them as the mids of their horizons arrive.

    Args:
        heads: label and horizon of each column of a prediction.
        alphas: (heads,) label thresholds from the card, fractions of the price.
        own_thresholds: recalibrated scores are by thresholds of the market's own past, for a market that the card does not know.
        kept: predictions in the log.

    Attributes:
        session: scores (heads, rules) of all that is resolved. apart: (heads, 3, 3) TLOB's confusion matrices at stalled rows.
        answers: the one answer of each head, and its score. answer_log: answers by time.
    """

    def __init__(self, heads: Sequence[Head], alphas: Sequence[float], *, own_thresholds: bool = False, kept: int = DAY) -> None:
        self.heads, self.alphas = tuple(heads), tuple(alphas)
        self.log = PredictionLog(len(self.heads), kept)
        self.session = Scores.nothing(len(self.heads), len(RULES))
        self.apart = np.zeros((len(self.heads), 3, 3), dtype=np.int64)
        self._since_ms: list[int | None] = [None] * len(self.heads)
        self._independent = [SpacedCount(horizon) for _, horizon in self.heads]
        self._recent = np.full(
            (len(self.heads), ROLLING, 1 + len(RULES)), UNKNOWN
        )  # a ring each: the truth, and each rule's call
        self._adaptive = [
            AdaptiveHead(horizon, alpha, own_threshold=own_thresholds, first_fit=(i + 1) * REFIT_STEPS // len(self.heads))
            for i, ((_, horizon), alpha) in enumerate(zip(self.heads, self.alphas, strict=True))
        ]
        self.answers, self.answer_log = AnswerBoard(self.heads, self._adaptive), AnswerLog(len(self.heads))
        self._takers = [TakerAccount(horizon) for _, horizon in self.heads]
        self._longest = max(horizon for _, horizon in self.heads)
        self._mids: deque[float] = deque(maxlen=self._longest + smoothing_steps(self._longest) + 1)
        self._numbers: deque[int | None] = deque(maxlen=self._longest + 1)
        self._made: deque[tuple[RowAnswers, RuleState] | None] = deque(maxlen=self._longest)
        self._rates = RunningRates(len(self.heads))
        self._rates_then: deque[NDArray[np.float64]] = deque(maxlen=self._longest)  # at each of the last rows

    def gap(self) -> None:
        """A gap in the rows: predictions not yet resolved stay unscored, since their future was not seen."""
        self._mids.clear()
        self._numbers.clear()
        self._made.clear()
        self._rates_then.clear()
        for account in self._takers:
            account.gap()

    def step(
        self,
        timestamp: int,
        mid: float,
        predictions: Predictions | None,
        row: int = 0,
        *,
        spread: float = 0.0,
        stalled: bool = False,
        shown: Shown | None = None,
    ) -> list[tuple[int, int, int]]:
        """One step of the grid: log its prediction, if there is one, and resolve those whose horizon ends at this mid.

        Args:
            mid, spread: of the row, quote currency. stalled: whether its book has stood still for too long
                (`core.market.grid.stalled`): what is predicted from it is scored apart, and nothing is learnt from it.
            shown: the row as it was shown already, where it was.

        Returns:
            What was resolved: timestamp of the prediction, head, class that came true by the answers' threshold; without
            stalled ones.
        """
        self._mids.append(mid)
        number = None
        if predictions is not None:
            number = self.log.append(timestamp, mid, predictions, row, spread=spread, stalled=stalled)
        self._numbers.append(number)
        resolved = self._resolve()
        shown, calls = shown or Shown(), [STATIONARY] * len(self.heads)
        if predictions is None:
            self._made.append(None)
        else:
            made = self.answers.predict(predictions.probabilities[row])  # what this step's outcomes and earlier ones make of it
            made = shown.answers or made
            self._made.append((made, self.answers.rule_state(list(self._mids)[-SMOOTHING:], shown.vwap)))
            self.answer_log.add(self.answer_log.record(timestamp, made, predictions.calls[row]))
            calls = calls if stalled else made.calls
        self._rates_then.append(self._rates.probabilities)
        for account, call in zip(self._takers, calls, strict=True):
            account.step(mid, spread, call)
        return resolved

    def _resolve(self) -> list[tuple[int, int, int]]:
        """Score the predictions whose horizon ends at the newest mid."""
        mids = np.array(self._mids)
        moves = np.full(len(self.heads), np.nan)
        for index, (kind, horizon) in enumerate(self.heads):
            if len(self._numbers) > horizon and self._numbers[-1 - horizon] is not None:
                moves[index] = future_move(mids[-horizon - smoothing_steps(horizon) :], horizon, kind)[-1 - horizon]
        truths = classify(moves, np.array(self.alphas)).tolist()
        scored: list[tuple[int, int, int]] = []
        resolved: list[tuple[int, int, int]] = []
        calls: list[tuple[int, ...]] = []
        given: list[NDArray[np.float64]] = []
        for index, ((_, horizon), move, truth) in enumerate(zip(self.heads, moves.tolist(), truths, strict=True)):
            if truth == UNKNOWN or (number := self._numbers[-1 - horizon]) is None:
                continue
            then = self.log[number]
            called, naive, when = int(then["calls"][index]), int(then["momentum"][index]), int(then["timestamp"])
            if then["stalled"]:
                self.apart[index, truth, called] += 1
                continue
            then["truth"][index] = truth
            rates = self._rates_then[-horizon][:, index]
            calls.append((called, naive, STATIONARY, int(in_turn(when)), *rates.argmax(axis=1).tolist()))
            given.append(np.concatenate([then["probabilities"][index][None], UNLEARNT, rates]))
            self._rates.learn(index, truth)
            scored.append((when, index, truth))
            if (earlier := self._made[-horizon]) is not None:
                made, rules = earlier
                came = self.answers.resolve(index, when, move, made.made[index], rules)
                self.answer_log[number]["truth"][index] = came
                resolved.append((when, index, came))
        if scored:
            self._count(scored, np.array(calls), np.array(given))
        return resolved

    def _count(self, resolved: list[tuple[int, int, int]], calls: NDArray[np.int64], given: NDArray[np.float64]) -> None:
        times, heads, truth = np.array(resolved).T
        place = self.session.confusion[heads, 0].sum(axis=(1, 2)) % ROLLING
        self._recent[heads, place] = np.column_stack([truth, calls])
        self.session.count(heads, truth, calls, given)
        for head, when in zip(heads.tolist(), times.tolist(), strict=True):
            self._independent[head].add(when)
            if self._since_ms[head] is None:
                self._since_ms[head] = when

    def recalibrated(self, probabilities: NDArray[np.floating]) -> NDArray[np.float32]:
        """(heads, 3) probabilities -> (heads, 3) what the outcomes known so far make of them."""
        return self.answers.answers(probabilities).probabilities.astype(np.float32)

    def adaptive(self, head: int) -> AdaptiveScores:
        """One head's probabilities as written and recalibrated, side by side."""
        return self._adaptive[head].scores()

    def taken(self) -> NDArray[np.float64]:
        """(heads, 3): a taker's trades by the answers' calls so far, their mean result in basis points before fees, its reach.

        The reach is half of the mean's 95 % interval; NaN for fewer than two trades, as the mean is for none.
        """
        return np.array([[account.trades, account.mean_bps, account.reach_bps] for account in self._takers])

    def call_rows(self, head: int, most: int = VALUED) -> dict[str, CallRows]:
        """One head's last calls by rule."""
        rows = self.log.tail(most)
        columns = {name: rows[name] for name in ("timestamp", "mid", "spread", "stalled")}
        mine = Answered(calls=rows["calls"][:, head], probabilities=rows["probabilities"][:, head])
        table = Table(
            head=self.heads[head],
            rows=pd.DataFrame({**columns, "truth": rows["truth"][:, head]}),
            answers={"tlob": mine, **plain_answers(rows["momentum"][:, head])},
        )
        return table.call_rows(*CALLERS)

    def latest(self, heads: Sequence[int], *, count: int = ROLLING, rules: int = len(RULES)) -> NDArray[np.int64]:
        """(heads, rules, 3, 3): confusion matrices of the first rules over some heads' last `count` scored predictions."""
        at = np.asarray(heads)[:, None]
        resolved = self.session.confusion[at, 0].sum(axis=(2, 3))
        rows = self._recent[at, (resolved - 1 - np.arange(count)) % ROLLING, : 1 + rules]
        cells = 9 * (rules * np.arange(len(at))[:, None, None] + np.arange(rules)) + 3 * rows[..., :1] + rows[..., 1:]
        known = cells[rows[..., 0] != UNKNOWN].ravel()
        return np.bincount(known, minlength=9 * rules * len(at)).reshape(len(at), rules, 3, 3)

    def scores(self, head: int) -> HeadScores:
        """One head's scores so far."""
        mine = {rule: self.session[head, i] for i, rule in enumerate(RULES)}
        return HeadScores(
            resolved=mine["tlob"].samples,
            independent=self._independent[head].count,
            since_ms=self._since_ms[head] or 0,
            session=mine,
            rolling=dict(zip(RULES, self.latest([head])[0], strict=True)),
            apart=self.apart[head].copy(),
        )
