"""Value of a call: precision by confidence, moves against the spread, a taker's result, and complete transactions.

A call is UP or DOWN; STATIONARY asks for nothing. The measures are defined in docs/value.md. Overlapping outcomes depend on one
another: intervals resample blocks of time, a taker holds one position at a time, and luck is judged by one call a horizon.

Luck is an anytime-valid test of calls against a coin that knows how often each class comes: had a coin made a group's calls, each
of their cyclic shifts would have been as likely (an e-process: Ramdas, Gruenwald, Vovk and Shafer 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.market.answers.intervals import block_length, resampled_sums, student
from core.market.book import STEP_MS, FloatArray
from core.market.labels import DOWN, STATIONARY, UNKNOWN, UP

GROUP: Final = 16
"""Calls that are compared with their own shifts."""
STAKES: Final = np.array([0.1, 0.25, 0.5, 1.0, 2.0])
"""Weights of a hit in the exponent; the wealth is the mean over them, so that none need be chosen."""
CONFIDENCES: Final = tuple(round(0.3 + 0.05 * i, 2) for i in range(14))
"""Thresholds at which precision and coverage are drawn."""
RESAMPLES: Final = 400


@dataclass(frozen=True, kw_only=True)
class CallRows:
    """Consecutive predictions of one head by one forecaster, in time order.

    Attributes:
        timestamps: (n,) milliseconds; a gap is a step of more than `STEP_MS`. mid, spread: (n,) quote currency.
        calls: (n,) classes. truth: (n,), UNKNOWN where the outcome is not known.
        confidence: (n,) probability of the class called; None for rules that give none.
    """

    horizon: int
    timestamps: NDArray[np.int64]
    mid: FloatArray
    spread: FloatArray
    calls: NDArray[np.integer]
    truth: NDArray[np.integer]
    confidence: FloatArray | None = None

    @property
    def direction(self) -> NDArray[np.int64]:
        """(n,) 1 for UP, -1 for DOWN, 0 for STATIONARY."""
        return (np.asarray(self.calls) == UP).astype(np.int64) - (np.asarray(self.calls) == DOWN)

    def surer_than(self, confidence: float) -> CallRows:
        """The same rows, in which less sure calls count as STATIONARY; unchanged without confidences."""
        if self.confidence is None:
            return self
        return replace(self, calls=np.where(self.confidence >= confidence, self.calls, STATIONARY))

    def after(self, steps: int) -> NDArray[np.int64]:
        """(n,) index of the row so many steps later; -1 where it is not there or a gap lies between."""
        index = np.arange(len(self.timestamps)) + steps
        there = index < len(self.timestamps)
        there[there] &= self.timestamps[index[there]] - self.timestamps[there] == steps * STEP_MS
        return np.where(there, index, -1)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value and its 95 % interval by block bootstrap; NaN throughout where nothing was called."""

    value: float
    low: float
    high: float

    def summary(self) -> dict[str, float | None]:
        """Plain numbers, rounded to four decimals; None for NaN."""
        return {name: plain(getattr(self, name)) for name in ("value", "low", "high")}


@dataclass(frozen=True, kw_only=True)
class Taker:
    """Simulated trades of one who takes liquidity at every call while holding nothing (see `taker`).

    Attributes:
        entered: (k,) index of each trade's call. gross_bps: (k,) result after the spread and before fees, basis points.
        mean_bps: of the trades.
    """

    entered: NDArray[np.int64]
    gross_bps: FloatArray
    mean_bps: Estimate

    @property
    def break_even_bps(self) -> float:
        """The fee a fill at which the trades break even, basis points; negative where they do not earn the spread."""
        return self.mean_bps.value / 2

    def net_bps(self, fee_bps: float) -> FloatArray:
        """(k,) after a fee for each of a trade's two fills."""
        return self.gross_bps - 2 * fee_bps


@dataclass(frozen=True, kw_only=True)
class CallValue:
    """Value of one forecaster's calls of one head.

    Attributes:
        scored: rows with a known outcome. coverage: share of them with a call. precision: share of the calls that came true.
        move_bps: mean move of the mid in the call's direction over the horizon. half_spread_bps: mean at the calls.
        transactions: complete ones by the calls; p_t: share of them that came true at both ends (NaN without any).
    """

    scored: int
    coverage: float
    precision: Estimate
    move_bps: Estimate
    half_spread_bps: float
    transactions: int
    p_t: float
    taker: Taker
    luck: Luck

    def summary(self) -> dict[str, Any]:
        """Plain numbers, rounded to four decimals."""
        return {
            "coverage": plain(self.coverage),
            "precision": self.precision.summary(),
            "move_bps": self.move_bps.summary(),
            "half_spread_bps": plain(self.half_spread_bps),
            "p_t": plain(self.p_t),
            "transactions": self.transactions,
            "taker": {
                "trades": len(self.taker.gross_bps),
                "mean_bps": self.taker.mean_bps.summary(),
                "break_even_fee_bps": plain(self.taker.break_even_bps),
            },
            "luck": {
                "groups": self.luck.groups,
                "wealth": float(f"{self.luck.wealth:.6g}"),
                "best": float(f"{self.luck.best:.6g}"),
                "chance": float(f"{self.luck.chance:.4g}"),
            },
        }


def call_value(rows: CallRows) -> CallValue:
    """All measures of one forecaster's calls."""
    known = rows.truth != UNKNOWN
    called = known & (rows.direction != 0)
    move, far = _moves(rows)
    moved = called & far
    block = block_length(int(known.sum()), rows.horizon) if known.any() else 1
    columns = np.stack([called, called & (rows.calls == rows.truth), moved, np.where(moved, move, 0.0)], axis=1)[known]
    opened, true = transactions(rows)
    once = np.flatnonzero(known)[spaced(rows.timestamps[known] // STEP_MS, rows.horizon)]
    half_spread = rows.spread[called] / rows.mid[called] / 2 * 1e4
    return CallValue(
        scored=int(known.sum()),
        coverage=float(called.sum() / known.sum()) if known.any() else math.nan,
        precision=_ratio(columns[:, 1], columns[:, 0], block),
        move_bps=_ratio(columns[:, 3], columns[:, 2], block),
        half_spread_bps=float(half_spread.mean()) if len(half_spread) else math.nan,
        transactions=len(opened),
        p_t=float(true.mean()) if len(opened) else math.nan,
        taker=taker(rows),
        luck=luck(rows.calls[once], rows.truth[once]),
    )


def _moves(rows: CallRows) -> tuple[FloatArray, NDArray[np.bool_]]:
    """(n,) moves of the mid over the horizon in the call's direction, basis points, and where they are known (else anything)."""
    later = rows.after(rows.horizon)
    move = rows.direction * (rows.mid[later] / rows.mid - 1) * 1e4
    return move, later >= 0


def precision_by_confidence(rows: CallRows) -> list[dict[str, float | None]]:
    """At each of `CONFIDENCES`: `threshold`, `coverage`, and `precision` with its interval `low` to `high`; as JSON's objects.

    Raises:
        ValueError: for a rule that gives no confidences.
    """
    if rows.confidence is None:
        raise ValueError("a rule without probabilities has no confidence to choose calls by")
    known = rows.truth != UNKNOWN
    confidence, right = rows.confidence[known], (rows.calls == rows.truth)[known]
    called = (rows.direction != 0)[known]
    block = block_length(len(right), rows.horizon) if len(right) else 1
    curve = []
    for threshold in CONFIDENCES:
        sure = called & (confidence >= threshold)
        precision = _ratio(sure & right, sure, block)
        curve.append(
            {
                "threshold": threshold,
                "coverage": plain(float(sure.mean()) if len(sure) else math.nan),
                "precision": plain(precision.value),
                "low": plain(precision.low),
                "high": plain(precision.high),
            }
        )
    return curve


def taker(rows: CallRows) -> Taker:
    """Trades of one who takes liquidity: at a call, while holding nothing, in a step later and out a horizon after the call.

    UP buys at the best ask of the row after the call and sells at the best bid of the row a horizon after it; DOWN the other way
    round. The size is small enough to be filled there and to move nothing. A trade whose exit is not known is not begun.
    """
    entry, leave, direction = rows.after(1), rows.after(rows.horizon), rows.direction
    candidates = np.flatnonzero((direction != 0) & (entry >= 0) & (leave >= 0))
    at = candidates[spaced(candidates, rows.horizon)]  # within a stretch an index is a step
    side = direction[at]
    paid = rows.mid[entry[at]] + side * rows.spread[entry[at]] / 2
    received = rows.mid[leave[at]] - side * rows.spread[leave[at]] / 2
    gross = side * (received - paid) / rows.mid[at] * 1e4
    ones = np.ones(len(gross))
    return Taker(entered=at, gross_bps=gross, mean_bps=_ratio(gross, ones, max(1, min(8, len(gross) // 8))))


def transactions(rows: CallRows) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Complete transactions by the calls (after Briola et al. 2024): opened by a call, closed by the next opposite one.

    STATIONARY calls keep what is open. Nothing stays open across a gap; rows without an outcome are passed over.

    Returns:
        (k,) index of each opening call, and (k,) whether the opening and the closing call both came true.
    """
    direction = rows.direction
    stretch = np.concatenate([[0], np.cumsum(np.diff(rows.timestamps) != STEP_MS)]) if len(direction) else np.zeros(0)
    calls = np.flatnonzero((direction != 0) & (rows.truth != UNKNOWN))
    fresh = np.ones(len(calls), dtype=bool)
    fresh[1:] = (direction[calls[1:]] != direction[calls[:-1]]) | (stretch[calls[1:]] != stretch[calls[:-1]])
    turns = calls[fresh]
    whole = stretch[turns[1:]] == stretch[turns[:-1]]
    right = rows.calls[turns] == rows.truth[turns]
    return turns[:-1][whole], (right[:-1] & right[1:])[whole]


def _ratio(over: NDArray[Any], under: NDArray[Any], block: int) -> Estimate:
    """Sum over sum, with its interval from blocks resampled together."""
    total = float(np.sum(under))
    if not total:
        return Estimate(value=math.nan, low=math.nan, high=math.nan)
    sums = resampled_sums(np.stack([over, under], axis=1).astype(np.float64), block, resamples=RESAMPLES)
    drawn = sums[sums[:, 1] > 0]
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    return Estimate(value=float(np.sum(over)) / total, low=float(low), high=float(high))


def plain(value: float) -> float | None:
    """Rounded to four decimals for JSON; None for NaN."""
    return None if math.isnan(value) else round(float(value), 4)


@dataclass(frozen=True, kw_only=True)
class Luck:
    """Comparison of the calls with the coin.

    Attributes:
        groups: whole groups of calls so far.
        wealth, best: of the e-process, now and at its best moment.
    """

    groups: int
    wealth: float
    best: float

    @property
    def chance(self) -> float:
        """The largest probability with which a coin would ever look this good: 1 over the best wealth, which is 1 or more."""
        return 1.0 / self.best


def spaced(steps: NDArray[np.int64], horizon: int) -> NDArray[np.int64]:
    """Indices of the first of these steps (rising), and of each next one at least a horizon later."""
    kept: list[int] = []
    values = steps.tolist()
    place = 0
    while place < len(values):
        kept.append(place)
        place = int(np.searchsorted(steps, values[place] + horizon))
    return np.array(kept, dtype=np.int64)


def wealth(calls: NDArray[np.integer], truth: NDArray[np.integer]) -> NDArray[np.float64]:
    """The e-process after each whole group, (groups,), of calls whose outcomes do not overlap."""
    groups = len(calls) // GROUP
    c, y = (np.asarray(values)[: groups * GROUP].reshape(groups, GROUP) for values in (calls, truth))
    hits = np.stack([(np.roll(c, shift, axis=1) == y).sum(axis=1) for shift in range(GROUP)], axis=1)
    beyond = hits - hits[:, :1]  # how many more hits each shift would have had
    gain = -np.log(np.exp(STAKES[:, None, None] * beyond).mean(axis=2))
    grown = np.logaddexp.reduce(np.cumsum(gain, axis=1), axis=0) - np.log(len(STAKES))
    return np.exp(np.minimum(grown, 700.0))


def luck(calls: NDArray[np.integer], truth: NDArray[np.integer]) -> Luck:
    """Test calls whose outcomes do not overlap (see `spaced`), in time order."""
    process = wealth(calls, truth)
    return Luck(
        groups=len(process),
        wealth=float(process[-1]) if len(process) else 1.0,
        best=max(1.0, float(process.max())) if len(process) else 1.0,
    )


class TakerAccount:
    """The trades of `taker`, as they happen.

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
