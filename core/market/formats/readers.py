"""Formats of whole books: the program's own, tardis.dev's `book_snapshot_25`, LOBSTER's and FI-2010's.

And of changes to a book: Binance's messages as they came, hftbacktest's events, and how books are built from them.
"""

from __future__ import annotations

import heapq
import math
import re
import zipfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.market.book import LEVELS, STEP_MS, FloatArray, whole_levels
from core.market.feeds.protocol import Trade
from core.market.formats import protocol
from core.market.store.index import market_of
from core.messages import Message, compose, first_line


class OneFile(protocol.BookFormat):
    """Common part of formats of one file with a header line, recognised by the columns `names`."""

    names: frozenset[str]

    def recognises(self, files: Mapping[str, Path]) -> bool:
        return len(files) == 1 and self.names <= set(_columns(only(files)))


class OwnFormat(OneFile):
    """Rows as this program writes them, Parquet or CSV (docs/architecture.md, "Contracts")."""

    key, name = "own", "Attention Observatory"
    names = frozenset({"timestamp", "ask_price_1", "bid_price_1"})

    def market(self, files: Mapping[str, Path]) -> str:
        return market_of(Path(next(iter(files))).stem)

    def batches(self, files: Mapping[str, Path]) -> Iterator[protocol.BookBatch]:
        path = only(files)
        there = _columns(path)
        columns = ["timestamp", *whole_levels(there)]
        if missing := [name for name in columns if name not in there]:
            raise protocol.FormatError("{file} lacks the column {column}", file=path.name, column=missing[0])
        for part in _parquet_lines(path, columns) if _is_parquet(path) else protocol.number_lines(path, columns, empty=True):
            whole = np.isfinite(part.values[:, 0]) & (part.values[:, 0] % 1 == 0)
            what = compose("has no whole number of milliseconds in column timestamp")
            problems = [*part.problems, *(protocol.RowProblem(row=int(row), what=what) for row in part.lines[~whole])]
            yield _book_batch(part, part.values[:, 0], part.values[:, 1:], whole, problems)


class TardisFormat(OneFile):
    """tardis.dev's CSV of 25 levels a side, packed or not; `local_timestamp`, microseconds UTC, is a book's time.

    Source: docs.tardis.dev, "Downloadable CSV files", data type book_snapshot_25.
    """

    key, name = "tardis", "tardis.dev book_snapshot_25"
    names = frozenset({"local_timestamp", "asks[0].price", "bids[0].amount"})

    def market(self, files: Mapping[str, Path]) -> str:
        lines = protocol.head(only(files)).decode("utf-8", "replace").splitlines()
        names = lines[0].split(",") if lines else []
        cells = lines[1].split(",") if len(lines) > 1 else []
        return cells[names.index("symbol")] if "symbol" in names and len(cells) == len(names) else ""

    def batches(self, files: Mapping[str, Path]) -> Iterator[protocol.BookBatch]:
        path = only(files)
        names = protocol.first_line(path).split(",")
        levels = 0
        while {f"asks[{levels}].price", f"bids[{levels}].price"} <= set(names):
            levels += 1
        columns = ["local_timestamp"]
        for level in range(levels):
            columns += [f"{side}[{level}].{what}" for side in ("asks", "bids") for what in ("price", "amount")]
        for part in protocol.number_lines(path, columns, empty=True):
            known = np.isfinite(part.values[:, 0])
            problems = [*part.problems, *(_no_time(int(row), "local_timestamp") for row in part.lines[~known])]
            yield _book_batch(part, np.ceil(part.values[:, 0] / 1e3), part.values[:, 1:], known, problems)


def only(files: Mapping[str, Path]) -> Path:
    """The one file."""
    return next(iter(files.values()))


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _columns(path: Path) -> list[str]:
    if not _is_parquet(path):
        return [name.strip('"') for name in protocol.first_line(path).split(",")]
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        return []


def _parquet_lines(path: Path, columns: list[str]) -> Iterator[protocol.NumberLines]:
    """A Parquet file's rows, counted from 1."""
    try:
        with pq.ParquetFile(path) as file:
            _bounded(path, file.metadata, columns)
            before, total = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(protocol.BATCH, columns=columns):
                table = pa.Table.from_batches([batch]).to_pandas()
                values = table[columns].to_numpy(dtype=np.float64, na_value=np.nan)
                lines = np.arange(before + 1, before + 1 + len(values))
                before += len(values)
                yield protocol.NumberLines(lines=lines, values=values, problems=[], done=before / total)
    except protocol.FormatError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        why = first_line(error)
        raise protocol.FormatError("{file} cannot be read: {reason}", file=path.name, reason=why) from error


def _bounded(path: Path, about: pq.FileMetaData, columns: list[str]) -> None:
    """Compare what these columns unpack to, by the footer, with what a file may: nothing has been unpacked yet.

    Raises:
        FormatError: where it is more, or a column holds no numbers, whose texts may be of any length.
    """
    places = {about.schema.column(i).path: i for i in range(about.num_columns)}
    for name in columns:
        if name not in places or about.schema.column(places[name]).physical_type == "BYTE_ARRAY":  # a list, or texts
            raise protocol.FormatError("{file} has no numbers in its column {column}", file=path.name, column=name)
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    if sum(group.column(places[name]).total_uncompressed_size for group in groups for name in columns) > protocol.max_unpacked(
        path
    ):
        raise protocol.FormatError(protocol.too_much(path))


def _no_time(row: int, column: str) -> protocol.RowProblem:
    return protocol.RowProblem(row=row, what=compose("has no number in column {column}", column=column))


def _book_batch(
    part: protocol.NumberLines, times: np.ndarray, values: np.ndarray, good: np.ndarray, problems: list[protocol.RowProblem]
) -> protocol.BookBatch:
    return protocol.BookBatch(
        timestamps=times[good].astype(np.int64), values=values[good], rows=part.lines[good], problems=problems, done=part.done
    )


# -- LOBSTER: an order book file and the message file of the same rows ---------------------------------------------------------

NEW_YORK: Final = ZoneInfo("America/New_York")
DUMMY: Final = 9_999_999_999
MESSAGE_FIELDS: Final = 6
EXECUTIONS: Final = (4, 5)
HALT: Final = 7


class LobsterFormat(protocol.BookFormat):
    """Two files of the same number of lines; the day is in their names (lobsterdata.com, "Data Structure").

    Prices are dollars times 10,000; a level that is empty has the price 9999999999 or -9999999999. A message has its time in
    seconds after midnight in New York, its type (4 and 5 are executions), order, size, price and direction (-1: the executed
    order sold).
    """

    key, name = "lobster", "LOBSTER"
    remark = compose("The day comes from the files' names, and times are New York's.")

    def recognises(self, files: Mapping[str, Path]) -> bool:
        kinds = sorted(_kind(path) for path in files.values())
        return kinds in (["book", "messages"], ["book"], ["messages"])

    def market(self, files: Mapping[str, Path]) -> str:
        return Path(next(iter(files))).stem.split("_")[0]

    def batches(self, files: Mapping[str, Path]) -> Iterator[protocol.BookBatch]:
        kinds = {_kind(path): path for path in files.values()}
        if len(kinds) < 2:
            lacking = compose("order book") if "messages" in kinds else compose("messages")
            raise protocol.FormatError(
                "LOBSTER's order book comes with its messages: the file of the {what} is missing", what=lacking
            )
        messages = _Messages(kinds["messages"], _midnight(files))
        width = len(protocol.first_line(kinds["book"]).split(","))
        for books in protocol.number_lines(kinds["book"], width):
            yield messages.beside(books)
        yield messages.beside(
            protocol.NumberLines(lines=np.zeros(0, np.int64), values=np.zeros((0, width)), problems=[], done=1.0)
        )


class _Messages:
    """The messages of a file in their order, 56 bytes each, which the lines of the order book are put beside."""

    def __init__(self, path: Path, midnight: int) -> None:
        parts = list(protocol.number_lines(path, MESSAGE_FIELDS))
        values = np.concatenate([np.zeros((0, MESSAGE_FIELDS)), *(part.values for part in parts)])
        lines = np.concatenate([np.zeros(0, np.int64), *(part.lines for part in parts)])
        seconds, kind = values[:, 0], values[:, 1]
        passed = kind != HALT
        late = passed & (seconds < np.maximum.accumulate(np.append(0.0, np.where(passed, seconds, 0.0)))[:-1])
        back = compose("goes back in time: messages must be in time order")
        self._problems = [protocol.RowProblem(row=int(line), what=back) for line in lines[late]]
        self._problems += [
            protocol.RowProblem(row=one.row, what=compose("of the messages {what}", what=one.what))
            for part in parts
            for one in part.problems
        ]
        sound = passed & ~late
        self._lines, self._values = lines[sound], values[sound]
        self._times = midnight + np.ceil(np.round(seconds[sound] * 1e3, 6)).astype(np.int64)  # never before it happened

    def beside(self, books: protocol.NumberLines) -> protocol.BookBatch:
        """The books with their times, and the messages up to the last of them; of no book all that are left."""
        until = max([0, *books.lines[-1:].tolist(), *(one.row for one in books.problems)]) or np.iinfo(np.int64).max
        end = int(np.searchsorted(self._lines, until, side="right"))
        lines, values, times = self._lines[:end], self._values[:end], self._times[:end]
        self._lines, self._values, self._times = self._lines[end:], self._values[end:], self._times[end:]
        both, here, there = np.intersect1d(lines, books.lines, return_indices=True)
        alone = np.setdiff1d(lines, [*both.tolist(), *(one.row for one in books.problems)])
        problems = [*books.problems, *(one for one in self._problems if one.row <= until)]
        problems += [
            protocol.RowProblem(row=int(line), what=compose("has a message, but no line in the order book")) for line in alone
        ]
        self._problems = [one for one in self._problems if one.row > until]
        executed = np.flatnonzero(np.isin(values[:, 1], EXECUTIONS))
        return protocol.BookBatch(
            timestamps=times[here],
            values=_in_dollars(books.values[there]),
            rows=both,
            problems=sorted(problems, key=lambda one: one.row),
            trades=[
                Trade(price=price / 1e4, size=size, side="buy" if direction < 0 else "sell", exchange_ms=int(when))
                for when, (_, _, _, size, price, direction) in zip(times[executed], values[executed].tolist(), strict=True)
            ],
            done=books.done,
        )


def _in_dollars(values: np.ndarray) -> np.ndarray:
    """Prices in dollars; levels that are empty as NaN. LOBSTER's order of columns is ours."""
    dollars = values.copy()
    dollars[:, 0::2] /= 1e4
    empty = np.abs(values[:, 0::2]) >= DUMMY
    dollars[:, 0::2][empty] = np.nan
    dollars[:, 1::2][empty] = np.nan
    return dollars


def _kind(path: Path) -> str:
    """Kind of a file by its first line's numbers: "messages", "book", or "" for neither."""
    try:
        cells = [float(cell) for cell in protocol.first_line(path).split(",")]
    except ValueError:
        return ""
    if len(cells) == MESSAGE_FIELDS and 0 <= cells[0] <= 86_400 and cells[1] in range(1, 8) and abs(cells[5]) == 1:
        return "messages"
    whole = all(cell % 1 == 0 for cell in cells)
    return "book" if len(cells) >= 4 and len(cells) % 4 == 0 and whole and abs(cells[0]) > 1_000 else ""


def _midnight(files: Mapping[str, Path]) -> int:
    for name in files:
        if day_in := re.search(r"(\d{4})-(\d{2})-(\d{2})", name):
            year, month, day = map(int, day_in.groups())
            try:
                return int(datetime(year, month, day, tzinfo=NEW_YORK).timestamp() * 1e3)
            except ValueError:
                continue
    raise protocol.FormatError(
        compose(
            "the day is in the names of LOBSTER's files, such as GOOG_2012-06-21_34200000_57600000_message_10.csv: these lack it"
        )
    )


# -- FI-2010: 144 rows of features and 5 of labels, a column an event ---------------------------------------------------------

FIRST_DAY: Final = int(datetime(2010, 6, 1, 7, 30, tzinfo=UTC).timestamp() * 1e3)
"""Helsinki's first trading day in the data, 10:30 local time; the events' own times are not given."""
FI_ROWS: Final = 149
FI_LINE: Final = 32 << 20
"""Bytes of a line: one value of each event, sixteen bytes. The largest file has 362,400 events."""
JUMP: Final = 0.05
"""A change of the mid by more than this share is the next of the five stocks, which the files hold one after another."""


class Fi2010Format(protocol.BookFormat):
    """One text file; of its rows the first forty are read (Ntakaris et al. 2018, fairdata.fi 73eb48d7).

    These are ask price, ask volume, bid price, bid volume by level. Prices and volumes are normalised: with "DecPre" they are
    divided by a power of ten, which leaves an order book; by z-score or min-max they no longer are one. There are no times.
    """

    key, name = "fi2010", "FI-2010"
    remark = compose("FI-2010 gives no times: each event is given 250 ms, so horizons count events. Sizes and prices are scaled.")

    def recognises(self, files: Mapping[str, Path]) -> bool:
        return len(files) == 1 and bool(re.match(rb"\s*-?\d\.\d+e[+-]\d+(\s+-?\d\.\d+e[+-]\d+)+", protocol.head(only(files))))

    def market(self, files: Mapping[str, Path]) -> str:
        return "FI-2010"

    def batches(self, files: Mapping[str, Path]) -> Iterator[protocol.BookBatch]:
        path = only(files)
        values = self._read(path)
        if (values[np.isfinite(values)] < 0).any():
            raise protocol.FormatError(
                "{file} is normalised by z-score, which leaves no order book: the files named DecPre are right", file=path.name
            )
        mid = (values[:, 0] + values[:, 2]) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            jumps = np.flatnonzero(np.abs(np.diff(mid) / mid[:-1]) > JUMP) + 1
        edges = [0, *jumps.tolist(), len(values)]
        for stock, (first, last) in enumerate(pairwise(edges)):
            for start in range(first, last, protocol.BATCH):
                end = min(last, start + protocol.BATCH)
                # A minute between two stocks, so that they are never taken for one.
                times = FIRST_DAY + stock * 60_000 + STEP_MS * np.arange(start, end, dtype=np.int64)
                yield protocol.BookBatch(
                    timestamps=times,
                    values=values[start:end],
                    rows=np.arange(start + 1, end + 1, dtype=np.int64),
                    fresh=start == first,
                    done=end / len(values),
                )

    def _read(self, path: Path) -> np.ndarray:
        """(events, 40); a line is a feature, so that a bad line spoils the file."""
        rows: list[np.ndarray] = []
        with closing(protocol.PositionedText(path, longest=FI_LINE)) as file:
            for number, line in enumerate(iter(file.line, ""), 1):
                if number > 4 * LEVELS:
                    break
                try:
                    rows.append(np.array(line.split(), dtype=np.float64))
                except ValueError as error:
                    what = compose("line {row} of {file} holds something other than numbers", row=number, file=path.name)
                    raise protocol.FormatError(what) from error
                if (count := len(rows[-1])) != (right := len(rows[0])):
                    raise protocol.FormatError(
                        "line {row} of {file} has {count} values, the first has {right}: all must have as many",
                        row=number,
                        file=path.name,
                        count=count,
                        right=right,
                    )
        if (count := len(rows)) < 4 * LEVELS:
            raise protocol.FormatError(
                "{file} has {count} lines: FI-2010 has {right}, a feature each", file=path.name, count=count, right=FI_ROWS
            )
        return np.stack(rows, axis=1)


KEPT_LEVELS: Final = 25
"""Levels a side of a converted recording."""


class BookBuilder:
    """Two sides of price and size. Books come out at the last change before each grid time, and on it.

    A grid time takes the last book received at or before it, so that changes between two grid times make one book.
    """

    def __init__(self) -> None:
        self.asks: dict[float, float] = {}
        self.bids: dict[float, float] = {}
        self._at: tuple[int, int] | None = None  # time and row of the last change not yet kept
        self._times: list[int] = []
        self._rows: list[int] = []
        self._books: list[FloatArray] = []

    def __len__(self) -> int:
        return len(self._times)

    def clear(self) -> None:
        """Forget the book."""
        self.asks.clear()
        self.bids.clear()
        self._at = None

    def move_to(self, time_ms: int, row: int) -> None:
        """Announce changes at this time; where they lie in a later step of the grid, the book before them is kept."""
        if self._at is not None and -(-self._at[0] // STEP_MS) != -(-time_ms // STEP_MS):
            self.keep()
        self._at = time_ms, row

    def change(self, side: dict[float, float], levels: Iterable[tuple[float, float]]) -> None:
        """Set sizes of one side; size 0 removes a level."""
        for price, size in levels:
            if size > 0:
                side[price] = size
            else:
                side.pop(price, None)

    def keep(self) -> None:
        """Keep the book as it is."""
        if self._at is None:
            return
        book = np.full((KEPT_LEVELS, 4), np.nan)
        asks = heapq.nsmallest(KEPT_LEVELS, self.asks.items())
        bids = heapq.nlargest(KEPT_LEVELS, self.bids.items())
        book[: len(asks), :2] = np.array(asks).reshape(-1, 2)
        book[: len(bids), 2:] = np.array(bids).reshape(-1, 2)
        self._times.append(self._at[0])
        self._rows.append(self._at[1])
        self._books.append(book.reshape(-1))
        self._at = None

    def take(self) -> tuple[NDArray[np.int64], FloatArray, NDArray[np.int64]]:
        """Times (n,), values (n, 4 * levels) and rows (n,) kept since the last call."""
        times, rows = np.array(self._times, dtype=np.int64), np.array(self._rows, dtype=np.int64)
        values = np.array(self._books, dtype=np.float64).reshape(len(times), 4 * KEPT_LEVELS)
        self._times, self._rows, self._books = [], [], []
        return times, values, rows


LINE = re.compile(r"(\d{16,20}) (\{.*\})\s*")


class BinanceWireFormat(protocol.BookFormat):
    """Depth, trades and snapshots of one market, a line each of the time of receipt in nanoseconds and the JSON, packed or not.

    Changes of depth continue a snapshot (`lastUpdateId`) by their numbers: U and u on spot, pu on futures
    (developers.binance.com, "How to manage a local order book correctly"). A number that is missing makes the book unknown until
    the next snapshot. Binance's event time is a book's time.
    """

    key, name = "binance", "Binance wire"

    def recognises(self, files: Mapping[str, Path]) -> bool:
        return len(files) == 1 and bool(re.match(r"\d{16,20} \{\"", protocol.first_line(only(files))))

    def market(self, files: Mapping[str, Path]) -> str:
        market = re.search(r'"s":"([A-Z0-9_]+)"', protocol.first_line(only(files)))
        return market[1] if market else ""

    def batches(self, files: Mapping[str, Path]) -> Iterator[protocol.BookBatch]:
        stream, number = _Stream(), 0
        with closing(protocol.PositionedText(only(files))) as file:
            for lines in file.batches():
                for number, line in enumerate(lines, number + 1):  # noqa: B020
                    if (batch := stream.take(number, line, file.done)) is not None:
                        yield batch
                yield stream.batch(file.done)
            stream.builder.keep()
            yield stream.batch(1.0)


class _Stream:
    """The book of one market from its messages."""

    def __init__(self) -> None:
        self.builder = BookBuilder()
        self._early: deque[tuple[int, dict[str, Any]]] = deque(maxlen=10_000)  # messages before the snapshot
        self._last: int | None = None  # number of the last change taken
        self._synced = False
        self._fresh = True
        self._time = 0
        self._problems: list[protocol.RowProblem] = []
        self._trades: list[Trade] = []

    def take(self, row: int, line: str, done: float) -> protocol.BookBatch | None:
        """One line; returns what there is where books go missing after it."""
        parts = LINE.fullmatch(line)
        if not parts:
            if line.strip():
                self._wrong(row, compose("is no message: the time of receipt in nanoseconds and JSON are right"))
            return None
        try:
            message = orjson.loads(parts[2])
            data = message.get("data", message)
            if "lastUpdateId" in data:
                self._snapshot(row, data, int(parts[1]) // 1_000_000)
            elif data.get("e") == "depthUpdate":
                return self._depth(row, data, done)
            elif data.get("e") in ("trade", "aggTrade") and data.get("X", "MARKET") == "MARKET":
                side = "sell" if data["m"] else "buy"
                trade = Trade(price=float(data["p"]), size=float(data["q"]), side=side, exchange_ms=int(data["T"]))  # type: ignore[arg-type]
                self._trades.append(trade)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            why = compose("lacks {field}", field=error) if isinstance(error, KeyError) else compose("is not as Binance writes it")
            self._wrong(row, why)
        return None

    def batch(self, done: float) -> protocol.BookBatch:
        """Returns the books that arrived since the last call."""
        times, values, rows = self.builder.take()
        made = protocol.BookBatch(
            timestamps=times,
            values=values,
            rows=rows,
            problems=self._problems,
            trades=self._trades,
            fresh=self._fresh and len(times) > 0,
            done=done,
        )
        self._fresh = self._fresh and not len(times)
        self._problems, self._trades = [], []
        return made

    def _wrong(self, row: int, what: Message) -> None:
        self._problems.append(protocol.RowProblem(row=row, what=what))

    def _snapshot(self, row: int, data: dict[str, Any], received_ms: int) -> None:
        sides = [[(float(price), float(size)) for price, size in data[side]] for side in ("asks", "bids")]
        self.builder.clear()
        self.builder.change(self.builder.asks, sides[0])
        self.builder.change(self.builder.bids, sides[1])
        self._last, self._synced = int(data["lastUpdateId"]), False
        early, self._early = list(self._early), deque(maxlen=self._early.maxlen)
        for number, message in early:
            if message["u"] > self._last or self._synced:
                self._depth(number, message, 0.0)

    def _depth(self, row: int, data: dict[str, Any], done: float) -> protocol.BookBatch | None:
        first, last = int(data["U"]), int(data["u"])
        if self._last is None:
            self._early.append((row, data))
            return None
        if last <= self._last and not self._synced:
            return None
        follows = data["pu"] == self._last if "pu" in data and self._synced else first <= self._last + 1 <= last + 1
        if not follows:
            self._wrong(
                row, compose("does not follow the update before it: some are missing, and the book is unknown for a while")
            )
            self.builder.keep()
            missing = self.batch(done)
            self.builder.clear()
            self._last, self._synced, self._fresh = None, False, True
            self._early.append((row, data))
            return missing
        changes = [[(float(price), float(size)) for price, size in data[side]] for side in ("a", "b")]
        self._time = max(self._time, int(data["E"]))
        self.builder.move_to(self._time, row)
        self.builder.change(self.builder.asks, changes[0])
        self.builder.change(self.builder.bids, changes[1])
        self._last, self._synced = last, True
        return None


FIELDS: Final = ("ev", "exch_ts", "local_ts", "px", "qty")
DEPTH, TRADE, CLEAR, SNAPSHOT, BEST = 1, 2, 3, 4, 5
LOCAL: Final = 1 << 30
BUY, SELL = 1 << 29, 1 << 28


class HftbacktestFormat(protocol.BookFormat):
    """An array "data" of events, each with flags and two times in nanoseconds (hftbacktest's docs, "Data").

    Fields ev, exch_ts, local_ts, px, qty, order_id, ival, fval. The low byte of ev says what happened: 1 depth, 2 trade, 3 clear,
    4 snapshot; its bits 31 and 30 who is to see it (exchange, local), 29 and 28 the side (buy, sell). Local time is a book's
    time. Events that only the exchange saw are passed over.
    """

    key, name = "hftbacktest", "hftbacktest .npz"

    def recognises(self, files: Mapping[str, Path]) -> bool:
        try:
            with zipfile.ZipFile(only(files)) as packed:
                return len(files) == 1 and "data.npy" in packed.namelist()
        except (zipfile.BadZipFile, OSError):
            return False

    def market(self, files: Mapping[str, Path]) -> str:
        return re.sub(r"_?\d{6,8}.*", "", Path(next(iter(files))).stem)

    def batches(self, files: Mapping[str, Path]) -> Iterator[protocol.BookBatch]:
        events = self._events(only(files))
        seen = np.flatnonzero((events["ev"] & LOCAL) != 0)
        times = -(-events["local_ts"][seen] // 1_000_000)
        order = np.argsort(times, kind="stable")
        seen, times = seen[order], times[order]
        builder = BookBuilder()
        for start in range(0, len(seen), protocol.BATCH):
            problems: list[protocol.RowProblem] = []
            trades: list[Trade] = []
            rows = seen[start : start + protocol.BATCH]
            flags = events["ev"][rows]
            sides = np.where(flags & BUY, 1, np.where(flags & SELL, -1, 0))
            columns = (
                rows + 1,
                times[start : start + protocol.BATCH],
                flags & 0xFF,
                sides,
                events["px"][rows],
                events["qty"][rows],
            )
            for row, when, kind, side, price, size in zip(*(column.tolist() for column in columns), strict=True):
                if (why := _fault(kind, side, price, size)) is not None:
                    problems += [protocol.RowProblem(row=row, what=why)] if kind != BEST else []
                elif kind == TRADE:
                    trades.append(Trade(price=price, size=size, side="buy" if side > 0 else "sell", exchange_ms=when))
                else:
                    builder.move_to(when, row)
                    if kind == CLEAR:
                        _clear(builder, side, price)
                    else:
                        builder.change(builder.bids if side > 0 else builder.asks, [(price, size)])
            if start + protocol.BATCH >= len(seen):
                builder.keep()
            stamps, values, numbers = builder.take()
            done = min(1.0, (start + protocol.BATCH) / len(seen))
            yield protocol.BookBatch(
                timestamps=stamps, values=values, rows=numbers, problems=problems, trades=trades, fresh=start == 0, done=done
            )

    def _events(self, path: Path) -> NDArray[Any]:
        try:
            with zipfile.ZipFile(path) as packed:
                size = packed.getinfo("data.npy").file_size
            if size > protocol.max_unpacked(path):
                raise protocol.FormatError(protocol.too_much(path))
            with np.load(path, allow_pickle=False) as packed:
                events: NDArray[Any] = packed["data"]
        except protocol.FormatError:
            raise
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            why = first_line(error)
            raise protocol.FormatError("{file} cannot be read: {reason}", file=path.name, reason=why) from error
        if missing := [name for name in FIELDS if name not in (events.dtype.names or ())]:
            raise protocol.FormatError(
                "the events of {file} lack the field {field}: hftbacktest 2 writes it", file=path.name, field=missing[0]
            )
        if not (len(events) and (events["ev"] & LOCAL).any()):
            raise protocol.FormatError("{file} has no event that was received: some are needed", file=path.name)
        return events


def _fault(kind: int, side: int, price: float, size: float) -> Message | None:
    """Says what is wrong with an event; None where nothing is."""
    if kind == CLEAR:
        return None
    if kind not in (DEPTH, SNAPSHOT, TRADE):
        return compose("has the event type {kind}: depth, trade, clear and snapshot (1 to 4) are read", kind=kind)
    if not (0 < price < math.inf and 0 <= size < math.inf):
        return compose("has price {price:g} and size {size:g}: a price above 0 and a size are right", price=price, size=size)
    return None if side else compose("has no side: the flag of a buy or a sell is needed")


def _clear(builder: BookBuilder, side: int, price: float) -> None:
    """Remove a side as far as the price; both sides whole, where none is named."""
    if side >= 0:
        for level in [level for level in builder.bids if side == 0 or not price or level >= price]:
            del builder.bids[level]
    if side <= 0:
        for level in [level for level in builder.asks if side == 0 or not price or level <= price]:
            del builder.asks[level]


FORMATS: Final[tuple[protocol.BookFormat, ...]] = (
    *(OwnFormat(), TardisFormat(), HftbacktestFormat(), BinanceWireFormat(), Fi2010Format(), LobsterFormat()),
)
