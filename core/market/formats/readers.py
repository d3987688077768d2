"""Formats of whole books: the program's own, tardis.dev's `book_snapshot_25`, LOBSTER's and FI-2010's."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from core.market.book import LEVELS, PRICES, RECORDED_LEVELS, SIZES, STEP_MS, FloatArray
from core.market.events import Trade
from core.market.formats import tables
from core.market.formats.identity import Claim, Claims, agreed, claims_of_name
from core.market.formats.tables import Faults, FormatError, NumberRows
from core.market.times import UNKNOWN, milliseconds, why_not
from core.messages import Message, compose


@dataclass(frozen=True, kw_only=True)
class BookBatch:
    """Some books of a file.

    Attributes:
        timestamps: (n,) milliseconds. values: (n, 4 * levels) in the order of a recording's columns, NaN for a level that is
            empty. rows: (n,) their line or row numbers in the file.
        faults: rows that were left out. trades: of the same time.
        fresh: whether books are missing before this batch, so that none before it is carried over.
        done: share of the file read so far.
    """

    timestamps: NDArray[np.int64]
    values: FloatArray
    rows: NDArray[np.int64]
    faults: Faults = field(default_factory=list)
    trades: list[Trade] = field(default_factory=list)
    fresh: bool = False
    done: float = 1.0


@dataclass(frozen=True, kw_only=True)
class BookFormat:
    """A format: its key in JSON, its name for a person, and what a reader of it should know, "" for nothing."""

    key: str
    name: str
    remark: Message | str = ""


@dataclass(frozen=True, kw_only=True)
class ColumnMap(BookFormat):
    """A format of one table with a header.

    Attributes:
        time: column of a book's time. level: columns of a level by its number: ask price and size, bid price and size.
        first: number of the best level. fixed: prices a unit of money, where all are whole and beyond any market's; 1 for none.
    """

    time: str
    level: tuple[str, str, str, str]
    first: int
    fixed: float = 1.0

    def columns(self, level: int) -> list[str]:
        """Columns of a level, the best being 0."""
        return [name.format(level + self.first) for name in self.level]

    def fits(self, names: Collection[str]) -> bool:
        """Tells whether a table with these columns, in small letters, is meant to be of this format."""
        best = self.columns(0)
        return len({self.time, best[0], best[2]} & set(names)) >= 2


OWN: Final = ColumnMap(
    key="own",
    name="Attention Observatory",
    time="timestamp",
    level=("ask_price_{}", "ask_size_{}", "bid_price_{}", "bid_size_{}"),
    first=1,
)
"""Rows as this program writes them, Parquet or CSV (docs/architecture.md, "Contracts")."""
TARDIS: Final = ColumnMap(
    key="tardis",
    name="tardis.dev book_snapshot_25",
    time="local_timestamp",
    level=("asks[{}].price", "asks[{}].amount", "bids[{}].price", "bids[{}].amount"),
    first=0,
)
"""CSV of 25 levels a side, packed or not (docs.tardis.dev, "Downloadable CSV files", data type book_snapshot_25)."""
DATABENTO: Final = ColumnMap(
    key="databento",
    name="Databento mbp-10",
    time="ts_recv",
    level=("ask_px_{:02}", "ask_sz_{:02}", "bid_px_{:02}", "bid_sz_{:02}"),
    first=0,
    fixed=1e9,
)
"""Ten levels a side after each event, prices as decimals or in billionths (databento.com/docs, schema mbp-10)."""
LOBSTER: Final = BookFormat(
    key="lobster", name="LOBSTER", remark=compose("The day comes from the files' names, and times are New York's.")
)
FI2010: Final = BookFormat(
    key="fi2010",
    name="FI-2010",
    remark=compose("FI-2010 gives no times: each event is given 250 ms, so horizons count events. Sizes and prices are scaled."),
)
MAPS: Final = (OWN, TARDIS, DATABENTO)
INDEX_NAMES: Final = ("", "__index_level_0__", "unnamed: 0", "index", "time", "datetime", "date", "ts", "ts_event")
"""Columns that have a book's time where the format's own is missing, as pandas writes an index of times."""
NO_PRICE: Final = 9e18
"""Billionths, from which on a price is Databento's word for none."""
FORMATS: Final = {form.key: form for form in (*MAPS, LOBSTER, FI2010)}
SAYS_WHO: Final = {
    **dict.fromkeys(("symbol", "market", "instrument", "ticker", "pair"), "symbol"),
    "exchange": "exchange",
    "venue": "exchange",
    "stream": "stream",
    "channel": "stream",
}
"""Columns by which a market is known, and what they say."""


class Source:
    """One file, or LOBSTER's two, of one format.

    Attributes:
        form: the format. files: by their names. claims: what names and, once its books are read, columns say of the market.
    """

    form: BookFormat

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files, self.claims = dict(files), Claims()
        self.name, self.path = next(iter(self.files.items()))
        for name in self.files:
            self.claims = agreed(self.claims, claims_of_name(name).values())

    def batches(self) -> Iterator[BookBatch]:
        """All books in time order.

        Raises:
            FormatError: where the files cannot be read at all, or contradict themselves.
        """
        raise NotImplementedError


class MappedSource(Source):
    """A table with a header, CSV or Parquet.

    Args:
        names: its columns as they are spelled, by the same in small letters.
    """

    def __init__(self, files: Mapping[str, Path], form: ColumnMap, names: Mapping[str, str]) -> None:
        super().__init__(files)
        self.form: ColumnMap = form
        self.time = next((names[name] for name in (form.time, *INDEX_NAMES) if name in names), "")
        if not {form.time, *INDEX_NAMES} & names.keys():
            raise FormatError("{file} lacks the column {column}", file=self.name, column=form.time)
        self.levels = [names[column] for column in self._levels(names)]
        self._who = {spelled: SAYS_WHO[name] for name, spelled in names.items() if name in SAYS_WHO}

    def _levels(self, names: Collection[str]) -> list[str]:
        """Columns of all levels that stand whole, up to the first that does not."""
        columns: list[str] = []
        while set(level := self.form.columns(len(columns) // 4)) <= set(names) and len(columns) < 4 * RECORDED_LEVELS:
            columns += level
        if (count := len(columns) // 4) < LEVELS:
            if count and not set(level) & set(names):
                raise too_few_levels(self.name, count)
            missing = next(column for column in level if column not in names)
            raise FormatError("{file} lacks the column {column}", file=self.name, column=missing)
        return columns

    def batches(self) -> Iterator[BookBatch]:
        read = tables.parquet_rows if tables.is_parquet(self.path) else tables.csv_rows
        unit, scaled = "", None
        for part in read(self.path, self.name, self.levels, [self.time, *self._who]):
            cells = part.texts[self.time]
            times, unit = milliseconds(cells, unit)
            good = times != UNKNOWN
            faults = [*part.faults]
            for row, cell in zip(part.rows[~good], cells[~good].tolist(), strict=True):
                faults.append((np.array([row]), why_not(cell, self.time)))
            self._hear(part)
            values = part.values[good]
            if self.form.fixed > 1 and len(values):
                scaled = in_fixed_point(values) if scaled is None else scaled
                values = _in_money(values, self.form.fixed, NO_PRICE) if scaled else values
            yield BookBatch(timestamps=times[good], values=values, rows=part.rows[good], faults=faults, done=part.done)

    def _hear(self, part: NumberRows) -> None:
        """Compare what the columns say with what was said before."""
        for column, what in self._who.items():
            by = compose("the column {column} of {file}", column=column, file=self.name)
            values = part.texts[column].dropna().astype(str).str.strip(' "').unique()
            self.claims = agreed(self.claims, [Claim(what=what, value=value[:40], by=by) for value in values if value])


def in_fixed_point(values: FloatArray) -> bool:
    """Tells whether prices, every second column, stand in billionths: all of them are whole, and most above a million."""
    prices = values[:, PRICES][np.isfinite(values[:, PRICES])]
    return len(prices) > 0 and bool((prices % 1 == 0).all()) and float(np.median(prices)) > 1e6


def _in_money(values: FloatArray, per: float, empty: float) -> FloatArray:
    """Prices, so many of which are one of money; levels whose price is `empty` or more, on either side of 0, as NaN."""
    money = values.copy()
    money[:, PRICES] /= per
    missing = np.abs(values[:, PRICES]) >= empty
    money[:, PRICES][missing] = money[:, SIZES][missing] = np.nan
    return money


def too_few_levels(name: str, count: int) -> FormatError:
    """A file whose books are not deep enough."""
    return FormatError("{file} has {count} levels a side: {needed} are needed", file=name, count=count, needed=LEVELS)


# -- LOBSTER: an order book file and the message file of the same rows ---------------------------------------------------------

NEW_YORK: Final = ZoneInfo("America/New_York")
A_DOLLAR: Final = 1e4
DUMMY: Final = 9_999_999_999
MESSAGE_FIELDS: Final = 6
EXECUTIONS: Final = (4, 5)
ORDERS: Final = (1, 2, 3, 4)
"""Kinds of messages whose price is one of the book."""
HALT: Final = 7


class LobsterSource(Source):
    """Two files of the same number of lines; the day is in their names (lobsterdata.com, "Data Structure").

    Prices are dollars times 10,000; a level that is empty has the price 9999999999 or -9999999999. A message has its time in
    seconds after midnight in New York, its type (4 and 5 are executions), order, size, price and direction (-1: the executed
    order sold).
    """

    form = LOBSTER

    def __init__(self, messages: tuple[str, Path], book: tuple[str, Path]) -> None:
        super().__init__(dict([messages, book]))
        (self.message_name, self.message_path), (self.name, self.path) = messages, book
        self.width = len(tables.cells_of(tables.first_line_of(self.path)))
        by = compose("the content of {file}", file=self.name)
        self.claims = agreed(self.claims, [Claim(what="levels", value=str(self.width // 4), by=by)])
        if self.width < 4 * LEVELS:
            raise too_few_levels(self.name, self.width // 4)
        if "day" not in self.claims:
            what = compose("the day is in the names of LOBSTER's files, such as GOOG_2012-06-21_34200000_57600000_message_10.csv")
            raise FormatError("{what}: these lack it", what=what)
        day = datetime.fromisoformat(self.claims["day"].value)
        self._midnight = int(day.replace(tzinfo=NEW_YORK).timestamp() * 1e3)

    def batches(self) -> Iterator[BookBatch]:
        parts = list(tables.csv_rows(self.message_path, self.message_name, MESSAGE_FIELDS))
        values = np.concatenate([np.zeros((0, MESSAGE_FIELDS)), *(part.values for part in parts)])
        rows = np.concatenate([np.zeros(0, np.int64), *(part.rows for part in parts)])
        faults: Faults = [(at, compose("of the messages {what}", what=what)) for part in parts for at, what in part.faults]
        known = np.isfinite(values).all(axis=1)
        halted = known & (values[:, 1] == HALT)
        seconds = np.where(known, values[:, 0], 0.0)
        late = known & ~halted & (seconds < np.maximum.accumulate(np.where(halted, 0.0, seconds)))
        faults += [(rows[~known], compose("has a message with an empty cell"))]
        faults += [(rows[late], compose("goes back in time: all must be in time order"))]
        sound = known & ~halted & ~late
        times = self._midnight + np.ceil(np.round(seconds * 1e3, 6)).astype(np.int64)  # never before it happened
        silent, priced = np.concatenate([rows[~sound], *(at for at, _ in faults)]), sound & np.isin(values[:, 1], ORDERS)
        near = not priced.any()
        for books in tables.csv_rows(self.path, self.name, self.width):
            both, here, there = np.intersect1d(rows[sound], books.rows, return_indices=True)
            here, dollars = np.flatnonzero(sound)[here], _in_money(books.values[there], A_DOLLAR, DUMMY)
            price = values[here, 4] / A_DOLLAR
            with np.errstate(invalid="ignore"):
                inside = (price >= np.fmin.reduce(dollars[:, 2::4], axis=1)) & (price <= np.fmax.reduce(dollars[:, 0::4], axis=1))
            near = near or bool((inside & priced[here]).any())
            alone = np.setdiff1d(books.rows, [*both, *silent])
            silent = np.concatenate([silent, both, *(at for at, _ in books.faults)])
            wrong = [*books.faults, (alone, compose("has a line in the order book, but no message"))]
            yield BookBatch(timestamps=times[here], values=dollars, rows=both, faults=wrong, done=books.done)
        if not near:
            about = {"file": self.message_name, "book": self.name}
            raise FormatError("no message of {file} has a price within the books of {book}: they do not belong together", **about)
        faults.append((np.setdiff1d(rows, silent), compose("has a message, but no line in the order book")))
        trades = [
            Trade(price=price / A_DOLLAR, size=size, side="buy" if direction < 0 else "sell", exchange_ms=int(when))
            for when, kind, (_, _, _, size, price, direction) in zip(times, values[:, 1], values.tolist(), strict=True)
            if kind in EXECUTIONS
        ]
        yield BookBatch(timestamps=times[:0], values=np.zeros((0, self.width)), rows=rows[:0], faults=faults, trades=trades)


def lobster_kind(path: Path) -> str:
    """Kind of a file by its first line's numbers: "messages", "book", or "" for neither."""
    try:
        cells = [float(cell) for cell in tables.cells_of(tables.first_line_of(path))]
    except ValueError:
        return ""
    if len(cells) == MESSAGE_FIELDS and 0 <= cells[0] <= 86_400 and cells[1] in range(1, 8) and abs(cells[5]) == 1:
        return "messages"
    whole = all(cell % 1 == 0 for cell in cells)
    return "book" if len(cells) >= 4 and len(cells) % 4 == 0 and whole and abs(cells[0]) > 1_000 else ""


# -- FI-2010: 144 rows of features and 5 of labels, a column an event ---------------------------------------------------------

FIRST_DAY: Final = int(datetime(2010, 6, 1, 7, 30, tzinfo=UTC).timestamp() * 1e3)
"""Helsinki's first trading day in the data, 10:30 local time; the events' own times are not given."""
FI_ROWS: Final = 149
FI_LINE: Final = 32 << 20
"""Bytes of a line: one value of each event, sixteen bytes. The largest file has 362,400 events."""
FI_EVENTS: Final = 20_000
"""Events handed on at once."""
FAR: Final = 0.002
OUTLIER: Final = 5
"""A book without a price of the one before is another stock's where the mid moves by more than this share; a book without a level
of it, price and size, where it moves by more than so many times the 99th percentile of its moves."""
MANY: Final = 10
SELDOM: Final = 0.01
"""Border of two books: so many levels of the one before, by the median, and fewer than this share with none, are another's."""


class Fi2010Source(Source):
    """One text file; of its rows the first forty are read (Ntakaris et al. 2018, fairdata.fi 73eb48d7).

    These are ask price, ask volume, bid price, bid volume by level. Prices and volumes are normalised: with "DecPre" they are
    divided by a power of ten, which leaves an order book; by z-score or min-max they no longer are one. There are no times, and
    the five stocks and their days lie one after another: a book that has nothing of the one before begins anew (`borders`).
    """

    form = FI2010

    def __init__(self, files: Mapping[str, Path]) -> None:
        super().__init__(files)
        market = Claim(what="symbol", value="FI-2010", by=compose("the content of {file}", file=self.name))
        self.claims = {"symbol": market}

    def batches(self) -> Iterator[BookBatch]:
        values = self._read()
        edges = [0, *borders(values).tolist(), len(values)]
        for stock, (first, last) in enumerate(pairwise(edges)):
            for start in range(first, last, FI_EVENTS):
                end = min(last, start + FI_EVENTS)
                # A minute between two stretches, so that they are never taken for one.
                times = FIRST_DAY + stock * 60_000 + STEP_MS * np.arange(start, end, dtype=np.int64)
                rows = np.arange(start + 1, end + 1, dtype=np.int64)
                fresh = start == first
                yield BookBatch(timestamps=times, values=values[start:end], rows=rows, fresh=fresh, done=end / len(values))

    def _read(self) -> FloatArray:
        """(events, 40); a line is a feature, so that a bad line spoils the file."""
        rows: list[FloatArray] = []
        for block, _ in tables.lines(self.path, self.name, FI_LINE):
            for line in block[: 4 * LEVELS - len(rows)]:
                about: dict[str, Any] = {"row": len(rows) + 1, "file": self.name}
                try:
                    rows.append(np.array(line.split(), dtype=np.float64))
                except ValueError as error:
                    raise FormatError("line {row} of {file} holds something other than numbers", **about) from error
                about |= {"count": len(rows[-1]), "right": len(rows[0])}
                if len(rows[-1]) != len(rows[0]):
                    raise FormatError("line {row} of {file} has {count} values: {right} are right, as in the first", **about)
        if len(rows) < 4 * LEVELS:
            about = {"file": self.name, "count": len(rows), "right": FI_ROWS}
            raise FormatError("{file} has {count} lines: FI-2010 has {right}, a feature each", **about)
        return np.stack(rows, axis=1)


def borders(values: FloatArray) -> NDArray[np.intp]:
    """Indices of the books (n, 40) with which another stock, or another day, begins.

    Ten events lie between two books of the data, so that most levels of one are in the next (of LOBSTER's and Shanghai's books
    ten events apart 15 of 20, and never none).
    """
    if len(values) < 2:
        return np.zeros(0, np.intp)
    prices, sizes = values[:, PRICES], values[:, SIZES]
    same_price, same_level = np.empty(len(values) - 1, np.int64), np.empty(len(values) - 1, np.int64)
    for start in range(0, len(values) - 1, FI_EVENTS // 4):
        part = slice(start, min(start + FI_EVENTS // 4, len(values) - 1))
        after = slice(part.start + 1, part.stop + 1)
        equal = prices[part, :, None] == prices[after, None, :]
        same_price[part] = equal.any(axis=2).sum(axis=1)
        same_level[part] = (equal & (sizes[part, :, None] == sizes[after, None, :])).any(axis=2).sum(axis=1)
    mids = (prices[:, 0] + prices[:, 1]) / 2
    moves = np.nan_to_num(np.abs(np.diff(mids)))
    usual = np.quantile(moves, 0.99, method="lower")
    border = (same_price == 0) & (moves > FAR * np.abs(mids[:-1])) | (same_level == 0) & (moves > OUTLIER * usual)
    if np.median(same_level) >= MANY and (same_level == 0).mean() <= SELDOM:
        border |= same_level == 0
    return np.flatnonzero(border) + 1
