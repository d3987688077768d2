"""The grid of rows, one every 250 ms: the last book known then, where it was observed (D27, D32).

Files become rows by `grid_rows`, feeds by `Grid`, nothing elsewhere. A row needs a book that is few sampling intervals old at
most, and later word that it held until then: the next book of a file, a message of the venue.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import BookLost, Confirmation, FeedState, StatusChange, Trade, TradesBreak

if TYPE_CHECKING:  # which reads files by this module
    from core.market.book import FloatArray, OrderBookSnapshot
    from core.market.depth import Bands
    from core.market.feeds.protocol import Clock, FeedEvent

STEP_MS: Final = 250
"""Milliseconds between two rows."""
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
CARRIED_INTERVALS: Final = 4
"""Sampling intervals that a book is carried at most."""
MAX_CARRY_MS: Final = 10_000
"""Longest that any book is carried: four times the silence after which a venue is asked for its book."""

STALLED_MS: Final = 120_000
"""A book that has not changed for so long is stalled: a quiet market, or a venue that stopped. It is scored apart (D32)."""


class Row(NamedTuple):
    """A row of the grid: one shape from here to the model, the screen, the files and other processes.

    Attributes:
        timestamp: milliseconds since the epoch, a multiple of 250.
        levels: the book at that time, (40 + 4m,): ten levels a side, then deeper ones.
        received_ns, formed_ns: when its book arrived, and when the row was made, on `core.market.feeds.clock`'s clock.
        provisional: whether no later message has confirmed it yet (D27).
        bands: all that the venue sends, in price bands, where the book brought them.
    """

    timestamp: int
    levels: FloatArray
    received_ns: int = 0
    formed_ns: int = 0
    provisional: bool = False
    bands: Bands | None = None

    @property
    def mid(self) -> float:
        """The mid-price, quote currency."""
        return float(self.levels[0] + self.levels[2]) / 2

    @property
    def spread(self) -> float:
        """Best ask less best bid, quote currency."""
        return float(self.levels[0] - self.levels[2])


@dataclass(frozen=True)
class Confirmed:
    """Rows up to this time are confirmed, milliseconds since the epoch (D27)."""

    until_ms: int


@dataclass(frozen=True)
class Gap:
    """Books may have been missed: provisional rows are no rows, and no window spans it.

    Attributes:
        kind: of the interruption: reconnect, resync, or clock. at_ms: when it was noticed.
    """

    kind: str = "reconnect"
    at_ms: int = 0
    message: str = ""


GridItem = Row | Confirmed | Gap | Trade | TradesBreak
"""An item that follows from a feed's events, in their order."""
GRID_ITEMS: Final = (Row, Confirmed, Gap, Trade, TradesBreak)


def on_grid(timestamps: NDArray[np.int64]) -> bool:
    """Tells whether books lie on the grid: whole grid steps apart, some of them one step. Longer ones are stated pauses."""
    steps = np.diff(timestamps)
    return not len(steps) or bool(steps.min() == STEP_MS and not (steps % STEP_MS).any())


def sampling_interval(timestamps: NDArray[np.int64]) -> int:
    """Time between two observations, milliseconds: the 90th percentile of the steps between grid steps that hold a book.

    So neither the bursts of a stream of messages nor pauses, where they are fewer than a tenth, change it.
    """
    steps = np.diff(np.unique(-(-timestamps // STEP_MS))) * STEP_MS
    return int(np.quantile(steps, 0.9, method="inverted_cdf")) if len(steps) else STEP_MS


def carry_ms(timestamps: NDArray[np.int64]) -> int:
    """Milliseconds that a file's books are carried: `CARRIED_INTERVALS` of its own sampling intervals, `MAX_CARRY_MS` at most."""
    return min(MAX_CARRY_MS, CARRIED_INTERVALS * sampling_interval(timestamps))


def grid_rows(timestamps: NDArray[np.int64], carry: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows between books that are `carry` apart at most; the books themselves where they lie on the grid already.

    Nothing is carried over a longer pause, nor into it: no later book says that the last one held.

    Args:
        timestamps: (n,) of the books, milliseconds, in time order; of several at one moment the last counts.
        carry: milliseconds; `carry_ms` of the books where None.

    Returns:
        (m,) times of the rows, and (m,) the index of each row's book.
    """
    if carry is None:
        if on_grid(timestamps):
            return timestamps, np.arange(len(timestamps))
        carry = carry_ms(timestamps)
    first = -(-timestamps // STEP_MS)  # each book's first row, in steps since the epoch
    end = timestamps // STEP_MS + 1  # past the row of its own moment, if there is one
    following = first[1:]
    end[:-1] = np.where(np.diff(timestamps) <= carry, following, np.minimum(end[:-1], following))
    count = end - first
    index = np.repeat(np.arange(len(timestamps)), count)
    place = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    return (first[index] + place) * STEP_MS, index


def count_pauses(timestamps: NDArray[np.int64]) -> int:
    """Pauses between books in time order that no book is carried over."""
    longest = STEP_MS if on_grid(timestamps) else carry_ms(timestamps)
    return int((np.diff(timestamps) > longest).sum())


def segments(timestamps: NDArray[np.int64]) -> list[slice]:
    """Stretches of a grid without a gap: no window and no label may reach from one into the next."""
    breaks = np.flatnonzero(np.diff(timestamps) != STEP_MS) + 1
    edges = [0, *breaks.tolist(), len(timestamps)]
    return [slice(a, b) for a, b in pairwise(edges)]


def stalled(timestamps: NDArray[np.int64], levels: FloatArray) -> NDArray[np.bool_]:
    """(n,) rows whose book has not changed in any of its ten levels a side for `STALLED_MS`; a gap begins anew.

    Args:
        levels: (n, 40).
    """
    fresh = np.ones(len(timestamps), dtype=bool)
    fresh[1:] = (levels[1:] != levels[:-1]).any(axis=1) | (np.diff(timestamps) != STEP_MS)
    changed = timestamps[np.maximum.accumulate(np.where(fresh, np.arange(len(timestamps)), 0))]
    return timestamps - changed >= STALLED_MS


class StandStill:
    """Tells of one row after another whether its book is stalled, as `stalled` does of a file's."""

    def __init__(self) -> None:
        self._levels: FloatArray | None = None
        self._last_ms = self._changed_ms = 0

    def restart(self) -> None:
        """A gap."""
        self._levels = None

    def take(self, timestamp: int, levels: FloatArray) -> bool:
        """The next row."""
        same = self._levels is not None and timestamp == self._last_ms + STEP_MS and np.array_equal(levels, self._levels)
        self._changed_ms = self._changed_ms if same else timestamp
        self._levels, self._last_ms = levels, timestamp
        return timestamp - self._changed_ms >= STALLED_MS


class Grid:
    """Makes rows, confirmations and gaps of a feed's events; each event is handed on before what follows from it.

    A grid time takes the last book received at or before it; of several books in its own millisecond it takes the first, and so
    does not wait for more. By this machine's clock a row is provisional until a later message of the venue confirms it (D27).

    Args:
        clock: see `core.market.feeds.protocol.Feed`.
        carry_ms: longest that a book is carried.
    """

    def __init__(self, clock: Clock, *, carry_ms: int = MAX_CARRY_MS) -> None:
        self.wall, self.carry_ms = clock == "wall", carry_ms
        self._book: FloatArray | None = None
        self._bands: Bands | None = None
        self._book_ms = self._received_ns = self._next_ms = self._confirmed_ms = 0
        self._live, self._jumps = False, CLOCK.jumps

    def take(self, event: FeedEvent) -> list[FeedEvent]:
        """The event, and what follows from it.

        A book older than the last one is dropped. One older than any that could still be carried means that a recording was
        wound back: it starts a new stretch.
        """
        jump = self._jump()
        if isinstance(event, GRID_ITEMS):  # trades
            return [*jump, event]
        if isinstance(event, Confirmation):
            return [*jump, *self._confirm(event.until_ns // 1_000_000)]
        if isinstance(event, BookLost):  # until the next one the venue's book is unknown
            rows = self._until(event.from_ns // 1_000_000 - 1)
            self._book = None
            return [*jump, *rows, event]
        if isinstance(event, StatusChange):
            self._live = event.state is FeedState.LIVE
            gap = [self.gap("resync" if event.resync else "reconnect", event.message)] if event.gap else []
            return [*jump, *gap, event]
        return [*jump, event, *self._push(event)]

    def tick(self) -> list[FeedEvent]:
        """Rows up to now by this machine's clock, for feeds whose book holds until the next one."""
        now_ms = CLOCK.now_ms()
        return [*self._jump(), *(self._until(now_ms) if self._live else [])]

    def gap(self, kind: str = "reconnect", message: str = "") -> Gap:
        """No book is carried from here on; the next one starts a new stretch of rows."""
        self._book = None
        return Gap(kind, CLOCK.now_ms(), message)

    def _jump(self) -> list[Gap]:
        """A jump of the clock is a gap: nothing is known of the time it skipped."""
        if not self.wall or CLOCK.jumps == self._jumps:
            return []
        self._jumps = CLOCK.jumps
        return [self.gap("clock")]

    def _push(self, book: OrderBookSnapshot) -> list[Confirmed | Row]:
        now = book.received_ms if self.wall else book.exchange_ms
        if self._book is not None and now < self._book_ms:
            if self._book_ms - now <= self.carry_ms:
                return []
            self._book = None
        if not self.wall and now - self._book_ms > self.carry_ms:
            self._book = None  # as in `grid_rows`: nothing but this book could have said that the last one held
        confirmed: list[Confirmed] = []
        if not self.wall:
            self._confirmed_ms = now
        elif book.confirms:
            confirmed = self._confirm(now)
        rows = self._until(now - 1)
        if self._book is None:
            self._next_ms = -(-now // STEP_MS) * STEP_MS
        self._book, self._bands, self._book_ms, self._received_ns = book.whole, book.bands, now, book.received_ns
        if self._next_ms == now:
            rows += self._until(now)
        return [*confirmed, *rows]

    def _confirm(self, at_ms: int) -> list[Confirmed]:
        """The venue's book was known until `at_ms`: rows before then are confirmed. Told only where a row may lie between."""
        before, self._confirmed_ms = self._confirmed_ms, max(self._confirmed_ms, at_ms - 1)
        return [Confirmed(self._confirmed_ms)] if self._confirmed_ms // STEP_MS > before // STEP_MS else []

    def _until(self, now_ms: int) -> list[Row]:
        rows: list[Row] = []
        while self._book is not None and self._next_ms <= now_ms:
            if self._next_ms - self._book_ms > self.carry_ms:
                self._book = None
                break
            provisional = self._next_ms > self._confirmed_ms
            rows.append(Row(self._next_ms, self._book, self._received_ns, CLOCK.now_ns(), provisional, self._bands))
            self._next_ms += STEP_MS
        return rows


async def next_step() -> None:
    """Sleeps until the next moment of the grid."""
    await asyncio.sleep((STEP_MS - CLOCK.now_ms() % STEP_MS) / 1e3)
