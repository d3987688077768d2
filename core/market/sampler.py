"""One row every 250 ms: the last book carried, a gap marked, never guessed (DESIGN, "The flow of the live page")."""

from __future__ import annotations

from core.market.book import STEP_MS, FloatArray, OrderBookSnapshot

CARRY_MS = 10_000
"""How long a book may stand in for the present before it counts as a gap."""

GridRow = tuple[int, FloatArray]
"""Milliseconds since the epoch, a multiple of 250; and the book then, (40,)."""


class GridSampler:
    """Turns books that come when they come into rows on the grid.

    A grid moment takes the last book received at or before it; of several in that moment's own millisecond the first, as it
    does not wait for more. `push` emits the moments that passed before the new book; `advance` those that passed by the clock
    while nothing came (wall-clock feeds).
    """

    def __init__(self, *, carry_ms: int = CARRY_MS) -> None:
        self.carry_ms = carry_ms
        self._book: FloatArray | None = None
        self._book_ms = 0
        self._next_ms = 0

    def gap(self) -> None:
        """Books may have been missed: hold nothing over. The next row starts a new stretch."""
        self._book = None

    def push(self, snapshot: OrderBookSnapshot, *, at_ms: int | None = None) -> list[GridRow]:
        """Take a book in, by `at_ms` where given, else by its exchange time; return the rows now complete.

        A book older than one taken in before is dropped: time does not run backwards. One older than any that could still be
        carried means that the clock was set: it starts a new stretch.
        """
        now = snapshot.exchange_ms if at_ms is None else at_ms
        if self._book is not None and now < self._book_ms:
            if self._book_ms - now <= self.carry_ms:
                return []
            self.gap()
        rows = self._until(now - 1) if self._book is not None else []
        if self._book is None:
            self._next_ms = -(-now // STEP_MS) * STEP_MS
        self._book, self._book_ms = snapshot.levels, now
        if self._next_ms == now:
            rows += self._until(now)
        return rows

    def advance(self, now_ms: int) -> list[GridRow]:
        """The rows complete by this clock time."""
        return self._until(now_ms)

    def _until(self, now_ms: int) -> list[GridRow]:
        rows: list[GridRow] = []
        while self._book is not None and self._next_ms <= now_ms:
            if self._next_ms - self._book_ms > self.carry_ms:
                self.gap()
                break
            rows.append((self._next_ms, self._book))
            self._next_ms += STEP_MS
        return rows
