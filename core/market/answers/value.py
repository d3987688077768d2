"""Value of a call: how often it comes true, moves against the spread, and a taker's result.

A call is UP or DOWN; STATIONARY asks for nothing. The measures are defined in docs/value.md. Overlapping outcomes depend on one
another: intervals resample blocks of time, and a taker holds one position at a time.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.market.answers.intervals import block_length, resampled_sums, spaced
from core.market.book import STEP_MS, FloatArray
from core.market.labels import DOWN, UNKNOWN, UP

RESAMPLES: Final = 400


@dataclass(frozen=True, kw_only=True)
class CallRows:
    """Consecutive predictions of one head by one forecaster, in time order.

    Attributes:
        timestamps: (n,) milliseconds; a gap is a step of more than `STEP_MS`. mid, spread: (n,) quote currency.
        calls: (n,) classes. truth: (n,), UNKNOWN where the outcome is not known.
    """

    horizon: int
    timestamps: NDArray[np.int64]
    mid: FloatArray
    spread: FloatArray
    calls: NDArray[np.integer]
    truth: NDArray[np.integer]

    @property
    def direction(self) -> NDArray[np.int64]:
        """(n,) 1 for UP, -1 for DOWN, 0 for STATIONARY."""
        return (np.asarray(self.calls) == UP).astype(np.int64) - (np.asarray(self.calls) == DOWN)

    def after(self, steps: int) -> NDArray[np.int64]:
        """(n,) index of the row so many steps later; -1 where it is not there or a gap lies between."""
        index = np.full(len(self.timestamps), -1)
        there = np.flatnonzero(self.timestamps[steps:] - self.timestamps[:-steps] == steps * STEP_MS)
        index[there] = there + steps
        return index


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
class CallValue:
    """Value of one forecaster's calls of one head.

    Attributes:
        coverage: share of the rows with a known outcome that were called. precision: share of the calls that came true.
        move_bps: mean move of the mid in the call's direction over the horizon. half_spread_bps: mean at the calls.
        trades: number of a taker's `trades`. result_bps: their mean, after the spread and before fees.
    """

    coverage: float
    precision: Estimate
    move_bps: Estimate
    half_spread_bps: float
    trades: int
    result_bps: Estimate

    @property
    def break_even_bps(self) -> float:
        """The fee a fill at which the trades break even, basis points; negative where they do not earn the spread."""
        return self.result_bps.value / 2

    def summary(self) -> dict[str, Any]:
        """Plain numbers, rounded to four decimals."""
        return {
            "coverage": plain(self.coverage),
            "precision": self.precision.summary(),
            "move_bps": self.move_bps.summary(),
            "half_spread_bps": plain(self.half_spread_bps),
            "taker": {
                "trades": self.trades,
                "mean_bps": self.result_bps.summary(),
                "break_even_fee_bps": plain(self.break_even_bps),
            },
        }


def call_value(rows: CallRows) -> CallValue:
    """All measures of one forecaster's calls."""
    known = rows.truth != UNKNOWN
    called = known & (rows.direction != 0)
    later = rows.after(rows.horizon)
    move = rows.direction * (rows.mid[later] / rows.mid - 1) * 1e4  # in the call's direction; anything where it is not known
    moved = called & (later >= 0)
    block = block_length(int(known.sum()), rows.horizon) if known.any() else 1
    columns = np.stack([called, called & (rows.calls == rows.truth), moved, np.where(moved, move, 0.0)], axis=1)[known]
    _entered, gross = trades(rows)
    half_spread = rows.spread[called] / rows.mid[called] / 2 * 1e4
    return CallValue(
        coverage=float(called.sum() / known.sum()) if known.any() else math.nan,
        precision=_ratio(columns[:, 1], columns[:, 0], block),
        move_bps=_ratio(columns[:, 3], columns[:, 2], block),
        half_spread_bps=float(half_spread.mean()) if len(half_spread) else math.nan,
        trades=len(gross),
        result_bps=_ratio(gross, np.ones(len(gross)), max(1, min(8, len(gross) // 8))),
    )


def trades(rows: CallRows) -> tuple[NDArray[np.int64], FloatArray]:
    """Trades of one who takes liquidity: at a call, while holding nothing, in a step later and out a horizon after the call.

    UP buys at the best ask of the row after the call and sells at the best bid of the row a horizon after it; DOWN the other way
    round. The size is small enough to be filled there and to move nothing. A trade whose exit is not known is not begun.

    Returns:
        (k,) index of each trade's call, and its result after the spread and before fees, basis points.
    """
    entry, leave, direction = rows.after(1), rows.after(rows.horizon), rows.direction
    candidates = np.flatnonzero((direction != 0) & (entry >= 0) & (leave >= 0))
    at = candidates[spaced(candidates, rows.horizon)]  # within a stretch an index is a step
    side = direction[at]
    paid = rows.mid[entry[at]] + side * rows.spread[entry[at]] / 2
    received = rows.mid[leave[at]] - side * rows.spread[leave[at]] / 2
    return at, side * (received - paid) / rows.mid[at] * 1e4


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
