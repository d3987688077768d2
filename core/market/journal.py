"""The journal of a segment that is being recorded, and what a killed process leaves in a folder of recordings.

A journal is a file of entries, each preceded by its length: a save's tables as Arrow streams. Its process holds a lock on it,
which the system releases when the process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final

import pyarrow as pa

ENDING: Final = ".journal.part"


class JournalError(ValueError):
    """A journal is damaged: what comes after the damage cannot be read."""


class Journal:
    """Tables of one segment by their kind, appended to a hidden file of the folder.

    Args:
        prefix: of the file's name. market: symbol; name: of the market's folder. The file's first entry keeps both.
        path: an existing journal to read; None for a new one.
    """

    def __init__(self, folder: Path, prefix: str, *, market: str = "", name: str = "", path: Path | None = None) -> None:
        self.path = path or folder / f".{prefix}_{uuid.uuid4().hex}{ENDING}"
        self._file: IO[bytes] = self.path.open("ab+", buffering=0)
        self.locked = lock(self._file)
        self._end = 0
        self.market, self.name = market, name
        if path is None:
            self._append(json.dumps({"market": market, "name": name}).encode())
        elif self.locked:
            first = next(self._entries(), b"")
            with contextlib.suppress(ValueError, AttributeError):  # damaged: the rows may be whole nevertheless
                about = json.loads(first)
                self.market, self.name = str(about.get("market", "")), str(about.get("name", ""))

    def write(self, tables: Mapping[str, pa.Table]) -> None:
        """Append tables, and hand them to the system, which keeps them if this process is killed.

        Raises:
            OSError: where the disk refuses; what was written before stays readable.
        """
        entry = io.BytesIO()
        for kind, table in tables.items():
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            data = sink.getvalue().to_pybytes()
            entry.write(f"{kind:<8}".encode() + len(data).to_bytes(8, "little") + data)
        self._append(entry.getvalue())

    def tables(self, kind: str) -> Iterator[pa.Table]:
        """The tables of a kind, in their order; an entry that was cut off in the middle of a write is left out.

        Raises:
            JournalError: at the first entry that is damaged.
        """
        for entry in self._entries():
            start = 0
            while not entry.startswith(b"{") and start + 16 <= len(entry):
                length = int.from_bytes(entry[start + 8 : start + 16], "little")
                if entry[start : start + 8].rstrip() == kind.encode():
                    yield _table(entry[start + 16 : start + 16 + length])
                start += 16 + length

    @property
    def size(self) -> int:
        """Bytes written."""
        return self._end

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def set_aside(self) -> None:
        """Keep a damaged journal under a name by which it is not taken up again."""
        self.path.replace(self.path.with_name(f"{self.path.name}.damaged"))
        self.close()

    def remove(self) -> None:
        """Delete the journal."""
        self.path.unlink(missing_ok=True)
        self.close()

    def _append(self, entry: bytes) -> None:
        data = len(entry).to_bytes(8, "little") + entry
        try:
            written = self._file.write(data)
            while written < len(data):
                written += self._file.write(data[written:])
        except OSError:
            self._file.truncate(self._end)
            raise
        self._end += len(data)

    def _entries(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            left = os.fstat(file.fileno()).st_size
            while len(head := file.read(8)) == 8:
                length = int.from_bytes(head, "little")
                left -= 8 + length
                if left < 0:
                    return
                yield file.read(length)


def _table(data: bytes) -> pa.Table:
    try:
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise JournalError("an entry of the journal is damaged") from error
    return table


def abandoned_journals(folder: Path) -> Iterator[Journal]:
    """The journals in a folder whose process has ended."""
    for path in sorted(folder.glob(f".*{ENDING}")):
        journal = Journal(folder, "", path=path)
        if journal.locked:
            yield journal
        else:
            journal.close()


def remove_leftovers(folder: Path) -> None:
    """Delete half-written files, unless a running process is at work on them."""
    for path in folder.rglob(".*.parquet.part"):
        with path.open("ab") as file:
            if lock(file):
                path.unlink(missing_ok=True)


def lock(file: IO[bytes]) -> bool:
    """Take the file's lock until it is closed; returns False where another process holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
