"""The journal of a segment that is being recorded, and what a killed process leaves in a folder of recordings.

A journal is a file of whole Arrow tables, one after another, each preceded by its length. Its process holds a lock on it, which
the system releases when the process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import pyarrow as pa

from core.market.feeds.trades import SCHEMA as TRADES_SCHEMA

ENDING: Final = ".journal.part"
RECORDED: Final = re.compile(r".+_\d{8}T\d{6}\.\d{3}Z(_\d+)?\.parquet")
"""Names that a recording gives its files."""


class Journal:
    """Rows and trades of one segment, appended to a hidden file of the folder.

    Args:
        prefix: of the segment's file name.
        path: an existing journal to read; None for a new one.
    """

    def __init__(self, folder: Path, prefix: str, schema: pa.Schema, *, path: Path | None = None) -> None:
        self.prefix = prefix
        self.path = path or folder / f".{prefix}_{uuid.uuid4().hex}{ENDING}"
        self._schema = schema
        self._file: IO[bytes] = self.path.open("ab+")
        self.locked = lock(self._file)

    def write(self, rows: pa.Table, trades: pa.Table) -> None:
        """Append rows and trades, and hand them to the system, which keeps them if this process is killed."""
        for table in (rows, trades):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            data = sink.getvalue().to_pybytes()
            self._file.write(len(data).to_bytes(8, "little") + data)
        self._file.flush()

    def read(self) -> tuple[pa.Table, pa.Table]:
        """All rows and trades; what was cut off in the middle of a write is left out."""
        self._file.seek(0)
        tables = list(_tables(self._file.read()))
        whole = len(tables) // 2 * 2
        rows, trades = tables[0:whole:2], tables[1:whole:2]
        whole_rows = pa.concat_tables([self._schema.empty_table(), *rows], promote_options="default")
        return whole_rows, pa.concat_tables([TRADES_SCHEMA.empty_table(), *trades])

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def remove(self) -> None:
        """Delete the journal."""
        self.path.unlink(missing_ok=True)
        self.close()


def _tables(data: bytes) -> Iterator[pa.Table]:
    start = 0
    while start + 8 <= len(data):
        length = int.from_bytes(data[start : start + 8], "little")
        if start + 8 + length > len(data):
            return
        yield pa.ipc.open_stream(data[start + 8 : start + 8 + length]).read_all()
        start += 8 + length


def abandoned_journals(folder: Path, schema: pa.Schema) -> Iterator[Journal]:
    """The journals in a folder whose process has ended."""
    for path in sorted(folder.glob(f".*{ENDING}")):
        prefix = path.name.removeprefix(".").removesuffix(ENDING).rpartition("_")[0]
        journal = Journal(folder, prefix, schema, path=path)
        if journal.locked:
            yield journal
        else:
            journal.close()


def remove_leftovers(folder: Path) -> None:
    """Delete half-written files and trades without a book, unless a running process is at work on them."""
    for path in [*folder.glob(".*.parquet.part"), *(folder / "trades").glob(".*.parquet.part")]:
        with path.open("ab") as file:
            if lock(file):
                path.unlink(missing_ok=True)
    for path in (folder / "trades").glob("*.parquet"):
        book = folder / path.name
        if RECORDED.fullmatch(path.name) and not book.exists() and not book.with_name(f".{path.name}.part").exists():
            path.unlink(missing_ok=True)


def lock(file: IO[bytes]) -> bool:
    """Take the file's lock until it is closed; returns False where another process holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
