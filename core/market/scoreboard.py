"""Every prediction, and what happened h steps later: resolved with the label it was trained on (D8), never across a gap."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import scores
from core.market.labels import STATIONARY, UNKNOWN, classify, future_move, smoothing_steps
from core.market.predictor import Head, Predictions
from core.models.tlob import CLASSES

RULES = ("tlob", "momentum", "stationary")
"""Who is scored, side by side."""
ROLLING = 1_000
"""Resolved predictions in the rolling scores."""
BINS = 10


@dataclass(frozen=True, kw_only=True)
class HeadScores:
    """One head's scores so far.

    Attributes:
        resolved: predictions that have come due.
        session, rolling: rule -> confusion matrix (3, 3), over everything and over the last `ROLLING`.
        reliability: see `core.scores.reliability`, of TLOB's calls over the whole session.
    """

    resolved: int
    session: dict[str, NDArray[np.int64]]
    rolling: dict[str, NDArray[np.int64]]
    reliability: dict[str, NDArray[np.float64]]


class _HeadBoard:
    """Running counts of one head."""

    def __init__(self) -> None:
        self.session = {rule: np.zeros((3, 3), dtype=np.int64) for rule in RULES}
        self.recent: deque[tuple[int, int, int]] = deque(maxlen=ROLLING)
        self.bins = np.zeros((3, BINS))  # sum of confidence, sum of hits, count

    def add(self, truth: int, called: int, naive: int, confidence: float) -> None:
        for rule, call in zip(RULES, (called, naive, STATIONARY), strict=True):
            self.session[rule][truth, call] += 1
        self.recent.append((truth, called, naive))
        column = min(int(confidence * BINS), BINS - 1)
        self.bins[:, column] += (confidence, called == truth, 1)

    def scores(self) -> HeadScores:
        recent = np.array(self.recent, dtype=np.int64).reshape(-1, 3)
        columns = (recent[:, 1], recent[:, 2], np.full(len(recent), STATIONARY))
        rolling = {rule: scores.confusion_matrix(recent[:, 0], call) for rule, call in zip(RULES, columns, strict=True)}
        session = {rule: matrix.copy() for rule, matrix in self.session.items()}
        return HeadScores(
            resolved=int(self.bins[2].sum()), session=session, rolling=rolling, reliability=scores.reliability_of_bins(*self.bins)
        )


class PredictionLog:
    """Predictions by time, in blocks, the oldest block dropped once there are `capacity` (rounded to blocks, two at least).

    Attributes:
        dtype: of a row: timestamp, mid, and a column of each of probabilities, calls, momentum and truth a head.
        first, count: number of the oldest row kept, and how many were ever added.
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
            ]
        )
        self.blocks: deque[NDArray[np.void]] = deque(maxlen=max(2, capacity // self.BLOCK))
        self.first = 0
        self.count = 0

    def append(self, timestamp: int, mid: float, p: Predictions, row: int) -> int:
        """Add row `row` of `p`, unresolved; returns its number, which stays its own for good."""
        offset = self.count - self.first
        if offset == len(self.blocks) * self.BLOCK:
            if len(self.blocks) == self.blocks.maxlen:
                self.first += self.BLOCK
            self.blocks.append(np.zeros(self.BLOCK, dtype=self.dtype))
        block, offset = divmod(self.count - self.first, self.BLOCK)
        unknown = np.full(p.calls.shape[1], UNKNOWN)
        self.blocks[block][offset] = (timestamp, mid, p.probabilities[row], p.calls[row], p.momentum[row], unknown)
        self.count += 1
        return self.count - 1

    def __getitem__(self, number: int) -> np.void:
        """A row by its number, as a view to read or write.

        Raises:
            IndexError: for a row not yet there or no longer kept.
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
    """Takes predictions and mids step by step, and keeps the score.

    Args:
        heads: what each column of a prediction is about.
        alphas: (heads,) label thresholds from the card, fractions.
    """

    def __init__(self, heads: Sequence[Head], alphas: Sequence[float]) -> None:
        self.heads, self.alphas = tuple(heads), tuple(alphas)
        self.log = PredictionLog(len(self.heads))
        self._boards = [_HeadBoard() for _ in self.heads]
        self._longest = max(horizon for _, horizon in self.heads)
        self._mids: deque[float] = deque(maxlen=self._longest + smoothing_steps(self._longest) + 1)
        self._numbers: deque[int | None] = deque(maxlen=self._longest + 1)

    def gap(self) -> None:
        """What is open stays unscored: its future was not seen."""
        self._mids.clear()
        self._numbers.clear()

    def step(self, timestamp: int, mid: float, predictions: Predictions | None, row: int = 0) -> None:
        """One grid step: resolve what comes due with this mid, then log this step's prediction, if it has one."""
        self._mids.append(mid)
        self._numbers.append(None if predictions is None else self.log.append(timestamp, mid, predictions, row))
        for index, (kind, horizon) in enumerate(self.heads):
            if len(self._numbers) <= horizon:
                continue
            number = self._numbers[-1 - horizon]
            if number is None:
                continue
            w = smoothing_steps(horizon)
            recent = np.array([self._mids[i] for i in range(-min(horizon + w, len(self._mids)), 0)])
            move = future_move(recent, horizon, kind)[-1 - horizon]
            truth = int(classify(np.array([move]), self.alphas[index])[0])
            if truth == UNKNOWN:
                continue
            row_then = self.log[number]
            row_then["truth"][index] = truth
            called = int(row_then["calls"][index])
            confidence = float(row_then["probabilities"][index, called])
            self._boards[index].add(truth, called, int(row_then["momentum"][index]), confidence)

    def scores(self, head: int) -> HeadScores:
        """One head's scores so far."""
        return self._boards[head].scores()

    def export(self, count: int | None = None) -> pd.DataFrame:
        """The log as a table, a row a step.

        Columns: timestamp, mid, and for each head the three probabilities, the call, the naive call and what happened (empty
        while it is not known).
        """
        rows = self.log.tail(self.log.count if count is None else count)
        table: dict[str, NDArray[Any]] = {"timestamp": rows["timestamp"], "mid": rows["mid"]}
        words = np.array([*CLASSES, ""], dtype=object)
        for index, (kind, horizon) in enumerate(self.heads):
            head = f"{kind}_{horizon}"
            for k, name in enumerate(CLASSES):
                table[f"{head}_p_{name.lower()}"] = rows["probabilities"][:, index, k]
            for column, what in (("call", "calls"), ("momentum", "momentum"), ("truth", "truth")):
                table[f"{head}_{column}"] = words[rows[what][:, index]]
        return pd.DataFrame(table)
