"""Writes a market's rows, trades, changes and interruptions as they arrive: an hour's files, each whole or absent.

Until an hour is complete, it lies in a journal, from which the next recording restores it if this process was killed.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.market.book import LEVELS, MAX_LEVELS, STEP_MS, FloatArray, OrderBookSnapshot, first_fault
from core.market.feeds.protocol import Trade
from core.market.feeds.trades import SCHEMA as TRADES_SCHEMA
from core.market.feeds.trades import trades_table
from core.market.grid import GridRow
from core.market.journal import ENDING, Journal, JournalError, abandoned_journals, remove_leftovers
from core.market.recordings.layout import (
    EVENTS,
    EVENTS_SCHEMA,
    GROUP_ROWS,
    ROWS,
    TRADES,
    UPDATES,
    UPDATES_SCHEMA,
    hour_of,
    market_folder,
    segment_path,
)
from core.market.recordings.row_files import RowBlock, write_rows
from core.market.whole_files import write_table
from core.messages import compose

HOUR_MS: Final = 3_600_000
JOURNAL_S: Final = 1.0
"""Seconds between two writes to the journal: what is lost at most if the process is killed."""
FREE_SPACE: Final = 256 * 2**20
"""Bytes left free on the disk, at least: room to make files of the journal."""
JOURNAL_ROWS: Final = pa.schema([("timestamp", pa.int64()), ("levels", pa.list_(pa.float64()))])
SCHEMAS: Final = {ROWS: JOURNAL_ROWS, TRADES: TRADES_SCHEMA, UPDATES: UPDATES_SCHEMA, EVENTS: EVENTS_SCHEMA}
MAX_MS: Final = 32_503_680_000_000
"""The year 3000."""

log = logging.getLogger(__name__)


@dataclass
class _Chunk:
    """Data that one segment gained since the last save, and the time to which it goes."""

    first_ms: int | None = None
    last_ms: int = 0
    count: int = 0
    rows: list[GridRow] = field(default_factory=list)
    trades: list[Trade] = field(default_factory=list)
    updates: list[tuple[int, int, int | None, bool, list[tuple[int, float, float]]]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.rows or self.trades or self.updates or self.events)


class SegmentWriter:
    """Gathers rows and writes a segment at the end of each hour, or where time runs back.

    A file is written under another name and renamed, so that a file under its final name is whole. No file is overwritten. On
    start it restores what a killed process left in its journals, and removes half-written files. Everything but saving may be
    called in the event loop; saving takes tens of milliseconds, a few seconds at the end of an hour of a hundred levels.

    Args:
        folder: of the library; made where it is missing.
        market: symbol. key: of the feed, by which the market's folder is named (`market_folder`); the symbol names it where None.
        segment_rows: most rows of a file; a file spans at most as many grid steps, holes included.
        with_trades: whether `add_trade` writes anything.
        saves: whether it saves by itself, in the caller's thread; otherwise `save_journal` is to be called every second.

    Attributes:
        files: of rows, written so far. rows: their number, with those not written yet. gaps: interruptions of the rows.
        seconds: from the first row to the last. size: bytes on disk, journal included.

    Raises:
        ValueError: for segments of no rows.
    """

    def __init__(
        self,
        folder: Path,
        market: str,
        *,
        key: str | None = None,
        segment_rows: int = GROUP_ROWS,
        with_trades: bool = True,
        saves: bool = True,
    ) -> None:
        if segment_rows < 1:
            raise ValueError(compose("a segment of {rows} rows holds nothing: give 1 or more", rows=segment_rows))
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.market, self.files = folder, market, list[Path]()
        self._name = market_folder(key or market)
        self.rows = self.gaps = self._sealed = 0
        self._first_ms: int | None = None
        self._segment_rows, self._with_trades, self._saves = segment_rows, with_trades, saves
        self._lock, self._saving = threading.Lock(), threading.Lock()
        self._chunks = [_Chunk()]  # one a segment, the last of which is being gathered
        self._journal: Journal | None = None
        self._journal_due = 0.0
        self._last_ms: int | None = None
        self._book: tuple[dict[float, float], dict[float, float]] | None = None
        self._restore()

    @property
    def size(self) -> int:
        journal = self._journal
        return self._sealed + (journal.size if journal is not None else 0)

    @property
    def seconds(self) -> float:
        return 0.0 if self._first_ms is None or self._last_ms is None else (self._last_ms - self._first_ms + STEP_MS) / 1e3

    def add(self, row: GridRow) -> None:
        """Take a row in; a hole before it becomes an event of its own.

        Raises:
            OSError: where it saves by itself and the disk refuses.
        """
        timestamp = row[0]
        with self._lock:
            chunk = self._chunks[-1]
            if self._last_ms is not None and timestamp > self._last_ms + STEP_MS:
                self.gaps += 1
                chunk.events.append(_event(self._last_ms + STEP_MS, "gap", until=timestamp))
            if chunk.first_ms is not None:
                far = timestamp - chunk.first_ms >= self._segment_rows * STEP_MS
                if (
                    far
                    or timestamp <= chunk.last_ms
                    or timestamp // HOUR_MS != chunk.first_ms // HOUR_MS
                    or chunk.count >= self._segment_rows
                ):
                    self._chunks.append(chunk := _Chunk())
            chunk.first_ms = timestamp if chunk.first_ms is None else chunk.first_ms
            chunk.last_ms, self._last_ms = timestamp, timestamp
            self._first_ms = timestamp if self._first_ms is None else min(timestamp, self._first_ms)
            chunk.rows.append(row)
            chunk.count += 1
            self.rows += 1
            due = len(self._chunks) > 1 or chunk.count >= self._segment_rows or time.monotonic() >= self._journal_due
        if self._saves and due:
            self.save_journal()

    def add_trade(self, trade: Trade) -> None:
        """Take a trade in, for the segment being gathered."""
        if self._with_trades:
            with self._lock:
                self._chunks[-1].trades.append(trade)

    def add_update(self, book: OrderBookSnapshot) -> None:
        """Take a message's book in: the levels in which it differs from the one before, all of them after an interruption."""
        whole = book.whole
        sides = (dict(zip(whole[0::4].tolist(), whole[1::4].tolist(), strict=True)), _bids(whole))
        before = self._book or ({}, {})
        changes = [(-1, price, size) for price, size in _changed(before[0], sides[0])]
        changes += [(1, price, size) for price, size in _changed(before[1], sides[1])]
        with self._lock:
            self._chunks[-1].updates.append((book.received_ns, book.exchange_ms, book.sequence, self._book is None, changes))
        self._book = sides

    def add_event(self, kind: str, timestamp: int, message: str = "") -> None:
        """Note an interruption (`core.market.recordings.layout.EVENTS_SCHEMA`); the next book is written whole."""
        self._book = None
        with self._lock:
            self._chunks[-1].events.append(_event(timestamp, kind, message=message))

    def save_journal(self) -> None:
        """Write what has come since the last call to the journal, and the files of the hours that are over.

        Raises:
            OSError: where the disk refuses, or has less than 256 MiB left.
        """
        with self._saving:
            self._journal_due = time.monotonic() + JOURNAL_S
            if shutil.disk_usage(self.folder).free < FREE_SPACE:
                text = compose("the disk has less than {free} MiB left: make room for the recording", free=FREE_SPACE // 2**20)
                raise OSError(errno.ENOSPC, text)
            self._save()

    def _save(self) -> None:
        while True:
            with self._lock:
                chunk, over = self._chunks[0], len(self._chunks) > 1
                over = over or chunk.count >= self._segment_rows
                taken = (len(chunk.rows), len(chunk.trades), len(chunk.updates), len(chunk.events))
            if any(taken):
                if self._journal is None:
                    self._journal = Journal(self.folder, self._name, market=self.market, name=self._name)
                self._journal.write(_tables(chunk, taken))
                with self._lock:
                    rows, trades, updates, events = taken
                    del chunk.rows[:rows], chunk.trades[:trades], chunk.updates[:updates], chunk.events[:events]
            if not over:
                return
            self._seal()
            with self._lock:
                self._chunks = self._chunks[1:] or [_Chunk()]

    def flush(self) -> Path | None:
        """Write the segment gathered so far; returns its file of rows, None where it has none."""
        with self._saving:
            self._save()
            path = self._seal()
            with self._lock:
                self._chunks = [_Chunk()]
            return path

    def close(self) -> None:
        """Write the rest."""
        self.flush()

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _seal(self) -> Path | None:
        """Make files of the journal."""
        path = None
        if self._journal is not None:
            path = self._write_segment(self._journal)
            self._journal.remove()
        self._journal = None
        return path

    def _restore(self) -> None:
        """Make segments of the journals of killed processes, and remove the half-written files they left."""
        for journal in abandoned_journals(self.folder):
            try:
                self._write_segment(journal, restored=True)
            except (KeyError, ValueError, TypeError, OverflowError, pa.ArrowException) as error:
                log.warning("the journal %s is damaged: %r", journal.path.name, error)
                journal.set_aside()
            else:
                journal.remove()
        remove_leftovers(self.folder)

    def _write_segment(self, journal: Journal, *, restored: bool = False) -> Path | None:
        count, width, first = 0, 4 * LEVELS, None
        for table in _readable(journal, ROWS):
            count += table.num_rows
            width = max(width, max(table["levels"].combine_chunks().value_lengths().to_pylist()))
            first = table["timestamp"][0].as_py() if first is None else first
        others = {
            kind: pa.concat_tables(tables) if (tables := list(_readable(journal, kind))) else None
            for kind in (TRADES, UPDATES, EVENTS)
        }
        moments = [first] if first is not None else [_moment(table) for table in others.values() if table is not None]
        if not moments:
            return None
        path = self._free_path(int(moments[0]), journal.name, count if restored else None)
        if path is None:
            return None  # the process was killed between writing the segment and removing its journal
        path.parent.mkdir(parents=True, exist_ok=True)
        for kind, table in others.items():
            if table is not None:
                write_table(beside := segment_path(path, kind), table)
                self._sealed += beside.stat().st_size
        if not count:
            return None
        write_rows(path, _blocks(journal), levels=width // 4, market=journal.market)
        self.files.append(path)
        self._sealed += path.stat().st_size
        return path

    def _free_path(self, first_ms: int, name: str, restored: int | None) -> Path | None:
        path = first = hour_of(self.folder / market_folder(name), first_ms) / f"rows_{first_ms}.parquet"
        copy = 1
        while path.exists():
            if restored is not None and pq.read_metadata(path).num_rows >= restored:
                return None
            copy += 1
            path = first.with_stem(f"{first.stem}_{copy}")
        return path


def restore_recordings(folder: Path) -> list[Path]:
    """Make files of what killed processes left in a library; returns the files of rows."""
    if not folder.is_dir() or not any(folder.glob(f".*{ENDING}")):
        return []
    return SegmentWriter(folder, "").files


def _bids(whole: FloatArray) -> dict[float, float]:
    return dict(zip(whole[2::4].tolist(), whole[3::4].tolist(), strict=True))


def _changed(before: dict[float, float], after: dict[float, float]) -> list[tuple[float, float]]:
    """Levels of another size, and with size 0 those that are gone."""
    return [(price, size) for price, size in after.items() if before.get(price) != size] + [
        (price, 0.0) for price in before if price not in after
    ]


def _event(timestamp: int, kind: str, *, until: int | None = None, message: str = "") -> dict[str, Any]:
    return {"timestamp": timestamp, "kind": kind, "until": until, "message": message}


def _tables(chunk: _Chunk, taken: tuple[int, int, int, int]) -> dict[str, pa.Table]:
    """The first so many rows, trades, updates and events, as tables; those of which there are none are left out."""
    rows, trades, updates, events = taken
    tables: dict[str, pa.Table] = {}
    if rows:
        columns = [[row[0] for row in chunk.rows[:rows]], [row[1] for row in chunk.rows[:rows]]]
        tables[ROWS] = pa.table(columns, schema=JOURNAL_ROWS)
    if trades:
        tables[TRADES] = trades_table(chunk.trades[:trades])
    flat = [
        (received, sent, number, fresh, *change)
        for received, sent, number, fresh, changes in chunk.updates[:updates]
        for change in changes
    ]
    if flat:
        tables[UPDATES] = pa.table([list(column) for column in zip(*flat, strict=True)], schema=UPDATES_SCHEMA)
    if events:
        tables[EVENTS] = pa.Table.from_pylist(chunk.events[:events], schema=EVENTS_SCHEMA)
    return tables


def _readable(journal: Journal, kind: str) -> Iterator[pa.Table]:
    """The journal's tables of a kind that are as they were written, up to the first damage."""
    with contextlib.suppress(JournalError):
        for table in journal.tables(kind):
            if table.schema != SCHEMAS[kind] or not table.num_rows or (kind == ROWS and not _are_books(table)):
                return
            yield table


def _are_books(table: pa.Table) -> bool:
    levels = table["levels"].combine_chunks()
    widths = levels.value_lengths().to_numpy(zero_copy_only=False)
    stamps = table["timestamp"].to_numpy()
    sound = not table["timestamp"].null_count and not levels.null_count and not levels.flatten().null_count
    sound = sound and bool(((widths >= 4 * LEVELS) & (widths <= 4 * MAX_LEVELS) & (widths % 4 == 0)).all())
    if not sound or not ((stamps > 0) & (stamps < MAX_MS)).all():
        return False
    first = np.cumsum(np.append(0, widths[:-1]))
    values = levels.flatten().to_numpy()
    return first_fault(values[first[:, None] + np.arange(4 * LEVELS)]) is None


def _blocks(journal: Journal) -> Iterator[RowBlock]:
    """The journal's rows, a save at a time."""
    for table in _readable(journal, ROWS):
        levels = table["levels"].combine_chunks()
        widths = levels.value_lengths().to_numpy()
        values = np.full((len(widths), int(widths.max())), np.nan)
        values[np.arange(values.shape[1]) < widths[:, None]] = levels.flatten().to_numpy()
        yield table["timestamp"].to_numpy(), values


def _moment(table: pa.Table) -> int:
    """Time at which a table begins, milliseconds."""
    first: int = table.column(0)[0].as_py()
    return first // 1_000_000 if table.column_names[0] == "received_ns" else first
