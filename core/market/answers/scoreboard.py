"""Log of a session's predictions: each is resolved h steps later with the label it was trained on (D8), never across a gap."""

from collections import deque
from collections.abc import Sequence
from copy import copy
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.answers.ahead import Lead
from core.market.answers.intervals import mean_interval
from core.market.answers.one_answer import RIVALS, AnswerBoard, RowAnswers, RuleState, Shown
from core.market.answers.recalibration import REFIT_STEPS, AdaptiveHead, Awaiting
from core.market.answers.table import NO_CALL
from core.market.answers.value import CallRows, trades
from core.market.book import FloatArray
from core.market.labels import STATIONARY, UNKNOWN, Head, first_labelled, moves_at, smoothing_steps, totals
from core.market.predictor import Predictions
from core.market.row_log import RowLog
from core.models.tlob import CLASSES

VALUED: Final = 4 * 3600 * 4
"""Predictions that the worth of calls is computed over: four hours."""
DAY: Final = 24 * 3600 * 4
"""Predictions kept in the log."""
TAKER_STEPS: Final = 120
"""Predictions after which a taker's result is computed anew: half a minute."""


class Outcome(NamedTuple):
    """Outcome of a prediction: time of its row, milliseconds; number of the head; class."""

    timestamp: int
    head: int
    came: int


class PredictionLog(RowLog):
    """Predictions by time.

    A row is its timestamp, mid, spread and whether it is stalled; then for each head TLOB's `probabilities`, what the answer was:
    `recalibrated` ones and their likeliest class `answered`; and the truth `came` by the threshold in use.
    """

    def __init__(self, heads: int, capacity: int = DAY) -> None:
        probabilities, classes = (heads, len(CLASSES)), (np.int8, (heads,))
        super().__init__(
            [
                ("timestamp", np.int64),
                ("mid", np.float64),
                ("spread", np.float64),
                ("stalled", np.bool_),
                ("probabilities", np.float32, probabilities),
                ("recalibrated", np.float64, probabilities),
                ("answered", *classes),
                ("came", *classes),
            ],
            capacity,
        )

    @staticmethod
    def record(
        where: tuple[int, float, float, bool], probabilities: NDArray[np.floating], answers: RowAnswers
    ) -> tuple[Any, ...]:
        """A row, unresolved: its timestamp, mid, spread and whether it is stalled; probabilities (heads, 3); its answers."""
        return *where, probabilities, answers.probabilities, answers.calls, np.full(len(probabilities), UNKNOWN)


def answered_calls(rows: NDArray[np.void], index: int, horizon: int) -> CallRows:
    """The answers of a head at rows of a log, `index` of it among those of the log; a stalled book calls nothing."""
    times, mid, spread = (np.ascontiguousarray(rows[name]) for name in ("timestamp", "mid", "spread"))
    calls = np.where(rows["stalled"], STATIONARY, rows["answered"][:, index])
    return CallRows(horizon=horizon, timestamps=times, mid=mid, spread=spread, calls=calls, truth=rows["came"][:, index])


def traded_calls(rows: NDArray[np.void], index: int, horizon: int) -> pd.DataFrame:
    """The calls of a head that a taker of them would have traded on, oldest first.

    Returns:
        A row each: `timestamp`, the class called `call` with its `probability`, the class that `came` and `result_bps`, after the
        spread and before fees.
    """
    at, gross = trades(answered_calls(rows, index, horizon))
    calls = rows["answered"][at, index].astype(np.int64)
    return pd.DataFrame(
        {
            "timestamp": rows["timestamp"][at],
            "call": calls,
            "probability": rows["recalibrated"][at, index, calls],
            "came": rows["came"][at, index].astype(np.int64),
            "result_bps": gross,
        }
    )


class Scoreboard:
    """Logs predictions step by step and resolves them as the mids of their horizons arrive.

    Args:
        heads: label and horizon of each column of a prediction.
        alphas: (heads,) label thresholds from the card, fractions of the price.
        own_thresholds: recalibrated scores are by thresholds of the market's own past, for a market that the card does not know.

    Attributes:
        answers: the one answer of each head, and its score.
    """

    def __init__(self, heads: Sequence[Head], alphas: Sequence[float], *, own_thresholds: bool = False) -> None:
        self.heads = tuple(heads)
        self._alphas, self._own_thresholds = tuple(alphas), own_thresholds
        self.log = PredictionLog(len(self.heads))
        longest = max(horizon for _, horizon in self.heads)
        self._mids: deque[float] = deque(maxlen=longest + smoothing_steps(longest) + 1)
        self._row = 0
        self._awaiting = [Awaiting[tuple[int, RowAnswers, RowAnswers, RuleState]](horizon) for _, horizon in self.heads]
        self._rules: RuleState | None = None  # at the newest row
        self._taker_results: tuple[int, FloatArray] | None = None  # predictions when it was computed, and the result
        self.begin_anew()

    def begin_anew(self, before: Sequence[Lead] = ()) -> None:
        """Nothing is known of the market; what was predicted so far stays in the log, unresolved where it is yet.

        Args:
            before: lead of each head, which goes on (D44).
        """
        self._adaptive = [
            AdaptiveHead(horizon, alpha, own_threshold=self._own_thresholds, first_fit=(i + 1) * REFIT_STEPS // len(self.heads))
            for i, ((_, horizon), alpha) in enumerate(zip(self.heads, self._alphas, strict=True))
        ]
        self.answers = AnswerBoard(self.heads, self._adaptive, before)
        self.gap()

    def gap(self) -> None:
        """A gap in the rows: predictions not yet resolved stay unscored, since their future was not seen."""
        self._mids.clear()
        self._rules = None
        for one in self._awaiting:
            one.clear()
        self.answers.gap()

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
    ) -> list[Outcome]:
        """One step of the grid: log its prediction, if there is one, and resolve those whose horizon ends at this mid.

        Args:
            mid, spread: of the row, quote currency. stalled: whether its book has stood still for too long
                (`core.market.grid.stalled`): what is predicted from it is not scored, and nothing is learnt from it.
            shown: the row as it was shown already, where it was.

        Returns:
            What was resolved, by the answers' threshold; without stalled ones.
        """
        self._mids.append(mid)
        self._row += 1
        self.answers.take_mid(mid)
        resolved = self._resolve()
        shown, self._rules = shown or Shown(), None
        if predictions is not None:
            probabilities = predictions.probabilities[row]
            made = self.answers.predict(probabilities)  # what this step's outcomes and earlier ones make of it: learnt from
            answers, self._rules = shown.answers or made, self.answers.rule_state(timestamp, shown.vwap, made)
            number = self.log.add(self.log.record((timestamp, mid, spread, stalled), probabilities, answers))
            for one in () if stalled else self._awaiting:
                one.append((self._row, (number, made, answers, self._rules)))
        return resolved

    def _resolve(self) -> list[Outcome]:
        """Resolve the predictions whose horizon ends at the newest mid."""
        mids = np.array(self._mids)
        total = totals(mids)
        resolved: list[Outcome] = []
        for index, (kind, horizon) in enumerate(self.heads):
            then = len(mids) - 1 - horizon
            for number, made, shown, rules in self._awaiting[index].due(self._row):
                if then >= first_labelled(horizon, kind):
                    move, answers = float(moves_at(then, mids, total, (kind, horizon))), (made.made[index], shown.made[index])
                    came = self.answers.resolve(index, move, answers, rules)
                    self.log[number]["came"][index] = came
                    resolved.append(Outcome(rules.when, index, came))
        return resolved

    def rule_call(self, head: int, rule: str) -> int:
        """The class that one of `RIVALS` calls at the newest row; `NO_CALL` where nothing was predicted there."""
        return NO_CALL if self._rules is None else int(self._rules.calls[head, RIVALS.index(rule)])

    def adaptive(self, head: int) -> AdaptiveHead:
        """One head's recalibration as it stands, to be looked at."""
        return copy(self._adaptive[head])

    def taker_results(self) -> FloatArray:
        """(heads, 3): trades by the answers' calls of the last four hours, their mean result in basis points, its half-width.

        Before fees. The half-width is that of the mean's 95 % interval by Student's t, as trades do not overlap; NaN for fewer
        than two trades, as the mean is for none. Computed every `TAKER_STEPS` predictions.
        """
        if self._taker_results is None or self.log.count - self._taker_results[0] >= TAKER_STEPS:
            rows = self.log.tail(VALUED)
            results = []
            for index, (_, horizon) in enumerate(self.heads):
                gross = trades(answered_calls(rows, index, horizon))[1]
                mean, low, high = mean_interval(gross)
                results.append((len(gross), mean, (high - low) / 2))
            self._taker_results = self.log.count, np.array(results)
        return self._taker_results[1].copy()
