"""Writes a market's rows, trades, interruptions and calls as they arrive: an hour's files, each whole or absent.

Until an hour is complete, it lies in a journal (`write_ahead`), from which the next recording restores it if this process was
killed. A file of rows has an hour a row group, and in its footer the summary that a listing needs.
"""

from __future__ import annotations

import errno
import json
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.files import write_whole
from core.market.bands import BandChange, Ladder
from core.market.book import DEEP_COLUMNS, FILE_COLUMNS, RECORDED_LEVELS, STEP_MS, FloatArray, mid_price
from core.market.events import Row, Trade
from core.market.grid import HOUR_MS, count_pauses
from core.market.store import call_columns, segments
from core.market.store.depth_files import depth_row
from core.market.store.trades import CODES
from core.market.store.write_ahead import ENDING, Saved, WriteAhead
from core.messages import compose

GROUP_ROWS: Final = 14_400
"""Rows of a Parquet row group: an hour on the grid."""
SUMMARY_KEY: Final = b"attention_observatory_recording"
"""Metadata key of a file of rows, under which its summary lies as JSON."""
POINTS: Final = 48
"""Points of a recording's line."""

RowBlock = tuple[NDArray[np.int64], FloatArray]
"""(n,) timestamps in milliseconds and (n, 4 * levels) values in the order of the columns, NaN where a book had fewer levels."""

RunPart = tuple[int, int]
"""A file's run, and its number in it (`FileSummary`)."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FileSummary:
    """One file's numbers; times in milliseconds, `mids` at even steps; market "" where the file does not say it.

    Attributes:
        run: drawn anew where what is known of the market begins (`core.market.follower`): files of one run hold its rows from the
            first on. 0 of files that no recording wrote. part: number of the file in its run, from 0; -1 where damage took
            records of it.
        place: an hour's path in its library as it was written; "" of other files.
    """

    rows: int
    start_ms: int
    end_ms: int
    gaps: int
    mids: tuple[float, ...]
    levels: int
    market: str
    run: int = 0
    part: int = 0
    place: str = ""


def footer_summary(metadata: pq.FileMetaData) -> FileSummary | None:
    """The summary in a file's footer; None where there is none, or it is of other rows."""
    try:
        values = json.loads((metadata.metadata or {})[SUMMARY_KEY])
        summary = FileSummary(**{**values, "mids": tuple(values["mids"])})
    except (KeyError, TypeError, ValueError):
        return None
    return summary if summary.rows == metadata.num_rows else None


def summary_of(times: NDArray[np.int64], mids: FloatArray, *, levels: int, market: str, of: RunPart = (0, 0)) -> FileSummary:
    """The numbers of a file with at least one row, by the times and mid-prices of its rows."""
    return FileSummary(
        rows=len(times),
        start_ms=int(times[0]),
        end_ms=int(times[-1]),
        gaps=count_pauses(times),
        mids=tuple(float(part.mean()) for part in np.array_split(mids, min(POINTS, len(mids)))),
        levels=levels,
        market=market,
        run=of[0],
        part=of[1],
    )


def write_rows(path: Path, blocks: Iterable[RowBlock], *, levels: int, market: str, of: RunPart = (0, 0)) -> FileSummary:
    """Write rows on the grid, in time order, as a whole file.

    Args:
        blocks: at least one row in all. levels: a side, of the widest block.

    Raises:
        OSError: where the disk refuses; nothing is left behind then.
    """
    names = ["timestamp", *FILE_COLUMNS, *DEEP_COLUMNS][: 1 + 4 * levels]
    schema = pa.schema([(names[0], pa.int64()), *((name, pa.float64()) for name in names[1:])])
    times: list[NDArray[np.int64]] = []
    mids: list[FloatArray] = []

    def write(file: IO[bytes]) -> None:
        with pq.ParquetWriter(file, schema, compression="zstd") as parquet:
            for stamps, values in _groups(blocks, 4 * levels):
                columns = [pa.array(column, from_pandas=True) for column in np.ascontiguousarray(values.T)]
                parquet.write_table(pa.Table.from_arrays([pa.array(stamps), *columns], schema=schema))
                times.append(stamps)
                mids.append(mid_price(values))
            parquet.add_key_value_metadata({SUMMARY_KEY: json.dumps(summary().__dict__).encode()})

    def summary() -> FileSummary:
        found = summary_of(np.concatenate(times), np.concatenate(mids), levels=levels, market=market, of=of)
        return replace(found, place=segments.below_library(path) if segments.is_segment(path) else "")

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, write)
    return summary()


def _groups(blocks: Iterable[RowBlock], width: int) -> Iterator[RowBlock]:
    """The same rows in groups of `GROUP_ROWS`, as wide as asked."""
    times, rows = np.zeros(0, np.int64), np.zeros((0, width))
    for stamps, block in blocks:
        times = np.concatenate([times, stamps])
        rows = np.concatenate([rows, np.pad(block, ((0, 0), (0, width - block.shape[1])), constant_values=np.nan)])
        while len(times) >= GROUP_ROWS:
            yield times[:GROUP_ROWS], rows[:GROUP_ROWS]
            times, rows = times[GROUP_ROWS:], rows[GROUP_ROWS:]
    if len(times):
        yield times, rows


class SegmentWriter:
    """Gathers rows and writes a segment at the end of each hour, or where time runs back.

    What comes goes to a journal when it is told to save, and an hour's files are made of it once that is over, one after another,
    each whole, and only then the journal goes: everything saved is on disk at any moment. No file is overwritten. On start it
    restores what a killed process left in its journals, and removes half-written files. Everything but saving may be called in
    the event loop; saving takes tens of milliseconds, a few seconds at the end of an hour of a hundred levels.

    Args:
        folder: of the library; made where it is missing.
        market: symbol. key: of the feed, by which the market's folder is named (`market_folder`); the symbol names it where None.
        by: what calls; None where nothing does.

    Attributes:
        files: of rows, written so far. rows: their number, with those not written yet. gaps: interruptions of the rows.
        seconds: from the first row to the last. size: bytes on disk, journal included.
    """

    def __init__(self, folder: Path, market: str, *, key: str | None = None, by: call_columns.CalledBy | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.market, self.files = folder, market, list[Path]()
        self._name = segments.market_folder(key or market)
        self.rows = self.gaps = self._sealed = 0
        self._by = by
        self._journal: WriteAhead | None = None
        self._again = False  # whether files of the journal were begun, and may be there
        self._lock, self._saving = threading.Lock(), threading.Lock()
        self._new: list[tuple[int, str, tuple[Any, ...]]] = []  # since the last save: number of the segment, kind, columns
        self._segment = self._saved = 0  # the segment that is gathered, and the one whose journal is open
        self._begins_ms: int | None = None  # its first row
        self._runs: dict[int, RunPart] = {0: (secrets.randbits(48), 0)}  # of each segment
        self._leads = dict[tuple[bool, int], tuple[Any, ...]]()  # the newest records of leads in this run, before it and since
        self._unplaced: list[tuple[Any, ...]] = []  # calls whose rows are still to come, by when another segment may have begun
        self._first_ms: int | None = None
        self._last_ms: int | None = None
        self._restore()

    @property
    def size(self) -> int:
        journal = self._journal
        return self._sealed + (journal.size if journal is not None else 0)

    @property
    def seconds(self) -> float:
        return 0.0 if self._first_ms is None or self._last_ms is None else (self._last_ms - self._first_ms + STEP_MS) / 1e3

    def add(
        self,
        row: Row,
        bands: tuple[Ladder, BandChange] | None = None,
        *,
        before: Sequence[Mapping[str, Any]] | None = None,
        leads: Sequence[tuple[int, Mapping[str, Any]]] = (),
    ) -> None:
        """Take a row in, and what changed in its bands; a hole before it becomes an event of its own.

        Args:
            before, leads: as of `core.market.follower.KnownRow`, leads as JSON's objects. Where what is known of the market
                begins with the row, so does another run.
        """
        timestamp = row.timestamp
        with self._lock:
            if before is not None:
                self._leads.clear()
            if self._last_ms is not None and timestamp > self._last_ms + STEP_MS:
                self.gaps += 1
                self._new.append((self._segment, segments.EVENTS, (self._last_ms + STEP_MS, "gap", timestamp, "")))
            if self._begins_ms is not None and self._last_ms is not None:
                end = (self._begins_ms // HOUR_MS + 1) * HOUR_MS
                if before is not None or not self._last_ms < timestamp < end:
                    run, part = self._runs[self._segment]
                    self._segment, self._begins_ms = self._segment + 1, None
                    self._runs[self._segment] = (run, part + 1) if before is None else (secrets.randbits(48), 0)
                    self._new += ((self._segment, segments.CALLS, call) for call in self._unplaced)
                    self._new += ((self._segment, segments.LEADS, lead) for lead in self._leads.values())
            self._begins_ms = timestamp if self._begins_ms is None else self._begins_ms
            self._unplaced = [call for call in self._unplaced if call[0] > timestamp]
            self._last_ms = timestamp
            self._first_ms = timestamp if self._first_ms is None else min(timestamp, self._first_ms)
            self._new.append((self._segment, segments.ROWS, (timestamp, row.levels[: 4 * RECORDED_LEVELS])))
            if bands is not None:
                self._new.append((self._segment, segments.DEPTH, depth_row(timestamp, *bands)))
            for is_before, some in ((True, enumerate(before or ())), (False, leads)):
                for head, lead in some:
                    self._leads[is_before, head] = record = (timestamp, head, is_before, json.dumps(lead))
                    self._new.append((self._segment, segments.LEADS, record))
            self.rows += 1

    def add_trade(self, trade: Trade) -> None:
        """Take a trade in, for the segment being gathered."""
        self._note(segments.TRADES, (trade.exchange_ms, trade.price, trade.size, CODES[trade.side]))

    def add_event(self, kind: str, timestamp: int, message: str = "", *, until: int | None = None) -> None:
        """Note an interruption (`SCHEMAS`)."""
        self._note(segments.EVENTS, (timestamp, kind, until, message))

    def add_call(self, call: tuple[Any, ...]) -> None:
        """Take a row's call in, values of `call_columns.LINE`: before the row, which may still be lost, or after it."""
        with self._lock:
            self._new.append((self._segment, segments.CALLS, call))
            if self._last_ms is None or call[0] > self._last_ms:
                self._unplaced.append(call)

    def _note(self, kind: str, item: tuple[Any, ...]) -> None:
        with self._lock:
            self._new.append((self._segment, kind, item))

    def save_journal(self) -> None:
        """Write what has come since the last call to the journal, and the files of the hours that are over.

        Raises:
            OSError: where the disk refuses, or has less than 256 MiB left.
        """
        with self._saving:
            if segments.is_full(self.folder):
                text = compose(
                    "the disk has less than {free} MiB left: make room for the recording", free=segments.FREE_SPACE // 2**20
                )
                raise OSError(errno.ENOSPC, text)
            self._save()

    def _save(self) -> None:
        with self._lock:
            new, newest = self._new[:], self._segment
        for number, group in groupby(new, itemgetter(0)):
            self._turn_to(number)
            items = [(kind, item) for _, kind, item in group]
            self._journal = self._journal or self._begun(number)
            self._journal.append(items)
            with self._lock:
                del self._new[: len(items)]
        self._turn_to(newest)

    def _turn_to(self, number: int) -> None:
        """Seal the segment before this one, where its journal is still open."""
        if number != self._saved:
            self._seal()
            self._saved = number

    def _seal(self) -> None:
        """Make files of the segment whose journal is open."""
        if self._journal is not None:
            again, self._again = self._again, True
            self._make_files(self._journal, again=again)
            self._journal, self._again = None, False

    def _begun(self, number: int) -> WriteAhead:
        """A new journal of a segment."""
        by = None if self._by is None else self._by.to_dict()
        about = {"market": self.market, "name": self._name, "of": self._runs[number], "by": by}
        return WriteAhead.begun(self.folder, self._name, about)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Write the rest."""
        with self._saving:
            self._save()
            self._seal()
            self._begins_ms = None

    def _restore(self) -> None:
        """Make segments of the journals of killed processes, and remove the half-written files they left."""
        for path in sorted(self.folder.glob(f".*{ENDING}")):
            with suppress(BlockingIOError), closing(WriteAhead(path)) as journal:  # else it is another's
                self._make_files(journal, again=True)
        segments.remove_leftovers(self.folder)

    def _make_files(self, journal: WriteAhead, *, again: bool) -> None:
        """Write a journal's files, and remove it; where `again`, without what is there. A damaged one is kept."""
        saved = journal.read()
        for path, write in self._files(saved, again=again):
            write(path)
        if saved.whole:
            journal.remove()
        else:
            kept = journal.set_aside()
            count = sum(table.num_rows for table in saved.tables.values())
            log.warning("the journal %s is damaged, or of an earlier version: %d records of it could be read", kept.name, count)

    def _files(self, saved: Saved, *, again: bool) -> Iterator[tuple[Path, Callable[[Path], object]]]:
        """Yields path and writer of each file, rows last."""
        about, tables, by = saved.about, dict(saved.tables), None
        with suppress(ValueError, TypeError, KeyError, AttributeError):  # it does not say what calls, or that is damaged
            by = call_columns.CalledBy.from_dict(about["by"])
        run, part = about.get("of", (0, 0))
        of = run, part if saved.whole else -1
        if not tables:
            return
        first = next(table.column(0)[0].as_py() for table in tables.values())
        rows, lines, leads = (tables.pop(kind, None) for kind in (segments.ROWS, segments.CALLS, segments.LEADS))
        if rows is not None and lines is not None and by is not None:
            calls = call_columns.calls_table(lines, rows["timestamp"].to_numpy(), by)
            tables[segments.CALLS] = calls if leads is None else call_columns.with_leads(calls, by, leads)
        count = 0 if rows is None else rows.num_rows
        path = self._free_path(about.get("name", ""), of, first, count if again else None)
        if path is None:
            return  # a process was killed, or a call failed, between writing the segment and removing its journal
        for kind, table in tables.items():
            yield (beside := segments.segment_path(path, kind)), partial(segments.write_table, table=table)
            self._sealed += beside.stat().st_size  # it is written by now
        if rows is not None:
            times, values = _block(rows)
            levels = values.shape[1] // 4
            yield path, partial(write_rows, blocks=[(times, values)], levels=levels, market=about.get("market", ""), of=of)
            self.files.append(path)
            self._sealed += path.stat().st_size

    def _free_path(self, name: str, of: RunPart, first_ms: int, restored: int | None) -> Path | None:
        """A path for the rows of a segment; None where as many rows of its run, restored ones, lie there already."""
        path = first = segments.hour_of(self.folder / segments.market_folder(name), first_ms) / f"rows_{first_ms}.parquet"
        copy = 1
        while path.exists():
            with suppress(pa.ArrowException, OSError):  # what is no Parquet file is no segment
                there = footer_summary(pq.read_metadata(path))
                if restored is not None and there is not None and (there.run, there.part) == of and there.rows >= restored:
                    return None
            copy += 1
            path = first.with_stem(f"{first.stem}_{copy}")
        return path


def restore_recordings(folder: Path) -> list[Path]:
    """Make files of what killed processes left in a library; returns the files of rows."""
    if not folder.is_dir() or not any(folder.glob(f".*{ENDING}")):
        return []
    return SegmentWriter(folder, "").files


def _block(table: pa.Table) -> RowBlock:
    """A journal's rows, as wide as the deepest."""
    levels = table["levels"].combine_chunks()
    widths = levels.value_lengths().to_numpy()
    values = np.full((len(widths), int(widths.max())), np.nan)
    values[np.arange(values.shape[1]) < widths[:, None]] = levels.flatten().to_numpy()
    return table["timestamp"].to_numpy(), values
