"""Contents of a folder or a URL: one entry for each recording, with its span, gaps and a line of its mid.

The numbers come from the footers of files that the library wrote, and from one DuckDB query over three columns of others. They
are kept until a file changes.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.market import library
from core.market.book import LEVELS, STEP_MS
from core.market.grid import count_pauses
from core.market.recordings.layout import market_of, recording_of
from core.market.recordings.place import RecordingPlace
from core.market.recordings.stores import StoredFile
from core.market.store.writer import POINTS, FileSummary, footer_summary
from core.messages import Message, compose

READERS: Final = 2
"""Threads that read recordings at once."""
MAX_KEPT: Final = 4_096
"""Most files whose numbers are kept in memory."""

MIDS: Final = """
WITH r AS (SELECT (ask_price_1 + bid_price_1) / 2 AS mid, row_number() OVER () AS n FROM {table})
SELECT avg(mid) FROM r GROUP BY (n - 1) * {points} // {rows} ORDER BY min(n)
"""


@dataclass(frozen=True, kw_only=True)
class LibraryEntry:
    """One recording: a market's day of the library, a loose file, or a bundled one.

    Attributes:
        name: unique in its place; of a bundled one the name in links.
        market: symbol, or as much as the names tell.
        files: of rows, in order of their names.
        start_ms, end_ms: first and last row, milliseconds since the epoch. rows: their number. gaps: holes between them.
        size: bytes, trades and updates included. levels: a side, at most.
        mids: (48 or fewer) mid-prices at even steps, for a sparkline.
        bundled: whether it came with the app. sealed: whether it belongs to a ledger, which checks its files.
        problem: why its files cannot be read; "" where they can. The numbers are 0 then.
    """

    name: str
    market: str
    files: tuple[str, ...]
    start_ms: int = 0
    end_ms: int = 0
    rows: int = 0
    gaps: int = 0
    size: int = 0
    levels: int = LEVELS
    mids: tuple[float, ...] = ()
    bundled: bool = False
    sealed: bool = False
    problem: str = ""

    @property
    def paths(self) -> list[Path]:
        """Its files of rows, where it lies on this machine."""
        return [Path(file) for file in self.files]

    @property
    def seconds(self) -> float:
        """From the first row to the end of the last, seconds."""
        return (self.end_ms - self.start_ms + STEP_MS) / 1e3 if self.rows else 0.0


def list_recordings(
    place: RecordingPlace | Path | str, *, progress: Callable[[int, int], None] | None = None
) -> list[LibraryEntry]:
    """The recordings of a folder or a URL, in order of their names.

    Args:
        progress: called with (recordings read, recordings in all).

    Raises:
        BookError: where the place is not there or does not answer.
    """
    where = place if isinstance(place, RecordingPlace) else RecordingPlace(str(place))
    groups: dict[str, list[StoredFile]] = {}
    sizes: dict[str, int] = {}
    ledgers: set[str] = set()
    for file in where.files():
        if where.remote and file.relative.lower().endswith(".csv"):
            continue  # which would have to be fetched whole
        if (name := recording_of(file.relative)) is not None:
            groups.setdefault(name, []).append(file)
        if file.relative.endswith("ledger.json"):
            ledgers.add(file.relative.removesuffix("ledger.json"))
        folder = re.sub(r"(trades/|\d{2}/)?[^/]*$", "", file.relative)
        for key in (folder.rstrip("/"), file.relative.replace("trades/", "").rpartition(".")[0]):
            sizes[key] = sizes.get(key, 0) + file.size
    entries: list[LibraryEntry] = []
    with ThreadPoolExecutor(READERS) as pool:
        waiting = [
            pool.submit(
                _entry, where, name, files, size=sizes.get(name, 0), sealed=any(name.startswith(ledger) for ledger in ledgers)
            )
            for name, files in sorted(groups.items())
        ]
        for one in waiting:
            entries.append(one.result())
            if progress:
                progress(len(entries), len(waiting))
    return entries


def entry_of(folder: Path, name: str) -> LibraryEntry | None:
    """One recording of a folder, by its name; None where it has none of that name.

    Raises:
        BookError: where its files cannot be listed.
    """
    inside = folder.resolve()
    try:
        where = (inside / name).resolve()
        found = where.is_dir()
    except (OSError, ValueError):  # too long a name, or one with a character that no name has
        return None
    if inside not in where.parents:
        return None
    files = sorted(where.glob("*/rows_*.parquet")) if found else []
    if not files:
        files = [path for ending in (".parquet", ".csv") if (path := where.with_name(where.name + ending)).is_file()][:1]
    stored = [
        StoredFile(
            relative=path.relative_to(inside).as_posix(), address=str(path), size=path.stat().st_size, stamp=path.stat().st_mtime
        )
        for path in files
    ]
    if not stored or any(recording_of(file.relative) != name for file in stored):
        return None
    return _entry(RecordingPlace(str(inside)), name, stored, size=sum(file.size for file in stored))


def bundled_recordings() -> list[LibraryEntry]:
    """The recordings that come with the app, as entries.

    Raises:
        LibraryError: where their index cannot be read.
    """
    entries = []
    for one in library.recordings():
        place = RecordingPlace(str(one.path.parent))
        trades = one.path.parent / "trades" / one.path.name
        size = one.path.stat().st_size + (trades.stat().st_size if trades.exists() else 0)
        file = StoredFile(relative=one.path.name, address=str(one.path), size=size, stamp=one.path.stat().st_mtime)
        entries.append(_entry(place, one.name, [file], size=size, market=one.symbol, bundled=True))
    return entries


def _entry(
    place: RecordingPlace,
    name: str,
    files: list[StoredFile],
    *,
    size: int,
    market: str = "",
    bundled: bool = False,
    sealed: bool = False,
) -> LibraryEntry:
    files = sorted(files, key=lambda file: file.relative)
    fixed: dict[str, Any] = {
        "name": name,
        "files": tuple(file.address for file in files),
        "size": size,
        "bundled": bundled,
        "sealed": sealed,
    }
    try:
        found = sorted((_summary(place, file) for file in files), key=lambda one: one.start_ms)
    except (duckdb.Error, pa.ArrowException, OSError, ValueError, KeyError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        problem = compose("{name} cannot be read: {reason}", name=name, reason=why)
        return LibraryEntry(market=market or market_of(name), problem=problem, **fixed)
    between = sum(b.start_ms - a.end_ms > STEP_MS for a, b in pairwise(found))
    mids = [mid for one in found for mid in one.mids]
    return LibraryEntry(
        market=market or next((one.market for one in found if one.market), "") or market_of(name),
        start_ms=found[0].start_ms,
        end_ms=max(one.end_ms for one in found),
        rows=sum(one.rows for one in found),
        gaps=sum(one.gaps for one in found) + between,
        levels=max(one.levels for one in found),
        mids=tuple(mids[:: max(1, -(-len(mids) // POINTS))]),
        **fixed,
    )


_kept: OrderedDict[tuple[str, int, float], FileSummary] = OrderedDict()
_lock = threading.Lock()


def _summary(place: RecordingPlace, file: StoredFile) -> FileSummary:
    key = (file.address, file.size, file.stamp)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    made = _summarise(place, file)
    with _lock:
        _kept[key] = made
        while len(_kept) > MAX_KEPT:
            _kept.popitem(last=False)
    return made


def _summarise(place: RecordingPlace, file: StoredFile) -> FileSummary:
    csv = file.relative.lower().endswith(".csv")
    columns: pa.Table | None = None
    names: list[str] = []
    if not csv:
        with place.open(file) as opened, pq.ParquetFile(opened) as parquet:
            if (known := footer_summary(parquet.metadata)) is not None:
                return known
            names = parquet.schema_arrow.names
            _need(names)
            if place.remote and place.store is None:
                columns = parquet.read(columns=["timestamp", "ask_price_1", "bid_price_1"])
    with _database().cursor() as database:
        if place.store is not None:  # queried where it lies
            with contextlib.suppress(ValueError):  # known already
                database.register_filesystem(place.store.files_system)
        values: dict[str, Any] = {} if columns is not None else {"file": _for_query(place, file)}
        table = "columns" if columns is not None else "read_csv($file)" if csv else "read_parquet($file)"
        if columns is not None:
            database.register("columns", columns)
        if csv:
            names = [name for name, *_ in database.execute(f"DESCRIBE SELECT * FROM {table}", values).fetchall()]
            _need(names)
        query = f"SELECT timestamp::BIGINT AS t FROM {table} WHERE timestamp IS NOT NULL"
        times = np.asarray(database.execute(query, values).fetchnumpy()["t"], dtype=np.int64)
        if not len(times):
            raise ValueError(compose("it has no rows"))
        cells = database.execute(MIDS.format(table=table, points=POINTS, rows=len(times)), values).fetchall()
    times.sort()
    return FileSummary(
        rows=len(times),
        start_ms=int(times[0]),
        end_ms=int(times[-1]),
        gaps=count_pauses(times),
        mids=tuple(float(cell[0]) for cell in cells),
        levels=sum(name.startswith("ask_price_") for name in names),
        market="",
    )


def _for_query(place: RecordingPlace, file: StoredFile) -> str:
    """A file's address as DuckDB takes it."""
    return file.address if place.store is None else place.store.files_system.unstrip_protocol(file.address)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One database in memory, for queries over files; each thread takes a cursor of it."""
    database = duckdb.connect()
    database.execute("SET threads = 2")
    database.execute("SET memory_limit = '256MB'")
    return database


def _need(names: Iterable[str]) -> None:
    missing = {"timestamp", "ask_price_1", "bid_price_1"} - set(names)
    if missing:
        raise ValueError(_lacks(sorted(missing)[0]))


def _lacks(column: str) -> Message:
    return compose("it lacks the column {column}", column=column)
