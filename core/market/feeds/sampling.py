"""A live feed's rows: its last book every 250 ms, provisional until a later message confirms it (D27)."""

from __future__ import annotations

import asyncio

from core.market.bands import Bands
from core.market.book import FloatArray, OrderBookSnapshot
from core.market.events import GRID_ITEMS, BookLost, Confirmation, Confirmed, Gap, Row
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import Clock, FeedEvent, FeedState, StatusChange
from core.market.grid import MAX_CARRY_MS, STEP_MS


class Grid:
    """Makes rows, confirmations and gaps of a feed's events; each event is handed on before what follows from it.

    A grid time takes the last book received at or before it; of several books in its own millisecond it takes the first, and so
    does not wait for more. By this machine's clock a row is provisional until a later message of the venue confirms it (D27).

    Args:
        clock: see `core.market.feeds.protocol.Feed`.
        carry_ms: longest that a book is carried.
    """

    def __init__(self, clock: Clock, *, carry_ms: int = MAX_CARRY_MS) -> None:
        self.wall, self.carry_ms = clock == "wall", carry_ms
        self._book: FloatArray | None = None
        self._bands: Bands | None = None
        self._book_ms = self._received_ns = self._next_ms = self._confirmed_ms = 0
        self._live, self._jumps = False, CLOCK.jumps

    def on_event(self, event: FeedEvent) -> list[FeedEvent]:
        """The event, and what follows from it.

        A book older than the last one is dropped. One older than any that could still be carried means that a recording was
        wound back: it starts a new stretch.
        """
        jump = self._jump()
        if isinstance(event, Confirmation):
            return [*jump, *self._confirm(event.until_ns // 1_000_000)]
        if isinstance(event, BookLost):  # until the next one the venue's book is unknown
            rows = self._until(event.from_ns // 1_000_000 - 1)
            self._book = None
            return [*jump, *rows, event]
        if isinstance(event, GRID_ITEMS):  # trades
            return [*jump, event]
        if isinstance(event, StatusChange):
            self._live = event.state is FeedState.LIVE
            gap = [self.gap("resync" if event.resync else "reconnect", event.message)] if event.gap else []
            return [*jump, *gap, event]
        return [*jump, event, *self._push(event)]

    def on_tick(self) -> list[FeedEvent]:
        """Rows up to now by this machine's clock, for feeds whose book holds until the next one."""
        now_ms = CLOCK.now_ms()
        return [*self._jump(), *(self._until(now_ms) if self._live else [])]

    def gap(self, kind: str = "reconnect", message: str = "") -> Gap:
        """No book is carried from here on; the next one starts a new stretch of rows."""
        self._book = None
        return Gap(kind, CLOCK.now_ms(), message)

    def _jump(self) -> list[Gap]:
        """A jump of the clock is a gap: nothing is known of the time it skipped."""
        if not self.wall or CLOCK.jumps == self._jumps:
            return []
        self._jumps = CLOCK.jumps
        return [self.gap("clock")]

    def _push(self, book: OrderBookSnapshot) -> list[Confirmed | Row]:
        now = book.received_ms if self.wall else book.exchange_ms
        if self._book is not None and now < self._book_ms:
            if self._book_ms - now <= self.carry_ms:
                return []
            self._book = None
        if not self.wall and now - self._book_ms > self.carry_ms:
            self._book = None  # as in `grid_rows`: nothing but this book could have said that the last one held
        confirmed: list[Confirmed] = []
        if not self.wall:
            self._confirmed_ms = now
        elif book.confirms:
            confirmed = self._confirm(now)
        rows = self._until(now - 1)
        if self._book is None:
            self._next_ms = -(-now // STEP_MS) * STEP_MS
        self._book, self._bands, self._book_ms, self._received_ns = book.whole, book.bands, now, book.received_ns
        if self._next_ms == now:
            rows += self._until(now)
        return [*confirmed, *rows]

    def _confirm(self, at_ms: int) -> list[Confirmed]:
        """The venue's book was known until `at_ms`: rows before then are confirmed. Told only where a row may lie between."""
        before, self._confirmed_ms = self._confirmed_ms, max(self._confirmed_ms, at_ms - 1)
        return [Confirmed(self._confirmed_ms)] if self._confirmed_ms // STEP_MS > before // STEP_MS else []

    def _until(self, now_ms: int) -> list[Row]:
        rows: list[Row] = []
        while self._book is not None and self._next_ms <= now_ms:
            if self._next_ms - self._book_ms > self.carry_ms:
                self._book = None
                break
            provisional = self._next_ms > self._confirmed_ms
            rows.append(Row(self._next_ms, self._book, self._received_ns, CLOCK.now_ns(), provisional, self._bands))
            self._next_ms += STEP_MS
        return rows


async def next_step() -> None:
    """Sleeps until the next moment of the grid."""
    await asyncio.sleep((STEP_MS - CLOCK.now_ms() % STEP_MS) / 1e3)
