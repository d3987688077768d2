"""What a format of order-book files offers: recognition by content, and books with their problems, batch by batch."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.feeds.protocol import Trade
from core.messages import Message

BATCH: Final = 20_000
"""Lines or events read at once."""
HEAD_BYTES: Final = 65_536
GZIP: Final = b"\x1f\x8b"


class FormatError(ValueError):
    """Files that no format recognises, or that cannot be converted; the message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class RowProblem:
    """What is wrong with one row: its line or row number in the file, from 1, and a clause that says what would be right."""

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
    remark: Message | str

    def recognises(self, files: Mapping[str, Path]) -> bool:
        """Whether these files, by their names, are of this format."""
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


@dataclass
class PositionedText:
    """A text file, gzip or not, with the share of it that has been read."""

    path: Path
    _raw: IO[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._raw = self.path.open("rb")
        packed = self._raw.read(2) == GZIP
        self._raw.seek(0)
        data: IO[bytes] = gzip.GzipFile(fileobj=self._raw) if packed else self._raw  # type: ignore[assignment]
        self.text = io.TextIOWrapper(data, encoding="utf-8", errors="replace", newline="\n")
        self._size = max(1, self.path.stat().st_size)

    @property
    def done(self) -> float:
        """Share of the file read, 0 to 1."""
        return min(1.0, self._raw.tell() / self._size)

    def close(self) -> None:
        """Release the file."""
        self.text.close()
        self._raw.close()


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
