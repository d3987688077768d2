"""A recording as a feed: plays back a file of books. The app's default source."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.market.book import LEVELS, NO_LEVELS, STEP_MS, BookRows, OrderBookSnapshot
from core.market.feeds.clock import CLOCK
from core.market.feeds.playback import SPEEDS, Due, PlayedFeed
from core.market.feeds.protocol import FeedEvent, Status, StatusChange
from core.market.grid import segments
from core.market.store.depth_files import RecordedDepth
from core.market.store.rows import RecordedRows
from core.market.store.trades import TradeColumns

BLOCK: Final = 1_024
"""Rows read ahead, up to 3 MB."""

AHEAD_MS: Final = 500
"""Of a playback at real time before those that it is played together with, at most: then it waits for them."""
APART_MS: Final = 2_000
"""From a moment, beyond which a playback at real time jumps there."""
PARTS: Final = 60
"""Of a recording, among whose moves the largest is sought."""


class RecordingFeed(PlayedFeed):
    """Plays a Parquet or CSV file of books on the 250 ms grid, with the trades beside it where there are any.

    A hole in the file is skipped and marked as a gap; after the end it begins anew.

    Args:
        path: the file, or the files of one market; what is not on the grid is resampled to it.
        market: the symbol by which a checkpoint's card knows the market, "NEXO/USDT".
        lead: rows that are played at once at the start, and before the target of a jump: with a model's window or more, its
            first prediction is there at once.
        key: distinguishes two playbacks of one file.

    Attributes:
        paths: the files. path: the first of them. length: rows in them. duration: seconds at real time, holes skipped.
        span_ms: the first and the last row's time, milliseconds since the epoch.

    Raises:
        BookError: where the file breaks the contract (`core.market.book`).
    """

    def __init__(self, path: Path | Sequence[Path], *, market: str, lead: int = 0, key: str | None = None) -> None:
        self.paths = [path] if isinstance(path, Path) else list(path)
        self.path = self.paths[0]
        super().__init__(key=key or f"recording/{self.path.name}", market=market, playing=Status.REPLAYING)
        self._book = RecordedRows(self.paths)
        self.tick, self.length = self._book.tick, len(self._book)
        self.duration = self.length * STEP_MS / 1e3
        self.span_ms = int(self._book.timestamps[0]), int(self._book.timestamps[-1])
        self._block: tuple[int, BookRows] = (0, self._read_block(0))
        self._lead = max(1, min(lead, self.length * 3 // 4))
        self._trades, self._depth = TradeColumns(self.paths), RecordedDepth(self.paths)
        self._starts = np.array([piece.start for piece in segments(self._book.timestamps)])
        self._next = 0
        self._again = min(self._lead, self.length) - 1
        self._jump: int | None = self._again
        self._started = False
        self._until = self.length
        self._together = weakref.WeakSet[RecordingFeed]()

    @property
    def position(self) -> int:
        """The row that was played last (0 before the first)."""
        with self._lock:  # the loop may carry the jump out between two looks at it
            return self._jump if self._jump is not None else max(0, self._next - 1)

    @property
    def now_ms(self) -> int:
        """Time of the row that was played last."""
        return int(self._book.timestamps[self.position])

    def play_together(self, feeds: Sequence[RecordingFeed], first_ms: int, last_ms: int, now_ms: int) -> None:
        """Keep to one moment with these feeds, from `now_ms` on; begin again after the last one, with the lead from the first."""
        first, until, now = np.searchsorted(self._book.timestamps, [first_ms, last_ms + 1, now_ms]).tolist()
        with self._lock:
            self._again, self._until = min(first + self._lead, until) - 1, until
            self._together = weakref.WeakSet(feeds)
        if abs(self.now_ms - now_ms) > APART_MS * (self.speed or np.inf):
            self.seek(now)

    def outline(self, points: int) -> dict[str, Any]:
        """The whole in small: `from` and `to`, its first and last row's milliseconds, and about so many `mids` at even steps."""
        mids = self._book.mid[:: max(1, self.length // points)]
        first, last = self.span_ms
        return {"from": first, "to": last, "mids": mids.tolist()}

    @property
    def opens_at(self) -> int:
        """Second at which there is something to see: a minute before the largest move of its sixty parts."""
        mids = np.array(self.outline(PARTS)["mids"])
        return max(0, int(np.abs(np.diff(mids)).argmax() * self.duration / len(mids)) - 60)

    def seek(self, row: int) -> None:
        """Jump to a row.

        Raises:
            ValueError: for one that the recording does not have.
        """
        if not 0 <= row < self.length:
            raise ValueError(f"the recording has no row {row}: give one from 0 to {self.length - 1}")
        with self._lock:
            self._jump = row
        self._changed()

    def due(self) -> Due:
        """See `Pacer.due`; none while it is ahead of another that it is played together with, unless that one has begun again."""
        half = (self.span_ms[1] - self.span_ms[0]) / 2
        ahead = (self.now_ms - feed.now_ms for feed in self._together if feed.is_running and not feed.paused)
        if self.paused or not any(AHEAD_MS * (self.speed or SPEEDS[-1]) < one < half for one in ahead):
            return super().due()
        self.restart()
        return Due(rows=0, wait_s=STEP_MS / 1e3)

    def _release(self) -> None:
        self._block = (0, BookRows(timestamps=np.empty(0, dtype=np.int64), levels=np.empty((0, 4 * LEVELS))))
        self._book.release()

    def _at_once(self, state: Status) -> list[FeedEvent]:
        with self._lock:
            target, self._jump = self._jump, None
            if target is None:
                return []
            piece = int(self._starts[np.searchsorted(self._starts, target, side="right") - 1])
            first, self._next = max(piece, target - self._lead + 1), target + 1
        events: list[FeedEvent] = [StatusChange(state=state, gap=True)] if self._started else []
        self._started = True
        for row in range(first, target + 1):
            events += self._events_of(row)
        return events

    def _row(self, state: Status) -> list[FeedEvent]:
        with self._lock:
            row = self._next
            if row < self._until:
                self._next = row + 1
        if row < self._until:
            hole = row and row in self._starts
            if not hole:
                return self._events_of(row)
            return [StatusChange(state=state, gap=True), *self._events_of(row, since_ms=int(self._book.timestamps[row - 1]))]
        with self._lock:
            self._jump = self._again if self._jump is None else self._jump
        return self._at_once(state)

    def _events_of(self, row: int, since_ms: int | None = None) -> list[FeedEvent]:
        """A row's events: what was traded since the one before it, or since that time, and its book."""
        when = int(self._book.timestamps[row])
        since = when - STEP_MS if since_ms is None else since_ms
        first, last = np.searchsorted(self._trades.times, [since, when], side="right")
        breaks = [one for one in self._trades.breaks if since < one.until_ms <= when]
        start, block = self._block
        if not start <= row < start + len(block):
            start, block = self._block = row, self._read_block(row)
        deep = NO_LEVELS if block.deep is None else block.deep[row - start]
        book = OrderBookSnapshot(
            levels=block.levels[row - start],
            exchange_ms=when,
            received_ns=CLOCK.now_ns(),
            sequence=row,
            deep=deep[np.isfinite(deep)],
            bands=self._depth.at(when),
        )
        return [*breaks, *self._trades.between(int(first), int(last)), book]

    def _read_block(self, first: int) -> BookRows:
        block = self._book.block(first, first + BLOCK, deep=self._book.levels > LEVELS)
        block.levels.setflags(write=False)
        return block


def share_moment(feeds: Sequence[RecordingFeed]) -> None:
    """Plays recordings that have half of a time in common at one moment: that of the first of them."""
    while feeds:
        leader, *others = feeds
        (first, last), together, apart = leader.span_ms, [leader], list[RecordingFeed]()
        for feed in others:
            begins, ends = max(first, feed.span_ms[0]), min(last, feed.span_ms[1])
            common = 2 * (ends - begins) > max(last - first, feed.span_ms[1] - feed.span_ms[0])
            if common:
                first, last = begins, ends
            (together if common else apart).append(feed)
        now = min(max(first, leader.now_ms), last)
        for feed in together:
            feed.play_together(together, first, last, now)
        feeds = apart
