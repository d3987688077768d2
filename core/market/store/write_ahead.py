"""The write-ahead file of an hour that is not over: SQLite's, a table a kind, a record a row.

SQLite appends, locks and recovers: what was saved outlives a killed process, and one process writes at a time. Each record has a
checksum, since SQLite's own covers only what it has not yet merged, so that damage takes the damaged records and is known.
"""

from __future__ import annotations

import errno
import json
import sqlite3
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from core.market.store import call_columns, depth_files, segments, trades

ENDING: Final = ".journal.part"
DAMAGED: Final = ".damaged"
MERGED_PAGES: Final = 64
"""Pages of the log after which SQLite merges it into its file: two seconds of a market, all that damage to the log can take."""
MOST_SKIPPED: Final = 20_000
"""Numbers of records that are tried behind one that cannot be read: more than damage to a page can hide."""

SCHEMAS: Final = {
    segments.ROWS: pa.schema([("timestamp", pa.int64()), ("levels", pa.list_(pa.float64()))]),
    segments.TRADES: trades.SCHEMA,
    segments.EVENTS: pa.schema(
        [("timestamp", pa.int64()), ("kind", pa.string()), ("until", pa.int64()), ("message", pa.string())]
    ),
    segments.DEPTH: depth_files.SCHEMA,
    segments.CALLS: call_columns.LINE,
    segments.LEADS: call_columns.LEAD,
}
"""Columns of the tables; a list lies there as the bytes of its values. Rows have a column a level in their file.

Events interrupt the rows, ms by this machine's clock: start, gap (until the next row), reconnect, resync, lost (the venue's book
is unknown), state (the market is locked, halted, ... as the message says), trades (not followed until then), clock (that of this
machine jumped), stop.
"""
_FIRST_KINDS: Final = tuple(kind for kind in SCHEMAS if kind != segments.LEADS)
"""Tables of a file that does not say which it has: of a version before December 2026, whose calls lack the last column too."""

Item = tuple[str, tuple[Any, ...]]
"""Kind of a record, and its values."""


@dataclass(frozen=True, kw_only=True)
class Saved:
    """Contents of a write-ahead file: what it is about, and the table of each kind that has records, in the order of `SCHEMAS`.

    Attributes:
        whole: whether every record that was saved is in the tables.
    """

    about: Mapping[str, Any]
    tables: dict[str, pa.Table]
    whole: bool


class WriteAhead:
    """A file of records, which this process alone holds until it is closed.

    Raises:
        OSError: where the disk refuses. BlockingIOError: where another holds it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._numbers = dict.fromkeys(SCHEMAS, 0)
        with _refusals():
            self._database = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=0, isolation_level=None, check_same_thread=False
            )
            merging = f"wal_autocheckpoint={MERGED_PAGES}"
            try:
                for pragma in ("locking_mode=EXCLUSIVE", "synchronous=NORMAL", merging, "journal_mode=WAL"):
                    self._database.execute(f"PRAGMA {pragma}")
            except sqlite3.Error as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                    self._database.close()
                    raise  # what else is wrong, saving and reading find again

    @classmethod
    def begun(cls, folder: Path, name: str, about: Mapping[str, Any]) -> WriteAhead:
        """A new one, which says first what it is about.

        Raises:
            OSError: where the disk refuses.
        """
        while True:
            path = folder / f".{name}_{uuid.uuid4().hex}{ENDING}"
            path.touch()
            one = cls(path)
            try:
                with one._saving() as execute:
                    execute("CREATE TABLE about (json, checksum)", ())
                    text = json.dumps({**about, "kinds": list(SCHEMAS)})
                    execute("INSERT INTO about VALUES (?, ?)", (text, _checksum(0, [text])))
                    for kind, schema in SCHEMAS.items():
                        execute(f"CREATE TABLE {kind} (number INTEGER PRIMARY KEY, {', '.join(schema.names)}, checksum)", ())
            except BaseException:
                one.remove()
                raise
            if one.path.exists():  # else one who restores took it for a leftover, before it was held
                return one
            one.remove()

    @property
    def size(self) -> int:
        """Bytes on disk; 0 once it is removed."""
        with suppress(FileNotFoundError):
            return self.path.stat().st_size + _log(self.path).stat().st_size
        return 0

    def append(self, items: Iterable[Item]) -> None:
        """Append records, all of them or none.

        Raises:
            OSError: where the disk refuses; what was saved before stays.
        """
        numbers = dict(self._numbers)
        with self._saving() as execute:
            for kind, values in items:
                numbers[kind] += 1
                stored = [None if one is None else keep(one) for keep, one in zip(_KEEPERS[kind], values, strict=True)]
                marks = ",".join("?" * (len(stored) + 2))
                execute(f"INSERT INTO {kind} VALUES ({marks})", (numbers[kind], *stored, _checksum(numbers[kind], stored)))
        self._numbers = numbers

    @contextmanager
    def _saving(self) -> Iterator[Any]:
        """A transaction, given back whole where it fails."""
        with _refusals():
            self._database.execute("BEGIN")
            try:
                yield self._database.execute
                self._database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite has given it back by itself
                    self._database.execute("ROLLBACK")
                raise

    def read(self) -> Saved:
        """Everything that can be read, whatever happened to the file."""
        about, tables = dict[str, Any](), dict[str, pa.Table]()
        try:
            text, checksum = self._database.execute("SELECT * FROM about").fetchone()
            about = json.loads(text) if checksum == _checksum(0, [text]) else {}
        except (sqlite3.Error, TypeError, ValueError):
            pass
        whole = bool(about) and not self._log_is_cut()
        kinds = about.pop("kinds", _FIRST_KINDS)
        for kind, schema in SCHEMAS.items():
            if kind not in kinds:
                continue
            found, sound = self._records(kind)
            whole &= sound
            if found:
                columns = zip(schema, zip(*found, strict=True), strict=True)
                tables[kind] = pa.table([_column(field.type, values) for field, values in columns], schema=schema)
        return Saved(about=about, tables=tables, whole=whole)

    def _records(self, kind: str) -> tuple[list[tuple[Any, ...]], bool]:
        """Records of a kind in the order of writing, None for columns that the file is too old for, and whether these are all."""
        width = len(SCHEMAS[kind])
        found, last, at = list[tuple[Any, ...]](), 0, 0
        while at - last <= MOST_SKIPPED:
            try:
                for number, *stored, checksum in self._database.execute(f"SELECT * FROM {kind} WHERE number > ?", (at,)):
                    if number > last and len(stored) <= width and checksum == _checksum(number, stored):
                        last = number
                        found.append((*stored, *[None] * (width - len(stored))))
                newest = self._database.execute(f"SELECT max(number) FROM {kind}").fetchone()[0] or 0
                return found, len(found) == last == newest
            except (sqlite3.Error, ValueError) as error:  # the latter where even the number of columns is damaged
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
                    break
                at = max(at, last) + 1
        return found, False

    def _log_is_cut(self) -> bool:
        """Tells whether whole transactions lie in the log behind what SQLite reads of it: something before them is damaged.

        SQLite takes the first frame with a wrong checksum for the log's end. A frame's header has the number of pages where it
        ends a transaction, and the salt of its round: frames of rounds before it may follow (sqlite.org/fileformat2.html, 4).
        """
        with suppress(FileNotFoundError):
            log = _log(self.path).read_bytes()
            page = int.from_bytes(log[8:12], "big")
            read = self._database.execute("PRAGMA wal_checkpoint").fetchone()[1]
            frames = [log[at : at + 24] for at in range(32, len(log) - 24 - page + 1, 24 + page)]
            salts = {log[16:24], *(frame[8:16] for frame in frames[:1])}
            return any(frame[8:16] in salts and any(frame[4:8]) for frame in frames[max(read, 0) :])
        return False

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def remove(self) -> None:
        """Delete the file."""
        for path in (self.path, _log(self.path)):
            path.unlink(missing_ok=True)
        self.close()

    def set_aside(self) -> Path:
        """Keep the file under a name under which it is not taken up again; returns that."""
        kept = self.path.with_name(f"{self.path.name}{DAMAGED}")
        for path, name in ((self.path, kept), (_log(self.path), _log(kept))):
            with suppress(FileNotFoundError):
                path.replace(name)
        self.close()
        return kept


def damaged(folder: Path) -> list[Path]:
    """Damaged write-ahead files that are kept in a library's folder."""
    return sorted(folder.glob(f".*{ENDING}{DAMAGED}"))


@contextmanager
def _refusals() -> Iterator[None]:
    """SQLite's errors as the system's."""
    try:
        yield
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise BlockingIOError(errno.EAGAIN, str(error)) from error
        raise OSError(errno.ENOSPC if error.sqlite_errorcode == sqlite3.SQLITE_FULL else errno.EIO, str(error)) from error


def _log(path: Path) -> Path:
    """SQLite's log of a file."""
    return path.with_name(f"{path.name}-wal")


def _keeper(column: pa.DataType) -> Callable[[Any], Any]:
    """Makes of a column's value what SQLite stores."""
    if pa.types.is_list(column):
        kind = column.value_type.to_pandas_dtype()
        return lambda values: np.asarray(values, kind).tobytes()
    return float if pa.types.is_floating(column) else str if pa.types.is_string(column) else int


_KEEPERS: Final = {kind: [_keeper(column) for column in schema.types] for kind, schema in SCHEMAS.items()}


def _column(column: pa.DataType, values: tuple[Any, ...]) -> pa.Array:
    """A column of what SQLite stored."""
    if pa.types.is_list(column):
        flat = np.frombuffer(b"".join(values), column.value_type.to_pandas_dtype())
        ends = np.cumsum([0, *map(len, values)]) // flat.itemsize
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(flat))
    return pa.array([bool(value) for value in values] if pa.types.is_boolean(column) else values, column)


def _checksum(number: int, stored: Iterable[Any]) -> int:
    """CRC-32 of a record and its number, so that a record in another's place is damage too."""
    found = zlib.crc32(repr(number).encode())
    for value in stored:
        found = zlib.crc32(value if isinstance(value, bytes) else repr(value).encode(), found)
    return found
