"""Protocol of the formats of order-book files, books with their problems batch by batch; and reading of text within bounds."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.feeds.protocol import Trade
from core.messages import Message, Refusal, compose

BATCH: Final = 20_000
"""Lines or events read at once."""
BATCH_BYTES: Final = 16 << 20
"""Bytes of lines read at once, where these are fewer lines than `BATCH`."""
HEAD_BYTES: Final = 65_536
MAX_LINE: Final = 1 << 20
"""Bytes of a line. Binance's largest snapshot, of 5,000 levels a side, has a third of it."""
MAX_UNPACKED: Final = 64 << 20
MAX_RATIO: Final = 50
"""Bytes that a file may unpack to: `MAX_UNPACKED`, or so many times its own. Books as text are packed 5 to 12 times smaller."""
GZIP: Final = b"\x1f\x8b"


class FormatError(Refusal, ValueError):
    """Files that no format recognises, or that cannot be converted; the message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class RowProblem:
    """Fault of one row: its line or row number in the file, from 1, and a clause that says what would be right."""

    row: int
    what: Message


@dataclass(frozen=True, kw_only=True)
class BookBatch:
    """Some books of a file.

    Attributes:
        timestamps: (n,) milliseconds. values: (n, 4 * levels) in the order of a recording's columns, NaN for a level that is
            empty. rows: (n,) their line or row numbers in the file.
        problems: rows that were left out. trades: of the same time.
        fresh: whether books are missing before this batch, so that none before it is carried over.
        done: share of the file read so far.
    """

    timestamps: NDArray[np.int64]
    values: FloatArray
    rows: NDArray[np.int64]
    problems: Sequence[RowProblem] = ()
    trades: Sequence[Trade] = ()
    fresh: bool = False
    done: float = 0.0


class BookFormat(Protocol):
    """One format.

    Attributes:
        key: short name. name: for a person. remark: what a reader of this format should know; "" for nothing.
    """

    key: str
    name: str
    remark: Message | str = ""

    def recognises(self, files: Mapping[str, Path]) -> bool:
        """Tells whether these files, by their names, are of this format."""
        ...

    def market(self, files: Mapping[str, Path]) -> str:
        """The market as far as the files tell, "" where they do not."""
        ...

    def batches(self, files: Mapping[str, Path]) -> Iterator[BookBatch]:
        """All books in time order.

        Raises:
            FormatError: where the files cannot be read at all.
        """
        ...


def max_unpacked(path: Path) -> int:
    """Bytes that a packed file may unpack to."""
    return max(MAX_UNPACKED, MAX_RATIO * path.stat().st_size)


class PositionedText:
    """Lines of a text file, gzip or not, with the share of it that has been read.

    A line is read as far as it may be long, and a packed file as far as it may unpack: a small file must not fill the memory.

    Args:
        longest: bytes of a line.
    """

    def __init__(self, path: Path, longest: int = MAX_LINE) -> None:
        self.path, self.longest = path, longest
        self._raw: IO[bytes] = path.open("rb")
        packed = self._raw.read(2) == GZIP
        self._raw.seek(0)
        self._data: IO[bytes] = gzip.GzipFile(fileobj=self._raw) if packed else self._raw  # type: ignore[assignment]
        self._size, self._unpacked, self._most = max(1, path.stat().st_size), 0, max_unpacked(path)

    @property
    def done(self) -> float:
        """Share of the file read, 0 to 1."""
        return min(1.0, self._raw.tell() / self._size)

    def line(self) -> str:
        """The next line with its end, "" after the last.

        Raises:
            FormatError: where it is too long, or the file unpacks to too much.
        """
        line = self._data.readline(self.longest + 1)
        self._unpacked += len(line)
        if len(line) > self.longest:
            what = compose(
                "{file} has a line of over {most} KiB: no book is so long", file=self.path.name, most=self.longest >> 10
            )
            raise FormatError(what)
        if self._unpacked > self._most:
            raise FormatError(too_much(self.path))
        return line.decode("utf-8", "replace")

    def batches(self) -> Iterator[list[str]]:
        """The rest, some lines at a time."""
        lines, taken = list[str](), 0
        while line := self.line():
            lines.append(line)
            taken += len(line)
            if len(lines) == BATCH or taken >= BATCH_BYTES:
                yield lines
                lines, taken = [], 0
        if lines:
            yield lines

    def close(self) -> None:
        """Release the file."""
        self._data.close()
        self._raw.close()


def too_much(path: Path) -> Message:
    """A sentence on a file that unpacks to more than it may."""
    return compose("{file} unpacks to more than {most} MiB: split it", file=path.name, most=max_unpacked(path) >> 20)


def head(path: Path) -> bytes:
    """The first 64 KiB of a file's content, unpacked where it is packed by gzip; as much as can be unpacked."""
    with path.open("rb") as file:
        data = file.read(HEAD_BYTES)
    if data.startswith(GZIP):
        import zlib

        try:
            return zlib.decompressobj(wbits=31).decompress(data, HEAD_BYTES)
        except zlib.error:
            return b""
    return data


def first_line(path: Path) -> str:
    """The first line of a text file, "" of what is no text."""
    try:
        return head(path).split(b"\n", 1)[0].decode("utf-8").strip("\r\ufeff")
    except UnicodeDecodeError:
        return ""


@dataclass(frozen=True, kw_only=True)
class NumberLines:
    """Some lines: (n,) line numbers from 1, (n, columns) numbers, the lines left out, and the share of the file read."""

    lines: NDArray[np.int64]
    values: FloatArray
    problems: list[RowProblem]
    done: float


def number_lines(path: Path, columns: Sequence[str] | int, *, empty: bool = False) -> Iterator[NumberLines]:
    """Columns of numbers of a CSV file; a line that cannot be read is a problem with its number.

    Args:
        columns: the names wanted, of a file with a header; or the number of columns of a file without one.
        empty: whether a cell may be empty, which makes it NaN.

    Raises:
        FormatError: where a column is not there.
    """
    with closing(PositionedText(path)) as file:
        before = 0
        names = wanted = [str(i + 1) for i in range(columns)] if isinstance(columns, int) else list(columns)
        if not isinstance(columns, int):
            names = [name.strip().strip('"') for name in file.line().strip("\r\n\ufeff").split(",")]
            before = 1
            if missing := [name for name in wanted if name not in names]:
                raise FormatError("{file} lacks the column {column}", file=path.name, column=missing[0])
        places = [names.index(name) for name in wanted]
        for lines in file.batches():
            problems, numbers, cells = list[RowProblem](), list[int](), list[list[str]]()
            for number, line in enumerate(lines, before + 1):
                fields = line.rstrip("\r\n").split(",")
                if len(fields) == len(names):
                    numbers.append(number)
                    cells.append([fields[place] for place in places])
                elif line.strip():
                    what = compose("has {count} fields: {right} are right", count=len(fields), right=len(names))
                    problems.append(RowProblem(row=number, what=what))
            before += len(lines)
            table = pd.DataFrame(cells, columns=range(len(wanted)), dtype=str)
            values = table.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
            bad = ~np.isfinite(values)
            if empty:
                bad &= (table != "").to_numpy()
            for row in np.flatnonzero(bad.any(axis=1)):
                column = int(np.argmax(bad[row]))
                about = {"text": cells[row][column][:40], "column": wanted[column]}
                problems.append(
                    RowProblem(row=numbers[row], what=compose("has {text!r} in column {column}: a number is right", **about))
                )
            good = ~bad.any(axis=1)
            problems.sort(key=lambda one: one.row)
            yield NumberLines(lines=np.array(numbers, np.int64)[good], values=values[good], problems=problems, done=file.done)
