"""Lead and lag of two markets: the delay at which the moves of one agree best with those of the other, with its interval.

Pearson's correlation of the moves of the mid over a step, at each delay; intervals by the circular block bootstrap, the same
blocks at all delays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.market.answers.intervals import block_length, resampled_sums
from core.market.book import STEP_MS, BookRows, FloatArray
from core.messages import BadValue, compose

MAX_DELAY: Final = 20
"""Steps, either way."""
FEWEST: Final = 400
"""Steps that both must have: 100 seconds."""
MAX_STEPS: Final = 2_000_000
"""Steps of the time that both recordings cover, gaps included: five days and three quarters."""


@dataclass(frozen=True, kw_only=True)
class LeadLag:
    """Agreement of two markets by delay.

    Attributes:
        seconds: (2n + 1,) delays; at a positive one the second market follows the first.
        correlation, low, high: (2n + 1,) of the moves, and its 95 % interval at each delay by itself.
        best, best_low, best_high: the delay of the largest correlation, seconds, and its 95 % interval.
        ratio, ratio_low, ratio_high: squared correlations at positive delays over those at negative ones (Huth and Abergel 2014,
            "High frequency lead/lag relationships"), and its 95 % interval; above 1 the first market leads.
        steps: that both have.
    """

    seconds: FloatArray
    correlation: FloatArray
    low: FloatArray
    high: FloatArray
    best: float
    best_low: float
    best_high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    steps: int


def lead_lag(first: BookRows, second: BookRows) -> LeadLag:
    """Compare two recordings over the time that both have, at delays of up to `MAX_DELAY`; no move reaches over a gap.

    Raises:
        BadValue: where they share fewer than `FEWEST` steps or overlap for more than `MAX_STEPS`, or a mid does not move.
    """
    begin = int(max(first.timestamps[0], second.timestamps[0]))
    length = max(1, (int(min(first.timestamps[-1], second.timestamps[-1])) - begin) // STEP_MS + 1)
    if length > MAX_STEPS:
        raise BadValue("the two recordings overlap for {steps} steps: at most {most} are compared", steps=length, most=MAX_STEPS)
    a, b = (_moves(rows, begin, length) for rows in (first, second))
    both = np.flatnonzero(~np.isnan(a) & ~np.isnan(b))
    if len(both) < FEWEST:
        raise BadValue("the two recordings share {steps} steps: {fewest} are needed", steps=len(both), fewest=FEWEST)
    a, b = a[both[0] : both[-1] + 1], b[both[0] : both[-1] + 1]
    if min(np.nanstd(a), np.nanstd(b)) == 0:
        raise BadValue(compose("one of the two mids does not move while both are recorded"))
    delays = np.arange(-MAX_DELAY, MAX_DELAY + 1)
    block = block_length(len(a), MAX_DELAY)
    whole, resampled = [], []
    for delay in delays:  # one at a time, for memory
        sums = _sums(a, b, int(delay))
        whole.append(_correlation(sums.sum(axis=0)))
        resampled.append(_correlation(resampled_sums(sums, block)))
    correlation, drawn = np.stack(whole), np.stack(resampled, axis=1)
    seconds = delays * STEP_MS / 1e3
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    ratio_low, ratio_high = np.quantile(_ratio(drawn), (0.025, 0.975))
    best_low, best_high = np.quantile(seconds[drawn.argmax(axis=1)], (0.025, 0.975), method="nearest")
    return LeadLag(
        seconds=seconds, correlation=correlation, low=low, high=high, steps=len(both),
        best=float(seconds[correlation.argmax()]), best_low=float(best_low), best_high=float(best_high),
        ratio=float(_ratio(correlation[None])[0]), ratio_low=float(ratio_low), ratio_high=float(ratio_high),
    )  # fmt: skip


def _ratio(correlation: FloatArray) -> FloatArray:
    """Squared correlations of positive delays over those of negative ones, of (n, delays)."""
    middle, squares = correlation.shape[1] // 2, correlation**2
    return np.asarray(squares[:, middle + 1 :].sum(axis=1) / np.maximum(squares[:, :middle].sum(axis=1), np.finfo(float).tiny))


def _moves(rows: BookRows, begin: int, length: int) -> FloatArray:
    """Moves of the mid's logarithm over each step of a regular axis, (length - 1,); NaN where an end has no row."""
    mid = np.full(length, np.nan)
    place = (rows.timestamps - begin) // STEP_MS
    here = (place >= 0) & (place < length)
    mid[place[here]] = np.log(rows.mid[here])
    return np.diff(mid)


def _sums(a: FloatArray, b: FloatArray, delay: int) -> NDArray[np.float64]:
    """For each step of `a` what Pearson's correlation with `b` a delay later is the sum of, (n, 6); zeros without such a pair."""
    n = len(a)
    later = np.full(n, np.nan)
    later[max(0, -delay) : n - max(0, delay)] = b[max(0, delay) : n + min(0, delay)]
    there = ~np.isnan(a) & ~np.isnan(later)
    x, y = np.where(there, a, 0.0), np.where(there, later, 0.0)
    return np.stack([there, x, y, x * x, y * y, x * y], axis=1).astype(np.float64)


def _correlation(sums: FloatArray) -> FloatArray:
    """Pearson's correlation of sums (..., 6)."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    n = np.maximum(n, 1)
    spread = (xx - x * x / n) * (yy - y * y / n)
    return np.asarray((xy - x * y / n) / np.sqrt(np.maximum(spread, np.finfo(float).tiny)))
