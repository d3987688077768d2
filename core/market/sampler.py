"""One row every 250 ms: the last book received, for as long as it may be carried (docs/architecture.md, "The flow of a book")."""

from __future__ import annotations

from core.market.book import STEP_MS, FloatArray, OrderBookSnapshot

CARRY_MS = 10_000
"""How long a book may be carried before the grid is left empty."""

GridRow = tuple[int, FloatArray]
"""Milliseconds since the epoch, a multiple of 250; and the book at that time, (40 + 4m,): ten levels a side, then deeper ones."""


class GridSampler:
    """Turns books that arrive at any time into rows on the grid.

    A grid time takes the last book received at or before it; of several books in its own millisecond it takes the first, and so
    does not wait for more. By this machine's clock a row is provisional until a later message of the venue confirms it (D27):
    whoever takes rows keeps those past `confirmed_ms` aside, and drops them at a gap.

    Attributes:
        confirmed_ms: rows up to this time are confirmed.
    """

    def __init__(self, *, carry_ms: int = CARRY_MS) -> None:
        self.carry_ms = carry_ms
        self.confirmed_ms = 0
        self._book: FloatArray | None = None
        self._book_ms = 0
        self._next_ms = 0

    def gap(self) -> None:
        """Books may have been missed: no book is carried, and the next one starts a new stretch of rows."""
        self._book = None

    def push(self, snapshot: OrderBookSnapshot, *, at_ms: int | None = None) -> list[GridRow]:
        """Take in a book; returns the rows up to its time.

        A book older than the last one is dropped. One older than any that could still be carried means that a recording was
        wound back: it starts a new stretch.

        Args:
            at_ms: when it arrived, by this machine's clock; None for a feed that brings its own time, whose rows are confirmed.
        """
        now = snapshot.exchange_ms if at_ms is None else at_ms
        if self._book is not None and now < self._book_ms:
            if self._book_ms - now <= self.carry_ms:
                return []
            self.gap()
        rows = self._until(now - 1) if self._book is not None else []
        if self._book is None:
            self._next_ms = -(-now // STEP_MS) * STEP_MS
        self._book, self._book_ms = snapshot.whole, now
        if self._next_ms == now:
            rows += self._until(now)
        if at_ms is None:
            self.confirmed_ms = now
        elif snapshot.confirms:
            self.confirm(now)
        return rows

    def advance(self, now_ms: int) -> list[GridRow]:
        """The rows up to this time, by a clock that runs between books."""
        return self._until(now_ms)

    def confirm(self, at_ms: int) -> None:
        """The venue's book was known until `at_ms`: rows before then are confirmed."""
        self.confirmed_ms = max(self.confirmed_ms, at_ms - 1)

    def lose(self, at_ms: int) -> list[GridRow]:
        """From `at_ms` on the venue's book is unknown, until the next one arrives; returns the rows before then."""
        rows = self._until(at_ms - 1)
        self.gap()
        return rows

    def _until(self, now_ms: int) -> list[GridRow]:
        rows: list[GridRow] = []
        while self._book is not None and self._next_ms <= now_ms:
            if self._next_ms - self._book_ms > self.carry_ms:
                self.gap()
                break
            rows.append((self._next_ms, self._book))
            self._next_ms += STEP_MS
        return rows
