"""Running scores of predictions: each is resolved h steps later with the label it was trained on (D8), never across a gap."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import scores
from core.market.adaptive import REFIT_STEPS, Recalibrated
from core.market.answers.predictions import predictions_table
from core.market.labels import STATIONARY, UNKNOWN, Head, classify, future_move, smoothing_steps
from core.market.luck import Luck
from core.market.naive_rules import A_THIRD_EACH, CALLERS, NAIVE, RunningRates, in_turn
from core.market.predictor import Predictions
from core.market.running_value import AdaptiveBoard, AdaptiveScores, SpacedCalls, TakerAccount
from core.market.value import CallRows, calls_by_rule
from core.models.tlob import CLASSES
from core.scores import CALIBRATION_BINS

RULES = ("tlob", *NAIVE)
"""The model and the naive rules that are scored beside it."""
ROLLING = 1_000
"""Resolved predictions in the rolling scores."""
VALUED = 4 * 3600 * 4
"""Predictions that the worth of calls is computed over: four hours."""
LATEST = 200
"""Resolved predictions in the latest scores, those of the live screen."""


@dataclass(frozen=True, kw_only=True)
class HeadScores:
    """One head's scores so far.

    Attributes:
        resolved: predictions whose outcome is known. since_ms: time of the first of them, milliseconds since the epoch.
        log_loss: rule that gives probabilities -> mean over the whole session; NaN where none is resolved.
        session, rolling: rule -> confusion matrix (3, 3), over the whole session and over the last `ROLLING`.
        apart: of stalled rows, which nothing else here counts: TLOB's confusion matrix (3, 3).
        reliability, call_reliability: as `core.scores.reliability` returns it, over the whole session, of TLOB's likeliest class
            (whose gap is the expected calibration error, D26) and of the class that it called.
    """

    resolved: int
    since_ms: int
    log_loss: dict[str, float]
    session: dict[str, NDArray[np.int64]]
    rolling: dict[str, NDArray[np.int64]]
    apart: NDArray[np.int64]
    reliability: dict[str, NDArray[np.float64]]
    call_reliability: dict[str, NDArray[np.float64]]


class _HeadBoard:
    """Running counts of one head."""

    def __init__(self) -> None:
        self.since_ms: int | None = None
        self.losses = np.zeros(3)  # sums of TLOB's, of frequencies' and of decayed frequencies'
        self.session = {rule: np.zeros((3, 3), dtype=np.int64) for rule in RULES}
        self.apart = np.zeros((3, 3), dtype=np.int64)
        self.recent: deque[tuple[int, ...]] = deque(maxlen=ROLLING)  # the truth, and each rule's call
        self.latest = np.zeros((2, 3, 3), dtype=np.int64)  # TLOB's and momentum's confusion over the last LATEST
        self.bins = np.zeros((2, 3, CALIBRATION_BINS))  # of likeliest class and call: sum of confidence, sum of hits, count

    def add(self, then: np.void, head: int, truth: int, rates: NDArray[np.float64]) -> None:
        """An outcome of a row of the log; `rates` (2, 3) are what both frequencies said at it."""
        timestamp, called, naive = (int(one) for one in (then["timestamp"], then["calls"][head], then["momentum"][head]))
        p: NDArray[np.float32] = then["probabilities"][head]
        self.since_ms = timestamp if self.since_ms is None else self.since_ms
        self.losses -= np.log(np.maximum([p[truth], *rates[:, truth]], 1e-12))
        calls = (called, naive, STATIONARY, int(in_turn(timestamp)), *rates.argmax(axis=1).tolist())
        for rule, call in zip(RULES, calls, strict=True):
            self.session[rule][truth, call] += 1
        leaving = self.recent[-LATEST] if len(self.recent) >= LATEST else None
        self.recent.append((truth, *calls))
        for matrix, call, left in zip(self.latest, calls[:2], leaving[1:3] if leaving else (0, 0), strict=True):
            matrix[truth, call] += 1
            if leaving:
                matrix[leaving[0], left] -= 1
        for bins, label in zip(self.bins, (int(p.argmax()), called), strict=True):
            confidence = float(p[label])
            bins[:, min(int(confidence * CALIBRATION_BINS), CALIBRATION_BINS - 1)] += (confidence, label == truth, 1)

    def mean_losses(self) -> dict[str, float]:
        """Log-loss of each rule that gives probabilities."""
        resolved = int(self.session["tlob"].sum())
        tlob, frequencies, decayed = (self.losses / resolved).tolist() if resolved else [math.nan] * 3
        uniform = A_THIRD_EACH if resolved else math.nan
        return {"tlob": tlob, "uniform": uniform, "frequencies": frequencies, "decayed": decayed}

    def scores(self) -> HeadScores:
        recent = np.array(self.recent, dtype=np.int64).reshape(-1, 1 + len(RULES))
        rolling = {rule: scores.confusion_matrix(recent[:, 0], recent[:, i]) for i, rule in enumerate(RULES, 1)}
        likeliest, call = (scores.reliability_of_bins(*bins) for bins in self.bins)
        return HeadScores(
            resolved=int(self.session["tlob"].sum()),
            since_ms=self.since_ms or 0,
            log_loss=self.mean_losses(),
            session={rule: matrix.copy() for rule, matrix in self.session.items()},
            rolling=rolling,
            apart=self.apart.copy(),
            reliability=likeliest,
            call_reliability=call,
        )


class PredictionLog:
    """Predictions by time, in blocks; the oldest block is dropped beyond `capacity` rows (rounded to blocks, at least two).

    Attributes:
        dtype: of a row: timestamp, mid, and for each head its probabilities, call, momentum's call and truth;
            then the spread, and whether the row is stalled.
        first: number of the oldest row kept. count: rows ever added.
    """

    BLOCK = 4_096

    def __init__(self, heads: int, capacity: int = 24 * 3600 * 4) -> None:
        self.dtype = np.dtype(
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
        )
        self.blocks: deque[NDArray[np.void]] = deque(maxlen=max(2, capacity // self.BLOCK))
        self.first = 0
        self.count = 0

    def append(self, timestamp: int, mid: float, p: Predictions, row: int, *, spread: float = 0.0, stalled: bool = False) -> int:
        """Add row `row` of `p`, unresolved; returns its number, which never changes."""
        offset = self.count - self.first
        if offset == len(self.blocks) * self.BLOCK:
            if len(self.blocks) == self.blocks.maxlen:
                self.first += self.BLOCK
            self.blocks.append(np.zeros(self.BLOCK, dtype=self.dtype))
        block, offset = divmod(self.count - self.first, self.BLOCK)
        self.blocks[block][offset] = self.record(timestamp, mid, p, row, spread=spread, stalled=stalled)
        self.count += 1
        return self.count - 1

    @staticmethod
    def record(
        timestamp: int, mid: float, p: Predictions, row: int, *, spread: float = 0.0, stalled: bool = False
    ) -> tuple[Any, ...]:
        """A row of `dtype`, unresolved, from row `row` of `p`."""
        unknown = np.full(p.calls.shape[1], UNKNOWN)
        return timestamp, mid, p.probabilities[row], p.calls[row], p.momentum[row], unknown, spread, stalled

    def __getitem__(self, number: int) -> np.void:
        """A row by its number, as a view that can be written to.

        Raises:
            IndexError: for a row not yet added or no longer kept.
        """
        if not self.first <= number < self.count:
            raise IndexError(f"row {number} is not kept: rows {self.first} to {self.count - 1} are")
        block, offset = divmod(number - self.first, self.BLOCK)
        row: np.void = self.blocks[block][offset]
        return row

    def tail(self, count: int) -> NDArray[np.void]:
        """Copies of the last `count` rows, oldest first."""
        start = max(self.first, self.count - count)
        if start == self.count:
            return np.zeros(0, dtype=self.dtype)
        block, offset = divmod(start - self.first, self.BLOCK)
        joined = np.concatenate(list(self.blocks)[block:])
        return joined[offset : offset + self.count - start]


class Scoreboard:
    """Logs predictions step by step and scores them as the mids of their horizons arrive.

    Args:
        heads: label and horizon of each column of a prediction.
        alphas: (heads,) label thresholds from the card, fractions of the price.
        own_thresholds: recalibrated scores are by thresholds of the market's own past, for a market that the card does not know.
    """

    def __init__(self, heads: Sequence[Head], alphas: Sequence[float], *, own_thresholds: bool = False) -> None:
        self.heads, self.alphas = tuple(heads), tuple(alphas)
        self.log = PredictionLog(len(self.heads))
        self._boards = [_HeadBoard() for _ in self.heads]
        self._adaptive = [
            AdaptiveBoard(horizon, alpha, own_threshold=own_thresholds, first_fit=(i + 1) * REFIT_STEPS // len(self.heads))
            for i, ((_, horizon), alpha) in enumerate(zip(self.heads, self.alphas, strict=True))
        ]
        self._takers = [TakerAccount(horizon) for _, horizon in self.heads]
        self._spaced = [SpacedCalls(horizon, CALLERS) for _, horizon in self.heads]
        self._longest = max(horizon for _, horizon in self.heads)
        self._mids: deque[float] = deque(maxlen=self._longest + smoothing_steps(self._longest) + 1)
        self._numbers: deque[int | None] = deque(maxlen=self._longest + 1)
        self._recalibrated: deque[list[Recalibrated] | None] = deque(maxlen=self._longest)
        self._rates = RunningRates(len(self.heads))
        self._rates_then: deque[NDArray[np.float64]] = deque(maxlen=self._longest)  # at each of the last rows

    def gap(self) -> None:
        """A gap in the rows: predictions not yet resolved stay unscored, since their future was not seen."""
        self._mids.clear()
        self._numbers.clear()
        self._recalibrated.clear()
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
    ) -> list[tuple[int, int, int]]:
        """One step of the grid: log its prediction, if there is one, and resolve those whose horizon ends at this mid.

        Args:
            mid, spread: of the row, quote currency. stalled: whether its book has stood still for too long
                (`core.market.grid.stalled`): what is predicted from it is scored apart, and nothing is learnt from it.

        Returns:
            What was resolved: timestamp of the prediction, head, class that came true; without stalled ones.
        """
        resolved: list[tuple[int, int, int]] = []
        self._mids.append(mid)
        number = None
        if predictions is not None:
            number = self.log.append(timestamp, mid, predictions, row, spread=spread, stalled=stalled)
        self._numbers.append(number)
        mids = np.array(self._mids)
        moves = np.full(len(self.heads), np.nan)
        for index, (kind, horizon) in enumerate(self.heads):
            if len(self._numbers) > horizon and self._numbers[-1 - horizon] is not None:
                moves[index] = future_move(mids[-horizon - smoothing_steps(horizon) :], horizon, kind)[-1 - horizon]
        truths = classify(moves, np.array(self.alphas)).tolist()
        for index, ((_, horizon), move, truth) in enumerate(zip(self.heads, moves.tolist(), truths, strict=True)):
            if truth == UNKNOWN or (number := self._numbers[-1 - horizon]) is None:
                continue
            row_then = self.log[number]
            if row_then["stalled"]:
                self._boards[index].apart[truth, int(row_then["calls"][index])] += 1
                continue
            row_then["truth"][index] = truth
            when, called = int(row_then["timestamp"]), int(row_then["calls"][index])
            naive = int(row_then["momentum"][index])
            rates = self._rates_then[-horizon][:, index]
            self._boards[index].add(row_then, index, truth, rates)
            self._rates.learn(index, truth)
            self._spaced[index].add(when, truth, dict(zip(CALLERS, (called, naive, STATIONARY), strict=True)))
            if (then := self._recalibrated[-horizon]) is not None:
                self._adaptive[index].resolve(then[index], move)
            resolved.append((when, index, truth))
        self._recalibrate(predictions, row)
        self._rates_then.append(self._rates.probabilities)
        for index, account in enumerate(self._takers):
            silent = predictions is None or stalled
            account.step(mid, spread, STATIONARY if silent else int(predictions.calls[row, index]))  # type: ignore[union-attr]
        return resolved

    def _recalibrate(self, predictions: Predictions | None, row: int) -> None:
        """After the step's outcomes: what they and earlier ones make of its prediction."""
        if predictions is None:
            self._recalibrated.append(None)
            return
        written = predictions.probabilities[row].tolist()
        self._recalibrated.append([board.predict(p) for board, p in zip(self._adaptive, written, strict=True)])

    def adaptive(self, head: int) -> AdaptiveScores:
        """One head's probabilities as written and recalibrated, side by side."""
        return self._adaptive[head].scores()

    def taken(self) -> NDArray[np.float64]:
        """(heads, 3): a taker's trades by TLOB's calls so far, their mean result in basis points before fees, and its reach.

        The reach is half of the mean's 95 % interval; NaN for fewer than two trades, as the mean is for none.
        """
        return np.array([[account.trades, account.mean_bps, account.reach_bps] for account in self._takers])

    def luck(self, head: int) -> dict[str, Luck]:
        """The luck test of each rule's calls since the session began."""
        return self._spaced[head].luck()

    def call_rows(self, head: int, most: int = VALUED) -> dict[str, CallRows]:
        """One head's last calls by rule."""
        rows = self.log.tail(most)
        return calls_by_rule(
            horizon=self.heads[head][1],
            timestamps=rows["timestamp"],
            mid=rows["mid"],
            spread=rows["spread"],
            probabilities=rows["probabilities"][:, head],
            called=np.where(rows["stalled"], STATIONARY, rows["calls"][:, head]).astype(np.int64),
            momentum=np.where(rows["stalled"], STATIONARY, rows["momentum"][:, head]).astype(np.int64),
            truth=rows["truth"][:, head].astype(np.int64),
        )

    def latest_confusions(self) -> NDArray[np.int64]:
        """(heads, 2, 3, 3): confusion matrices of TLOB and of momentum over each head's last `LATEST` scored predictions."""
        return np.array([board.latest for board in self._boards])

    def losses(self) -> NDArray[np.float64]:
        """(heads, 2): log-loss of TLOB and of the decayed frequencies over the whole session; NaN where none is resolved."""
        means = [board.mean_losses() for board in self._boards]
        return np.array([[one["tlob"], one["decayed"]] for one in means])

    def apart(self) -> NDArray[np.int64]:
        """(heads, 3, 3): TLOB's confusion matrices at stalled rows."""
        return np.array([board.apart for board in self._boards])

    def confusions(self) -> NDArray[np.int64]:
        """The same over the whole session."""
        return np.array([[board.session["tlob"], board.session["momentum"]] for board in self._boards])

    def scores(self, head: int) -> HeadScores:
        """One head's scores so far."""
        return self._boards[head].scores()

    def export(self, count: int | None = None) -> pd.DataFrame:
        """The last `count` rows of the log (all by default), as `core.market.answers.predictions.predictions_table` has them."""
        rows = self.log.tail(self.log.count if count is None else count)
        return predictions_table(
            self.heads,
            timestamps=rows["timestamp"],
            mid=rows["mid"],
            probabilities=rows["probabilities"],
            calls=rows["calls"],
            momentum=rows["momentum"],
            truth=rows["truth"],
        )
