"""Events of resting size, from books and trades: pulled, stacked, absorbed, refilled, eaten. Each is a call, scored like one.

Size that went without a trade was pulled, size that came was stacked; a best price that stood while much was traded at it
absorbed, and one that traded more than it ever showed was refilled (an iceberg); a large size that is gone by trades was eaten.
Bids pulled or eaten call DOWN, bids stacked, absorbed or refilled UP, asks the other way. Indicators call where they are larger
than four in five of their own last values. Nothing is fitted to what came after.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import scores
from core.market.answers.value import CallRows, Estimate, Luck, call_value, luck, spaced
from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, STEP_MS, FloatArray
from core.market.labels import DOWN, STATIONARY, UNKNOWN, UP
from core.market.session_view import View

KINDS: Final = ("pulled", "stacked", "absorbed", "refilled", "eaten")
INDICATORS: Final = ("imbalance", "delta", "vwap", "slope")
ASK, BID = 0, 1
MEMORY: Final = 1_200
"""Rows, five minutes, whose levels say what is large, and whose values an indicator is compared with."""
LARGE: Final = 0.95
MUCH: Final = 0.8
"""Shares of those levels that a large size, and much traded at a price, exceed: trades are smaller than what rests."""
BEGIN: Final = 120
"""Rows before the first mark; what is large is looked up anew after as many."""
SHOWN: Final = 1.5
"""A refilled price has traded so many times the most that it showed."""
EATEN: Final = 0.5
"""Share of what a price showed that trades took, at least, where it counts as eaten and not as pulled."""
EXTREME: Final = 0.8
DELTA_ROWS: Final = 40
VWAP_ROWS: Final = 240


class Mark(NamedTuple):
    """Something that happened to size: when (milliseconds), what (index in `KINDS`), to which side (`ASK`, `BID`), where."""

    time: float
    kind: int
    side: int
    price: float
    size: float

    @property
    def call(self) -> int:
        """The class that it calls."""
        return UP if (self.side == BID) != (KINDS[self.kind] in ("pulled", "eaten")) else DOWN


@dataclass
class _Stand:
    """A best price for as long as it stands: what was traded at it, the most that it showed, and what was said of it."""

    price: float
    traded: float = 0.0
    shown: float = 0.0
    told: frozenset[int] = frozenset()


class SizeMarks:
    """Marks of a market's rows, one after the other; a gap begins anew."""

    def __init__(self) -> None:
        self._sizes: deque[FloatArray] = deque(maxlen=MEMORY)
        self._large, self._much, self._rows, self._last_ms = np.inf, np.inf, 0, 0
        self._before: list[dict[float, float]] = []
        self._stands = [_Stand(0.0), _Stand(0.0)]

    def take(self, timestamp: int, levels: FloatArray, trades: Sequence[tuple[float, ...]]) -> list[Mark]:
        """Marks of a row: levels (40,), and the trades since the row before, (time, price, size, side)."""
        sides = [
            dict(zip(levels[price].tolist(), levels[size].tolist(), strict=True))
            for price, size in ((ASK_PRICES, ASK_SIZES), (BID_PRICES, BID_SIZES))
        ]
        before, self._before = (self._before if timestamp == self._last_ms + STEP_MS else []), sides
        self._last_ms = timestamp
        marks: list[Mark] = []
        if before and self._large < np.inf:
            for side in (ASK, BID):
                taken: dict[float, float] = {}
                for _time, price, size, aggressor in trades:
                    if aggressor == (1.0 if side == ASK else -1.0):
                        taken[price] = taken.get(price, 0.0) + size
                marks += self._changes(timestamp, side, before[side], sides[side], taken)
                marks += self._stood(timestamp, side, sides[side], taken)
        if self._rows % BEGIN == 0 and len(self._sizes) >= BEGIN:
            self._large, self._much = map(float, np.quantile(np.concatenate(self._sizes), [LARGE, MUCH]))
        self._sizes.append(np.concatenate([levels[ASK_SIZES], levels[BID_SIZES]]))
        self._rows += 1
        return marks

    def _changes(
        self, timestamp: int, side: int, before: Mapping[float, float], after: Mapping[float, float], taken: Mapping[float, float]
    ) -> list[Mark]:
        """Large sizes that came or went without a trade, or were eaten, at prices which both books reach."""
        worst = min(max(before), max(after)) if side == ASK else max(min(before), min(after))
        marks = []
        for price in before.keys() | after.keys():
            if price > worst if side == ASK else price < worst:
                continue
            more = after.get(price, 0.0) - before.get(price, 0.0) + taken.get(price, 0.0)
            if abs(more) >= self._large:
                marks.append(Mark(timestamp, KINDS.index("stacked" if more > 0 else "pulled"), side, price, abs(more)))
            stand = self._stands[side] if self._stands[side].price == price else _Stand(price)
            shown = max(stand.shown, before.get(price, 0.0))
            if price not in after and shown >= self._large and stand.traded + taken.get(price, 0.0) >= EATEN * shown:
                marks.append(Mark(timestamp, KINDS.index("eaten"), side, price, shown))
        return sorted(marks, key=lambda mark: mark.price)

    def _stood(self, timestamp: int, side: int, after: Mapping[float, float], taken: Mapping[float, float]) -> list[Mark]:
        """The best price, where it stands though much was traded at it; told once."""
        best = min(after) if side == ASK else max(after)
        stand = self._stands[side]
        if stand.price != best:
            stand = self._stands[side] = _Stand(best)
        stand.traded += taken.get(best, 0.0)
        stand.shown = max(stand.shown, after[best])
        much = stand.traded >= self._much
        here = {KINDS.index("absorbed"): much, KINDS.index("refilled"): much and stand.traded >= SHOWN * stand.shown}
        marks = [Mark(timestamp, kind, side, best, stand.traded) for kind, now in here.items() if now and kind not in stand.told]
        stand.told |= {mark.kind for mark in marks}
        return marks


def mark_calls(marks: Sequence[Mark], timestamps: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Each kind's call at each row (n,): UP or DOWN where its marks there agree, otherwise STATIONARY."""
    calls = {}
    for number, kind in enumerate(KINDS):
        net = np.zeros(len(timestamps))
        for mark in marks:
            at = int(np.searchsorted(timestamps, mark.time))
            if mark.kind == number and at < len(timestamps) and timestamps[at] == mark.time:
                net[at] += 1 if mark.call == UP else -1
        calls[kind] = _called(net, 0.0)
    return calls


def indicator_calls(timestamps: NDArray[np.int64], levels: FloatArray, trades: FloatArray) -> dict[str, NDArray[np.int64]]:
    """Each indicator's call at each row (n,): its sign where it is larger than `EXTREME` of its own last values.

    Args:
        levels: (n, 40). trades: (m, 4) time, price, size, side.
    """
    asks, bids = levels[:, ASK_SIZES], levels[:, BID_SIZES]
    mid = (levels[:, 0] + levels[:, 2]) / 2
    far = [
        (np.abs(levels[:, prices] - mid[:, None]) * sizes).sum(axis=1) / sizes.sum(axis=1)
        for prices, sizes in ((ASK_PRICES, asks), (BID_PRICES, bids))
    ]
    at = np.searchsorted(timestamps, trades[:, 0])
    at, trades = at[at < len(timestamps)], trades[at < len(timestamps)]
    sums = [
        np.bincount(at, weights, len(timestamps))
        for weights in (trades[:, 2] * trades[:, 3], trades[:, 2], trades[:, 1] * trades[:, 2])
    ]
    delta, size, money = (
        pd.Series(one).rolling(rows, min_periods=1).sum()
        for one, rows in zip(sums, (DELTA_ROWS, VWAP_ROWS, VWAP_ROWS), strict=True)
    )
    values = {
        "imbalance": (bids.sum(axis=1) - asks.sum(axis=1)) / (bids.sum(axis=1) + asks.sum(axis=1)),
        "delta": delta.to_numpy(),
        "vwap": np.where(size > 1e-12, mid - (money / size.clip(lower=1e-12)).to_numpy(), 0.0),
        "slope": far[ASK] - far[BID],
    }
    calls = {}
    for name in INDICATORS:
        usual = pd.Series(np.abs(values[name])).rolling(MEMORY, min_periods=BEGIN).quantile(EXTREME).shift(1)
        calls[name] = _called(values[name], usual.fillna(np.inf).to_numpy())
    return calls


def _called(value: FloatArray, over: FloatArray | float) -> NDArray[np.int64]:
    return np.where(value > over, UP, np.where(value < -np.asarray(over), DOWN, STATIONARY))


@dataclass(frozen=True, kw_only=True)
class MarkScore:
    """Share of calls that came true.

    Attributes:
        calls: scored. hits: the share that came true, with its interval. chance: the share that a coin with the same calls would
            have, which knows how often each class came. matthews: of all rows. luck: against that coin, one call a horizon.
    """

    calls: int
    hits: Estimate
    chance: float
    matthews: float
    luck: Luck


def score(rows: CallRows, calls: NDArray[np.int64]) -> MarkScore:
    """Scores calls (n,) by what came at `rows`, whatever was called there before."""
    mine = replace(rows, calls=calls, confidence=None)
    known = rows.truth != UNKNOWN
    called = np.flatnonzero(known & (calls != STATIONARY))
    came, said = (np.bincount(one, minlength=3) for one in (rows.truth[known], calls[called]))
    apart = called[spaced(rows.timestamps[called] // STEP_MS, rows.horizon)] if len(called) else called
    return MarkScore(
        calls=len(called),
        hits=call_value(mine).precision,
        chance=float(came @ said / max(1, came.sum() * said.sum())),
        matthews=float(scores.matthews(scores.confusion_matrix(rows.truth[known], calls[known]))),
        luck=luck(calls[apart], rows.truth[apart]),
    )


def session_scores(view: View, marks: Sequence[Mark], rows: CallRows) -> dict[str, MarkScore]:
    """Scores of every kind of mark and every indicator over the predicted rows of a session that are kept, by name."""
    calls = {**mark_calls(marks, view.timestamps), **indicator_calls(view.timestamps, view.levels, view.trades)}
    known = np.isin(rows.timestamps, view.timestamps)
    at = np.searchsorted(view.timestamps, rows.timestamps[known])
    parts = {name: getattr(rows, name)[known] for name in ("timestamps", "mid", "spread", "calls", "truth")}
    kept = replace(rows, **parts, confidence=None)
    return {name: score(kept, mine[at]) for name, mine in calls.items()}
