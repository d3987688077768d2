"""The limit order book as the rest of the program sees it: ten levels a side for the model, deeper ones for display, and files.

Source: tlob-architecture section 2.1; docs/architecture.md, "Contracts", for the file's columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.bands import Bands
from core.market.grid import MAX_CARRY_MS, grid_rows, stalled
from core.market.grid import STEP_MS as STEP_MS
from core.market.times import UNKNOWN, milliseconds, why_not
from core.messages import Message, Refusal, compose, first_line

LEVELS = 10
"""Levels a side that the model reads; a book has them all."""
MAX_LEVELS: Final = 1_000
"""Levels a side that are kept for display, and recorded in price bands (`core.market.bands`), where the venue gives them."""
RECORDED_LEVELS: Final = 100
"""Levels a side that are recorded one by one."""
EXACT: Final = 2**53
"""Whole numbers from here on are not exact as floats."""
LARGEST: Final = 1e15
"""Prices and sizes from here on are refused: no market has them, and they would drown every other level."""


def level_columns(first: int, last: int) -> tuple[str, ...]:
    """A file's columns of these levels, counted from 1: ask_price_1, ask_size_1, bid_price_1, bid_size_1, ask_price_2, ..."""
    return tuple(
        f"{side}_{what}_{level}" for level in range(first, last + 1) for side in ("ask", "bid") for what in ("price", "size")
    )


FILE_COLUMNS: Final = level_columns(1, LEVELS)
"""Columns of a file in the model's order."""
DEEP_COLUMNS: Final = level_columns(LEVELS + 1, RECORDED_LEVELS)
"""Columns of deeper levels, which a file may have: whole levels from the eleventh on, empty where the book had fewer."""


def whole_levels(names: Collection[str]) -> list[str]:
    """`FILE_COLUMNS`, and of `DEEP_COLUMNS` the levels that stand whole among a file's columns, up to the first that does not."""
    missing = (i for i in range(0, len(DEEP_COLUMNS), 4) if not set(DEEP_COLUMNS[i : i + 4]) <= set(names))
    return [*FILE_COLUMNS, *DEEP_COLUMNS[: next(missing, None)]]


FEATURES = tuple(f"{side}_{what}{level}" for level in range(1, LEVELS + 1) for side in ("ASK", "BID") for what in ("P", "V"))
"""The same columns by the document's names: ASK_P1, ASK_V1, BID_P1, BID_V1, ASK_P2, ..."""

ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES = (slice(first, None, 4) for first in range(4))
"""Places of each kind of column on the feature axis."""
PRICES, SIZES = slice(0, None, 2), slice(1, None, 2)
TEN_LEVELS = slice(4 * LEVELS)
"""Places of what the model reads, among those of a deeper book."""

FloatArray = NDArray[np.float64]
NO_LEVELS: Final[FloatArray] = np.zeros(0)


def level(levels: FloatArray, side: Literal["ask", "bid"], k: int = 1) -> FloatArray:
    """Price and size (..., 2) of a side's level of books (..., 40 + 4m), counted from 1; from the deepest by -1."""
    first = 4 * (k - 1 if k > 0 else k) + 2 * (side == "bid") + levels.shape[-1] * (k < 0)
    return levels[..., first : first + 2]


def best_ask(levels: FloatArray) -> FloatArray:
    """Best ask prices (...) of books (..., 40 + 4m), quote currency."""
    return levels[..., 0]


def best_bid(levels: FloatArray) -> FloatArray:
    """Best bid prices (...) of books (..., 40 + 4m), quote currency."""
    return levels[..., 2]


def mid_price(levels: FloatArray) -> FloatArray:
    """Prices (...) half way between best ask and best bid of books (..., 40 + 4m), quote currency."""
    return (best_ask(levels) + best_bid(levels)) / 2


def bid_ask_spread(levels: FloatArray) -> FloatArray:
    """Best ask less best bid (...) of books (..., 40 + 4m), quote currency."""
    return best_ask(levels) - best_bid(levels)


class BookError(Refusal, ValueError):
    """A book, file or recording that breaks the contract or is not there; the message says what was wrong and would be right."""


@dataclass(frozen=True, kw_only=True)
class OrderBookSnapshot:
    """A book at one time: ten levels a side, and deeper ones where the venue gives them.

    Attributes:
        levels: (40,) in `FEATURES` order; prices in quote currency, sizes in the venue's unit. Never written to.
        deep: (4m,) the m levels past the tenth in the same order, `MAX_LEVELS` a side in all at most; empty for none.
        exchange_ms: the exchange's own time, milliseconds since the epoch (the receive time where it sends none).
        received_ns: when this machine received it, nanoseconds since the epoch (`core.market.feeds.clock`).
        sequence: the venue's update number, where it has one.
        confirms: whether it confirms the books before it (D27). It does not where a lost update would go unnoticed.
        bands: all that the venue sends, in price bands, where they are known without `deep`.
        asked: whether it is the last message's book, which the venue was asked for and still gave.
    """

    levels: FloatArray
    exchange_ms: int
    received_ns: int
    sequence: int | None = None
    confirms: bool = True
    deep: FloatArray = field(default_factory=lambda: NO_LEVELS)
    bands: Bands | None = None
    asked: bool = False

    @cached_property
    def whole(self) -> FloatArray:
        """(40 + 4m,) all levels; `levels` itself where there are no deeper ones."""
        return np.concatenate([self.levels, self.deep]) if len(self.deep) else self.levels

    @property
    def received_ms(self) -> int:
        """The first whole millisecond at which it was here: a row of the grid does not show a book that came during its own."""
        return -(-self.received_ns // 1_000_000)


def interleave(asks: FloatArray, bids: FloatArray) -> FloatArray:
    """(10, 2) price and size a side, best first -> (40,) in `FEATURES` order.

    Raises:
        BookError: for fewer than ten levels, a crossed or unsorted book, or a size or price that is not positive.
    """
    if len(asks) < LEVELS or len(bids) < LEVELS:
        raise BookError(
            "the book has {asks} asks and {bids} bids: {needed} a side are needed", asks=len(asks), bids=len(bids), needed=LEVELS
        )
    levels = np.concatenate([asks[:LEVELS, :2], bids[:LEVELS, :2]], axis=1).reshape(-1).astype(np.float64)
    if fault := first_fault(levels[None]):
        raise BookError("the book {problem}", problem=fault.what)
    return levels


def all_levels(asks: Sequence[Sequence[float]], bids: Sequence[Sequence[float]]) -> tuple[FloatArray, FloatArray]:
    """Levels [price, size, ...] a side, best first -> (40,) as of `interleave`, and (4m,), those past the tenth of both sides.

    A level whose size is zero is none. Deeper levels are for display: none of them is taken where one is not sensible.

    Raises:
        BookError: as `interleave`. TypeError, ValueError, LookupError: for a level that is not a price and a size.
    """
    a, b = asks[:MAX_LEVELS], bids[:MAX_LEVELS]
    if len(a) == len(b) >= LEVELS:
        columns = np.array(
            [[level[0] for level in a], [level[1] for level in a], [level[0] for level in b], [level[1] for level in b]],
            dtype=np.float64,
        )
        whole = columns.T.reshape(-1)
        if first_fault(whole[None]) is None:
            return whole[TEN_LEVELS], whole[4 * LEVELS :]
    there = ([[level[0], level[1]] for level in side if level[1] != 0] for side in (a, b))
    sides = [np.array(side, dtype=np.float64).reshape(-1, 2) for side in there]
    levels, count = interleave(*sides), min(map(len, sides))
    whole = np.concatenate([side[:count] for side in sides], axis=1).reshape(-1)
    return levels, NO_LEVELS if first_fault(whole[None]) else whole[4 * LEVELS :]


class BookFault(NamedTuple):
    """The end of a sentence about a bad row, and its place."""

    what: Message
    row: int


def first_fault(rows: FloatArray) -> BookFault | None:
    """The fault of the first bad row of (n, 40); None where all rows are good."""
    if rows.size and rows.min() > 0 and rows.max() < LARGEST and _sorted(rows):  # NaN fails the first two
        return None
    return next((BookFault(what, int(np.argmax(bad))) for what, bad in book_faults(rows) if bad.any()), None)


def book_faults(rows: FloatArray) -> list[tuple[Message, NDArray[np.bool_]]]:
    """Each way in which rows (n, 40) can be unusable, as the end of a sentence, and which are so, (n,)."""
    asks, bids = rows[:, ASK_PRICES], rows[:, BID_PRICES]
    with np.errstate(invalid="ignore"):  # of infinite values
        unsorted = (np.diff(asks, axis=1) <= 0) | (np.diff(bids, axis=1) >= 0)
    return [
        (compose("has a missing or infinite value"), (~np.isfinite(rows)).any(axis=1)),
        (compose("has a price or size of zero or less"), (rows <= 0).any(axis=1)),
        (compose("has a price or size of {limit:g} or more", limit=LARGEST), (rows >= LARGEST).any(axis=1)),
        (compose("is locked: the best ask equals the best bid"), asks[:, 0] == bids[:, 0]),
        (compose("is crossed: the best ask is not above the best bid"), asks[:, 0] < bids[:, 0]),
        (compose("is unsorted: asks must rise and bids must fall from the best"), unsorted.any(axis=1)),
    ]


def _sorted(rows: FloatArray) -> bool:
    """Tells whether every row's asks rise from above its best bid, and its bids fall."""
    asks, bids = rows[:, ASK_PRICES], rows[:, BID_PRICES]
    return bool((asks[:, 0] > bids[:, 0]).all() and (asks[:, 1:] > asks[:, :-1]).all() and (bids[:, 1:] < bids[:, :-1]).all())


@dataclass(frozen=True, kw_only=True)
class BookRows:
    """Rows of a book through time.

    Attributes:
        timestamps: (n,) int64, milliseconds UTC, rising.
        levels: (n, 40) in `FEATURES` order.
        deep: (n, 4m) the levels past the tenth, NaN where the book had fewer; None where they were not asked for.
    """

    timestamps: NDArray[np.int64]
    levels: FloatArray
    deep: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.timestamps)

    @property
    def mid(self) -> FloatArray:
        """(n,) mid-price, quote currency."""
        return mid_price(self.levels)

    @property
    def spread(self) -> FloatArray:
        """(n,) best ask less best bid, quote currency."""
        return bid_ask_spread(self.levels)

    @cached_property
    def stalled(self) -> NDArray[np.bool_]:
        """(n,) rows of a book that has stood still for too long to be scored with the others (`core.market.grid.stalled`)."""
        return stalled(self.timestamps, self.levels)

    def __getitem__(self, rows: slice | NDArray[np.integer] | NDArray[np.bool_]) -> BookRows:
        deep = None if self.deep is None else self.deep[rows]
        return BookRows(timestamps=self.timestamps[rows], levels=self.levels[rows], deep=deep)


def price_tick(prices: FloatArray) -> float:
    """The largest step of price of which all of these are multiples: of a day's prices the market's tick. 0 for no price.

    Args:
        prices: of any shape; above zero, of up to twelve decimals.
    """
    flat = np.unique(prices[np.isfinite(prices)])
    if not len(flat):
        return 0.0
    for decimals in range(13):
        units = np.rint(flat * 10.0**decimals)
        if (units.min() >= 1 and np.abs(flat * 10.0**decimals - units).max() < 1e-3) or units.max() >= EXACT:
            break
    return float(np.gcd.reduce(units.astype(np.int64))) / 10.0**decimals


THE_FILE: Final = compose("the file")
TOO_FAR_APART: Final = compose(
    "its books are too far apart for rows of 250 ms: two within {most:.0f} s are needed", most=MAX_CARRY_MS / 1e3
)


def rows_from_frame(frame: pd.DataFrame, *, name: str = THE_FILE, before: int = 0) -> BookRows:
    """A frame with a `timestamp` column and `FILE_COLUMNS` -> checked rows.

    Args:
        name: of the file, and `before`, how many of its rows come before these: a message names both.

    Raises:
        BookError: naming the missing column or the first bad row.
    """
    missing = [column for column in ("timestamp", *FILE_COLUMNS) if column not in frame.columns]
    if missing:
        raise BookError(
            "{name} lacks the column {missing!r}: an order-book file has timestamp, ask_price_1..10, "
            "ask_size_1..10, bid_price_1..10 and bid_size_1..10",
            name=name,
            missing=missing[0],
        )
    if frame.empty:
        raise BookError("{name} has no rows: at least one book is needed", name=name)
    timestamps, _unit = milliseconds(frame["timestamp"])
    if (none := timestamps == UNKNOWN).any():
        row = int(np.argmax(none))
        why = why_not(frame["timestamp"].iloc[row], "timestamp")
        raise BookError("{name} {problem} (row {row})", name=name, problem=why, row=row + before)
    try:
        levels = frame[list(FILE_COLUMNS)].to_numpy(dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise BookError("{name} holds something other than numbers in its prices or sizes", name=name) from error
    if (np.diff(timestamps) < 0).any():
        raise BookError("{name} is not in time order: sort it by timestamp", name=name)
    if fault := first_fault(levels):
        raise BookError("{name} {problem} (row {row})", name=name, problem=fault.what, row=fault.row + before)
    deep = None
    if frame.columns.isin(DEEP_COLUMNS).any():
        whole = frame[whole_levels(frame.columns)[4 * LEVELS :]].apply(pd.to_numeric, errors="coerce")
        deep = known_depth(whole.to_numpy(dtype=np.float64))
    return BookRows(timestamps=timestamps, levels=levels, deep=deep)


def known_depth(deep: FloatArray) -> FloatArray:
    """(n, 4m) levels past the tenth, each row's NaN from the first level on that is not whole, or that no market has."""
    usable = (np.isfinite(deep) & (deep > 0) & (deep < LARGEST)).reshape(len(deep), deep.shape[1] // 4, 4).all(axis=2)
    return np.where(np.repeat(np.logical_and.accumulate(usable, axis=1), 4, axis=1), deep, np.nan)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Says in one sentence that a file cannot be read.

    Raises:
        BookError: where it is not there, or not what its name says.
    """
    try:
        yield
    except BookError:
        raise
    except FileNotFoundError as error:
        raise BookError("there is no file {path}: give a Parquet or CSV file of order-book rows", path=path) from error
    except Exception as error:  # pyarrow and pandas raise a dozen kinds for a file that is not what its name says
        why = first_line(error)
        raise BookError("{file} is not a readable Parquet or CSV file: {reason}", file=path.name, reason=why) from error


def resample(rows: BookRows) -> BookRows:
    """One row every 250 ms, as `core.market.grid.grid_rows` says; rows on the grid already stay as they are.

    Raises:
        BookError: where no two books are close enough for a row between them.
    """
    times, index = grid_rows(rows.timestamps)
    if not len(times):
        raise BookError(TOO_FAR_APART)
    at = rows[index]
    return BookRows(timestamps=times, levels=at.levels, deep=at.deep)
