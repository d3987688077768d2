"""A live feed's rows: its last book every 250 ms, provisional until a later message confirms it (D27)."""

import asyncio

from core.market.bands import Bands
from core.market.book import NO_LEVELS, FloatArray, OrderBookSnapshot
from core.market.events import GRID_ITEMS, BookLost, Confirmation, Confirmed, Gap, Row
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import Clock, FeedEvent, Status, StatusChange
from core.market.grid import MAX_CARRY_MS, STEP_MS, RowTimes


class Grid:
    """Makes rows, confirmations and gaps of a feed's events; each event is handed on before what follows from it.

    A grid time takes the last book received at or before it; of several books in its own millisecond it takes the first, and so
    does not wait for more. By this machine's clock a row is provisional until a later message of the venue confirms it (D27).

    Args:
        clock: see `core.market.feeds.protocol.Feed`.
    """

    def __init__(self, clock: Clock) -> None:
        self.wall = clock == "wall"
        self._times = RowTimes(MAX_CARRY_MS, holds=self.wall)
        self._book: FloatArray = NO_LEVELS
        self._bands: Bands | None = None
        self._received_ns = self._confirmed_ms = 0
        self._live, self._jumps = False, CLOCK.jumps

    def on_event(self, event: FeedEvent) -> list[FeedEvent]:
        """The event, and what follows from it."""
        jump = self._jump()
        if isinstance(event, Confirmation):
            return [*jump, *self._confirm(event.until_ns // 1_000_000)]
        if isinstance(event, BookLost):  # until the next one the venue's book is unknown
            rows = self._rows(self._times.until(event.from_ns // 1_000_000 - 1))
            self._times.forget()
            return [*jump, *rows, event]
        if isinstance(event, GRID_ITEMS):  # trades
            return [*jump, event]
        if isinstance(event, StatusChange):
            self._live = event.state is Status.LIVE
            gap = [self.gap("resync" if event.resync else "reconnect", event.message)] if event.gap else []
            return [*jump, *gap, event]
        return [*jump, event, *self._push(event)]

    def on_tick(self) -> list[FeedEvent]:
        """Rows up to now by this machine's clock, for feeds whose book holds until the next one."""
        now_ms = CLOCK.now_ms()
        return [*self._jump(), *(self._rows(self._times.until(now_ms)) if self._live else [])]

    def gap(self, kind: str = "reconnect", message: str = "") -> Gap:
        """No book is carried from here on; the next one starts a new stretch of rows."""
        self._times.forget()
        return Gap(kind, CLOCK.now_ms(), message)

    def _jump(self) -> list[Gap]:
        """A jump of the clock is a gap: nothing is known of the time it skipped."""
        if not self.wall or CLOCK.jumps == self._jumps:
            return []
        self._jumps = CLOCK.jumps
        return [self.gap("clock")]

    def _push(self, book: OrderBookSnapshot) -> list[Confirmed | Row]:
        now = book.received_ms if self.wall else book.exchange_ms
        if (times := self._times.step(now)) is None:
            return []
        confirmed: list[Confirmed] = []
        if not self.wall:
            self._confirmed_ms = now
        elif book.confirms:
            confirmed = self._confirm(now)
        rows = self._rows(times[0])
        self._book, self._bands, self._received_ns = book.whole, book.bands, book.received_ns
        return [*confirmed, *rows, *self._rows(times[1])]

    def _confirm(self, at_ms: int) -> list[Confirmed]:
        """The venue's book was known until `at_ms`: rows before then are confirmed. Told only where a row may lie between."""
        before, self._confirmed_ms = self._confirmed_ms, max(self._confirmed_ms, at_ms - 1)
        return [Confirmed(self._confirmed_ms)] if self._confirmed_ms // STEP_MS > before // STEP_MS else []

    def _rows(self, times: list[int]) -> list[Row]:
        """Rows of the last book at these times."""
        return [Row(at, self._book, self._received_ns, CLOCK.now_ns(), at > self._confirmed_ms, self._bands) for at in times]


async def next_step() -> None:
    """Sleeps until the next moment of the grid."""
    await asyncio.sleep((STEP_MS - CLOCK.now_ms() % STEP_MS) / 1e3)
