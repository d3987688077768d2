"""Writes rows to Parquet files as they arrive: short segments, each of which is whole or absent.

The files are those of `core.market.book` (docs/architecture.md, "Contracts"), with trades beside them
(`core.market.feeds.trades`).
Until a segment is complete, its rows lie in a journal, from which the next recording restores them if this process was killed.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.market.book import DEEP_COLUMNS, FILE_COLUMNS, STEP_MS, FloatArray, OrderBookSnapshot
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import BookLost, Confirmation, Feed, FeedEvent, FeedState, Trade
from core.market.feeds.trades import trades_path, trades_table
from core.market.journal import Journal, abandoned_journals, remove_leftovers
from core.market.sampler import GridRow, GridSampler
from core.market.whole_files import write_table
from core.messages import compose

SEGMENT_ROWS = 3_600
"""Fifteen minutes on the grid, 1.2 MB of memory, 12 MB for a hundred levels a side: 96 files a day."""
MOST_TRADES = 200_000
"""Most trades kept for one segment; the oldest are dropped first."""
JOURNAL_S = 1.0
"""Seconds between two writes to the journal: what is lost at most if the process is killed."""
SCHEMA = pa.schema([("timestamp", pa.int64()), *((column, pa.float64()) for column in FILE_COLUMNS)])
"""Of a file of ten levels; deeper ones follow as `core.market.book.DEEP_COLUMNS`."""


class SegmentWriter:
    """Gathers rows and writes a segment once there are enough of them, or once they span enough time.

    Writing takes some tens of milliseconds, in the caller's thread. A segment is written under another name and renamed, so that
    a file under its final name is whole. No file is overwritten. On start it restores what a killed process left in its
    journals, and removes half-written files and trades without a book.

    Args:
        folder: made where it is missing.
        market: part of the file names, "BTC/USDT" as BTC-USDT.
        segment_rows: most rows of a file; a file spans at most as many grid steps, holes included.
        with_trades: whether `add_trade` writes anything.

    Raises:
        ValueError: for segments of no rows.
    """

    def __init__(self, folder: Path, market: str, *, segment_rows: int = SEGMENT_ROWS, with_trades: bool = True) -> None:
        if segment_rows < 1:
            raise ValueError(compose("a segment of {rows} rows holds nothing: give 1 or more", rows=segment_rows))
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.files = folder, list[Path]()
        self.rows = 0
        self._prefix = re.sub(r"[^\w]+", "-", market).strip("-") or "market"
        self._segment_rows, self._with_trades = segment_rows, with_trades
        self._timestamps: list[int] = []
        self._levels: list[FloatArray] = []
        self._trades: deque[Trade] = deque(maxlen=MOST_TRADES)
        self._journal: Journal | None = None
        self._journalled = [0, 0]  # rows and trades in the journal
        self._journal_due = 0.0
        self._restore()

    def add(self, row: GridRow) -> None:
        """Take a row in; writes the segment it completes.

        Raises:
            OSError: where the disk refuses.
        """
        timestamp, levels = row
        if self._timestamps:
            first, last = self._timestamps[0], self._timestamps[-1]
            wound_back, far = timestamp <= last, timestamp - first >= self._segment_rows * STEP_MS
            if wound_back or far:
                self.flush()
        self._timestamps.append(timestamp)
        self._levels.append(levels)
        self.rows += 1
        if len(self._timestamps) >= self._segment_rows:
            self.flush()
        elif time.monotonic() >= self._journal_due:
            self.save_journal()

    def add_trade(self, trade: Trade) -> None:
        """Take a trade in, for the segment being gathered."""
        if self._with_trades:
            self._trades.append(trade)

    def save_journal(self) -> None:
        """Write the rows and trades since the last call to the journal."""
        self._journal_due = time.monotonic() + JOURNAL_S
        rows, trades = self._journalled
        if len(self._timestamps) == rows:
            return
        if self._journal is None:
            self._journal = Journal(self.folder, self._prefix, SCHEMA)
        fresh = list(self._trades)[trades:]
        self._journal.write(_rows_table(self._timestamps[rows:], self._levels[rows:]), trades_table(fresh))
        self._journalled = [len(self._timestamps), len(self._trades)]

    def flush(self) -> Path | None:
        """Write the segment gathered so far; returns its file, None where it has no rows."""
        if not self._timestamps:
            return None
        path = self._write_segment(_rows_table(self._timestamps, self._levels), trades_table(self._trades), self._prefix)
        self._timestamps, self._levels = [], []
        self._trades.clear()
        if self._journal is not None:
            self._journal.remove()
        self._journal, self._journalled = None, [0, 0]
        return path

    def close(self) -> None:
        """Write the rest."""
        self.flush()

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _restore(self) -> None:
        """Make segments of the journals of killed processes, and remove the other files they left."""
        for journal in abandoned_journals(self.folder, SCHEMA):
            rows, trades = journal.read()
            if rows.num_rows and not self._is_written(rows, journal.prefix):
                self._write_segment(rows, trades, journal.prefix)
            journal.remove()
        remove_leftovers(self.folder)

    def _write_segment(self, rows: pa.Table, trades: pa.Table, prefix: str) -> Path:
        path = self._free_path(rows["timestamp"][0].as_py(), prefix)
        if trades.num_rows:
            beside = trades_path(path)
            beside.parent.mkdir(exist_ok=True)
            write_table(beside, trades)
        write_table(path, rows)
        self.files.append(path)
        return path

    def _is_written(self, rows: pa.Table, prefix: str) -> bool:
        """Whether the process was killed between writing a segment and removing its journal."""
        path = self._path(rows["timestamp"][0].as_py(), prefix)
        return path.exists() and pq.read_metadata(path).num_rows >= rows.num_rows

    def _free_path(self, first_ms: int, prefix: str) -> Path:
        path = first = self._path(first_ms, prefix)
        copy = 1
        while path.exists():
            copy += 1
            path = first.with_stem(f"{first.stem}_{copy}")
        return path

    def _path(self, first_ms: int, prefix: str) -> Path:
        stamp = datetime.fromtimestamp(first_ms / 1e3, UTC).strftime("%Y%m%dT%H%M%S") + f".{first_ms % 1000:03d}Z"
        return self.folder / f"{prefix}_{stamp}.parquet"


def _rows_table(timestamps: list[int], levels: list[FloatArray]) -> pa.Table:
    """Rows as a table, as wide as the deepest book; levels that others lack are null."""
    width = max(map(len, levels))
    values = np.full((width, len(levels)), np.nan)
    for row, book in enumerate(levels):
        values[: len(book), row] = book
    names = ["timestamp", *FILE_COLUMNS, *DEEP_COLUMNS][: 1 + width]
    columns = [pa.array(np.array(timestamps, dtype=np.int64)), *(pa.array(column, from_pandas=True) for column in values)]
    return pa.Table.from_arrays(columns, names=names)


@dataclass(frozen=True, kw_only=True)
class RecordingProgress:
    """A recording's progress: confirmed rows, seconds since its start, the feed's state and its last message."""

    rows: int
    seconds: float
    state: FeedState
    message: str


async def record(
    feed: Feed,
    folder: Path,
    *,
    seconds: float | None = None,
    on_progress: Callable[[RecordingProgress], None] | None = None,
    segment_rows: int = SEGMENT_ROWS,
    with_trades: bool = True,
) -> list[Path]:
    """Record a feed on the 250 ms grid until it ends, `seconds` have passed by its clock, or the task is cancelled.

    However it ends, every confirmed row is on disk; rows that the venue had not confirmed are a gap (D27).

    Args:
        feed: closed at the end.
        folder: where the files go; see `SegmentWriter`.
        seconds: by this machine's clock for a live feed, by the feed's own for a recording or a simulation; None for no end.
        on_progress: called about once a row.

    Returns:
        The files written.

    Raises:
        FeedFailed: where the feed cannot go on.
        OSError: where the disk refuses.
    """
    with SegmentWriter(folder, feed.market, segment_rows=segment_rows, with_trades=with_trades) as writer:
        await _Recording(feed, writer, seconds, on_progress or (lambda progress: None)).run()
    return writer.files


class _Recording:
    def __init__(
        self, feed: Feed, writer: SegmentWriter, seconds: float | None, on_progress: Callable[[RecordingProgress], None]
    ) -> None:
        self._feed, self._writer, self._seconds, self._on_progress = feed, writer, seconds, on_progress
        self._sampler = GridSampler()
        self._provisional: deque[GridRow] = deque()
        self._wall = feed.clock == "wall"
        self._jumps = CLOCK.jumps
        self._state, self._message = FeedState.CONNECTING, ""
        self._start_s = time.monotonic()
        self._enough = False

    async def run(self) -> None:
        ticking = asyncio.create_task(self._tick()) if self._wall else None
        following = asyncio.create_task(self._follow())
        tasks: list[asyncio.Task[None]] = [following, *([ticking] if ticking else [])]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self) -> None:
        events: AsyncIterator[FeedEvent] = self._feed.events()
        async with aclosing(events):  # type: ignore[type-var]  # feeds are async generators
            async for event in events:
                self._take(event)
                if self._enough:
                    return

    def _take(self, event: FeedEvent) -> None:
        self._heed_clock()
        if isinstance(event, OrderBookSnapshot):
            self._keep(self._sampler.push(event, at_ms=event.received_ns // 1_000_000 if self._wall else None))
        elif isinstance(event, Trade):
            self._writer.add_trade(event)
        elif isinstance(event, Confirmation):
            self._sampler.confirm(event.until_ns // 1_000_000)
            self._keep([])
        elif isinstance(event, BookLost):
            self._keep(self._sampler.lose(event.from_ns // 1_000_000))
        else:
            if event.gap:
                self._gap()
            self._state, self._message = event.state, event.message
            self._report()

    async def _tick(self) -> None:
        while not self._enough:
            await asyncio.sleep((STEP_MS - CLOCK.now_ms() % STEP_MS) / 1e3)
            now_ms = CLOCK.now_ms()
            self._heed_clock()
            if self._state is FeedState.LIVE:
                self._keep(self._sampler.advance(now_ms))
            if self._seconds is not None and time.monotonic() - self._start_s >= self._seconds:
                self._enough = True
            self._report()

    def _keep(self, rows: list[GridRow]) -> None:
        """Hold rows until they are confirmed, and write those that are."""
        self._provisional.extend(rows)
        while self._provisional and self._provisional[0][0] <= self._sampler.confirmed_ms and not self._enough:
            self._writer.add(self._provisional.popleft())
            if not self._wall:
                self._enough = self._seconds is not None and self._writer.rows * STEP_MS >= self._seconds * 1e3
                self._report()

    def _gap(self) -> None:
        self._sampler.gap()
        self._provisional.clear()

    def _heed_clock(self) -> None:
        """A jump of the clock is a gap: nothing is known of the time it skipped."""
        if self._wall and CLOCK.jumps != self._jumps:
            self._jumps = CLOCK.jumps
            self._gap()

    def _report(self) -> None:
        seconds = time.monotonic() - self._start_s if self._wall else self._writer.rows * STEP_MS / 1e3
        self._on_progress(RecordingProgress(rows=self._writer.rows, seconds=seconds, state=self._state, message=self._message))
