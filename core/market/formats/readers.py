"""Formats of whole books: the program's own, tardis.dev's `book_snapshot_25`, LOBSTER's and FI-2010's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.market.book import LEVELS, STEP_MS, whole_levels
from core.market.feeds.protocol import Trade
from core.market.formats import protocol
from core.market.store.index import market_of
from core.messages import compose, first_line


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


FORMATS: Final[tuple[protocol.BookFormat, ...]] = (*(OwnFormat(), TardisFormat(), Fi2010Format(), LobsterFormat()),)
