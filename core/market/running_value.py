"""Running results of each head of a session: recalibrated scores beside those as written, trades, calls for luck."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core import scores
from core.market.adaptive import SCORED_AFTER, AdaptiveHead, Recalibrated
from core.market.book import STEP_MS
from core.market.bootstrap import student
from core.market.conformal import MEMORY, PROMISED, named
from core.market.labels import DOWN, UP
from core.market.luck import Luck, luck
from core.scores import CALIBRATION_BINS


@dataclass(frozen=True, kw_only=True)
class AdaptiveScores:
    """One head's probabilities as written and recalibrated, over the same outcomes after the first `SCORED_AFTER`.

    Attributes:
        outcomes: known so far. scored: of these.
        own_threshold: whether the market's own past gives the threshold; settled: whether it does so by now (else the card's
            stands in; scores begin anew when it settles).
        alpha: the label threshold in use, a fraction of the price.
        log_loss: as written and recalibrated; NaN where none is scored.
        reliability: as `core.scores.reliability` returns it, of the likeliest class, for the same two.
        delivered, delivered_last: share of outcomes that the sets named, over all scored and the last `MEMORY` of them.
        mean_size: classes in a set. promised: the share that shall be named.
        newest: of the newest prediction, recalibrated: probabilities and the classes named; None before the first.
    """

    outcomes: int
    scored: int
    own_threshold: bool
    settled: bool
    alpha: float
    log_loss: tuple[float, float]
    reliability: tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]
    delivered: float
    delivered_last: float
    mean_size: float
    promised: float
    newest: tuple[tuple[float, float, float], list[int]] | None


class AdaptiveBoard:
    """Recalibrates one head's predictions as their outcomes become known, and scores both.

    Args:
        own_threshold, first_fit: see `AdaptiveHead`.
    """

    def __init__(self, horizon: int, alpha: float, *, own_threshold: bool, first_fit: int) -> None:
        self.head = AdaptiveHead(horizon, alpha, own_threshold=own_threshold, first_fit=first_fit)
        self._own_threshold = own_threshold
        self._newest: Recalibrated | None = None
        self._begin(0)

    def _begin(self, outcomes: int) -> None:
        """Score anew, this many outcomes after the calibration began."""
        self._outcomes, self._scored, self._covered, self._named = outcomes, 0, 0, 0
        self._last: deque[bool] = deque(maxlen=MEMORY)
        self._loss = [0.0, 0.0]
        self._bins = np.zeros((2, 3, CALIBRATION_BINS))  # as written and recalibrated: sum of confidence, sum of hits, count

    def predict(self, probabilities: Sequence[float]) -> Recalibrated:
        """Recalibrate a prediction by what is known now."""
        self._newest = self.head.predict(probabilities)
        return self._newest

    def resolve(self, prediction: Recalibrated, move: float) -> None:
        """The label's move after a prediction, a fraction of the price."""
        settled = self.head.settled
        truth = self.head.resolve(prediction, move)
        self._outcomes += 1
        if self.head.settled != settled:
            self._begin(self._outcomes)
            return
        if self._outcomes <= SCORED_AFTER:
            return
        self._scored += 1
        classes = named(prediction.adapted, prediction.limit)
        self._covered += truth in classes
        self._named += len(classes)
        self._last.append(truth in classes)
        for which, p in enumerate((prediction.written, prediction.adapted)):
            self._loss[which] -= math.log(max(p[truth], 1e-12))
            confidence = max(p)
            place = min(int(confidence * CALIBRATION_BINS), CALIBRATION_BINS - 1)
            self._bins[which, :, place] += (confidence, p[truth] == confidence, 1)

    def scores(self) -> AdaptiveScores:
        """The scores so far."""
        n, newest = self._scored, self._newest
        return AdaptiveScores(
            outcomes=self._outcomes,
            scored=n,
            own_threshold=self._own_threshold,
            settled=self.head.settled,
            alpha=self.head.alpha,
            log_loss=(self._loss[0] / n, self._loss[1] / n) if n else (math.nan, math.nan),
            reliability=(scores.reliability_of_bins(*self._bins[0]), scores.reliability_of_bins(*self._bins[1])),
            delivered=self._covered / n if n else math.nan,
            delivered_last=sum(self._last) / len(self._last) if n else math.nan,
            mean_size=self._named / n if n else math.nan,
            promised=PROMISED,
            newest=None if newest is None else (newest.adapted, named(newest.adapted, newest.limit)),
        )


class TakerAccount:
    """The trades of `core.market.value.taker`, as they happen.

    Attributes:
        trades: closed so far. gross_bps: their sum, after the spread and before fees. squares: the sum of their squares.
    """

    def __init__(self, horizon: int) -> None:
        self._horizon = horizon
        self.trades, self.gross_bps, self.squares = 0, 0.0, 0.0
        self._side, self._age, self._mid, self._paid = 0, 0, 0.0, 0.0

    @property
    def mean_bps(self) -> float:
        """Mean result of a trade; NaN without one."""
        return self.gross_bps / self.trades if self.trades else math.nan

    @property
    def reach_bps(self) -> float:
        """Half of the mean's 95 % interval by Student's t, as trades do not overlap; NaN for fewer than two."""
        if self.trades < 2:
            return math.nan
        variance = max(0.0, self.squares - self.gross_bps**2 / self.trades) / (self.trades - 1)
        return student(self.trades - 1) * math.sqrt(variance / self.trades)

    def gap(self) -> None:
        """Drops the position that is held, which counts for nothing."""
        self._side = 0

    def step(self, mid: float, spread: float, call: int) -> None:
        """The next row's prices and call; STATIONARY where nothing is called."""
        if self._side:
            self._age += 1
            if self._age == 1:
                self._paid = mid + self._side * spread / 2
            if self._age == self._horizon:
                received = mid - self._side * spread / 2
                gross_bps = self._side * (received - self._paid) / self._mid * 1e4
                self.gross_bps += gross_bps
                self.squares += gross_bps**2
                self.trades += 1
                self._side = 0
        if not self._side and call in (DOWN, UP):
            self._side, self._age, self._mid = 1 if call == UP else -1, 0, mid


class SpacedCalls:
    """Calls and outcomes of several rules, one a horizon since the session began, for the luck test."""

    def __init__(self, horizon: int, rules: Sequence[str]) -> None:
        self._apart_ms = horizon * STEP_MS
        self._next_ms = 0
        self._truth = array("b")
        self._calls = {rule: array("b") for rule in rules}

    def add(self, timestamp: int, truth: int, calls: Mapping[str, int]) -> None:
        """An outcome, in time order; passed over within a horizon of the one before."""
        if timestamp < self._next_ms:
            return
        self._next_ms = timestamp + self._apart_ms
        self._truth.append(truth)
        for rule, call in calls.items():
            self._calls[rule].append(call)

    def luck(self) -> dict[str, Luck]:
        """Each rule's test over all of them."""
        truth = np.array(self._truth, dtype=np.int64)
        return {rule: luck(np.array(calls, dtype=np.int64), truth) for rule, calls in self._calls.items()}
