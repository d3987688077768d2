"""Rows to Parquet files as they come: short segments, each whole or not there, with little kept in memory.

The files are those of `core.market.book` (DESIGN "Shared contracts"), with trades beside them (`core.market.feeds.trades`).
"""

from __future__ import annotations

import asyncio
import os
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

from core.market.book import FILE_COLUMNS, STEP_MS, FloatArray, OrderBookSnapshot
from core.market.feeds.protocol import Feed, FeedEvent, FeedState, StatusChange, Trade
from core.market.feeds.trades import trades_path, trades_table
from core.market.sampler import GridRow, GridSampler

SEGMENT_ROWS = 3_600
"""Fifteen minutes on the grid: what is lost at most if the machine dies, about 1.2 MB of memory, 96 files a day."""
MOST_TRADES = 200_000
"""Trades kept for one segment at most, the oldest go first."""
SCHEMA = pa.schema([("timestamp", pa.int64()), *((column, pa.float64()) for column in FILE_COLUMNS)])


class SegmentWriter:
    """Collects rows and writes a segment whenever enough have come, or when the rows reach far enough in time.

    Writing takes some tens of milliseconds, in the caller's thread. A segment is written under another name and renamed, so that
    a file that is there is whole. None is ever overwritten.

    Args:
        folder: made where it is missing.
        market: goes into the file names, "BTC/USDT" as BTC-USDT.
        segment_rows: rows a file at most; a file spans as many grid steps at most, holes included.
        with_trades: whether `add_trade` writes anything.

    Raises:
        ValueError: for segments of no rows.
    """

    def __init__(self, folder: Path, market: str, *, segment_rows: int = SEGMENT_ROWS, with_trades: bool = True) -> None:
        if segment_rows < 1:
            raise ValueError(f"a segment of {segment_rows} rows holds nothing: give 1 or more")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.files = folder, list[Path]()
        self.rows = 0
        self._prefix = re.sub(r"[^\w]+", "-", market).strip("-") or "market"
        self._segment_rows, self._with_trades = segment_rows, with_trades
        self._timestamps: list[int] = []
        self._levels: list[FloatArray] = []
        self._trades: deque[Trade] = deque(maxlen=MOST_TRADES)

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

    def add_trade(self, trade: Trade) -> None:
        """Take a trade in, for the segment being collected."""
        if self._with_trades:
            self._trades.append(trade)

    def flush(self) -> Path | None:
        """Write what is there; returns the file, None where there was nothing to write."""
        if not self._timestamps:
            return None
        path = self._free_path(self._timestamps[0])
        if self._trades:
            beside = trades_path(path)
            beside.parent.mkdir(exist_ok=True)
            _write(trades_table(self._trades), beside)
        levels = np.stack(self._levels)
        columns = [pa.array(np.array(self._timestamps, dtype=np.int64)), *(pa.array(column) for column in levels.T.copy())]
        _write(pa.Table.from_arrays(columns, schema=SCHEMA), path)
        self._timestamps, self._levels = [], []
        self._trades.clear()
        self.files.append(path)
        return path

    def close(self) -> None:
        """Write the rest."""
        self.flush()

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _free_path(self, first_ms: int) -> Path:
        stamp = datetime.fromtimestamp(first_ms / 1e3, UTC).strftime("%Y%m%dT%H%M%S") + f".{first_ms % 1000:03d}Z"
        path, copy = self.folder / f"{self._prefix}_{stamp}.parquet", 1
        while path.exists():
            copy += 1
            path = self.folder / f"{self._prefix}_{stamp}_{copy}.parquet"
        return path


def _write(table: pa.Table, path: Path) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            pq.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@dataclass(frozen=True, kw_only=True)
class RecordingProgress:
    """How a recording goes: rows written or waiting to be, seconds since it began, the feed's state, and what it last said."""

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

    Whichever way it ends, what has come is on disk.

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
        self._wall = feed.clock == "wall"
        self._state, self._message = FeedState.CONNECTING, ""
        self._began = time.monotonic()
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
                if isinstance(event, OrderBookSnapshot):
                    at_ms = event.received_ns // 1_000_000 if self._wall else None
                    self._keep(self._sampler.push(event, at_ms=at_ms))
                elif isinstance(event, Trade):
                    self._writer.add_trade(event)
                else:
                    self._note(event)
                if self._enough:
                    return

    async def _tick(self) -> None:
        while not self._enough:
            now_ms = time.time_ns() // 1_000_000
            await asyncio.sleep((STEP_MS - now_ms % STEP_MS) / 1e3)
            if self._state is FeedState.LIVE:
                self._keep(self._sampler.advance(time.time_ns() // 1_000_000))
            if self._seconds is not None and time.monotonic() - self._began >= self._seconds:
                self._enough = True
            self._report()

    def _keep(self, rows: list[GridRow]) -> None:
        for row in rows:
            if self._enough:
                return
            self._writer.add(row)
            if not self._wall:
                self._enough = self._seconds is not None and self._writer.rows * STEP_MS >= self._seconds * 1e3
                self._report()

    def _note(self, change: StatusChange) -> None:
        if change.gap:
            self._sampler.gap()
        self._state, self._message = change.state, change.message
        self._report()

    def _report(self) -> None:
        seconds = time.monotonic() - self._began if self._wall else self._writer.rows * STEP_MS / 1e3
        self._on_progress(RecordingProgress(rows=self._writer.rows, seconds=seconds, state=self._state, message=self._message))
