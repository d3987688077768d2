"""Index of the hours that this program wrote into a library: what it may delete by itself (D48).

An SQLite file of the library's folder. A file that a person put there, moved or changed does not count: path, size and time of
writing are those that were noted.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.market.store.segments import KINDS, ROWS

FILE: Final = "written_hours.sqlite"


_HOUR: Final = re.compile(rf"[^/]+/\d{{4}}-\d\d-\d\d/\d\d/({'|'.join(KINDS)})_(?P<begins>\d{{1,15}})(_\d+)?\.parquet")


@dataclass(frozen=True, kw_only=True)
class WrittenHour:
    """An hour that the program wrote: its file of rows, the files that are still as they were written, and their bytes."""

    rows: Path
    files: tuple[Path, ...]
    size: int


def note(path: Path) -> None:
    """Note a file that was just written, where it is one of a library's hour by its place and name.

    Raises:
        OSError: where the disk refuses.
    """
    place = _HOUR.fullmatch("/".join(path.parts[-4:]))
    if place is None:
        return
    folder, about, begins_ms = path.parents[3], path.stat(), int(place["begins"])
    with _index(folder) as index:
        values = (path.relative_to(folder).as_posix(), begins_ms, about.st_size, about.st_mtime_ns)
        index.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", values)


def hours(folder: Path) -> list[WrittenHour]:
    """The hours that the program wrote into a library and that are still as it wrote them, the oldest first.

    Raises:
        OSError: where the index cannot be read.
    """
    if not (folder / FILE).exists():
        return []
    with _index(folder) as index:
        noted = index.execute("SELECT path, begins_ms, size, changed_ns FROM files").fetchall()
    found: dict[tuple[int, Path], list[tuple[Path, int]]] = {}
    for relative, begins_ms, size, changed_ns in noted:
        path = folder / relative
        if path.is_file() and (path.stat().st_size, path.stat().st_mtime_ns) == (size, changed_ns):
            rows = path.with_name(f"{ROWS}_{path.name.partition('_')[2]}")
            found.setdefault((begins_ms, rows), []).append((path, size))
    return [
        WrittenHour(rows=rows, files=tuple(path for path, _ in files), size=sum(size for _, size in files))
        for (_, rows), files in sorted(found.items())
    ]


def delete(folder: Path, hour: WrittenHour) -> None:
    """Delete an hour's files.

    Raises:
        OSError: where the disk refuses.
    """
    with _index(folder) as index:
        for path in hour.files:
            path.unlink(missing_ok=True)
            index.execute("DELETE FROM files WHERE path = ?", (path.relative_to(folder).as_posix(),))


@contextmanager
def _index(folder: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(folder / FILE)) as index, index:
            index.execute("CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, begins_ms, size, changed_ns)")
            yield index
    except sqlite3.Error as error:
        raise OSError(f"{FILE}: {error}") from error
