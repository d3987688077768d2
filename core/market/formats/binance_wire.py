"""Binance's messages as they came: a line each of the time of receipt in nanoseconds and the JSON, packed by gzip or not.

Changes of depth continue a snapshot (`lastUpdateId`) by their numbers: U and u on spot, pu on futures (developers.binance.com,
"How to manage a local order book correctly"). A number that is missing makes the book unknown until the next snapshot.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from core.market.feeds.protocol import Trade
from core.market.formats.book_builder import BookBuilder
from core.market.formats.protocol import BookBatch, PositionedText, RowProblem, first_line
from core.messages import Message, compose

LINE = re.compile(r"(\d{16,20}) (\{.*\})\s*")


class BinanceWireFormat:
    """Depth, trades and snapshots of one market; Binance's event time is a book's time."""

    key, name = "binance", "Binance wire"
    remark: Message | str = ""

    def recognises(self, files: Mapping[str, Path]) -> bool:
        return len(files) == 1 and bool(re.match(r"\d{16,20} \{\"", first_line(next(iter(files.values())))))

    def market(self, files: Mapping[str, Path]) -> str:
        found = re.search(r'"s":"([A-Z0-9_]+)"', first_line(next(iter(files.values()))))
        return found[1] if found else ""

    def batches(self, files: Mapping[str, Path]) -> Iterator[BookBatch]:
        file = PositionedText(next(iter(files.values())))
        stream = _Stream()
        number = 0
        try:
            for lines in file.batches():
                for number, line in enumerate(lines, number + 1):  # noqa: B020
                    if (batch := stream.take(number, line, file.done)) is not None:
                        yield batch
                yield stream.batch(file.done)
            stream.builder.keep()
            yield stream.batch(1.0)
        finally:
            file.close()


class _Stream:
    """The book of one market from its messages."""

    def __init__(self) -> None:
        self.builder = BookBuilder()
        self._early: deque[tuple[int, dict[str, Any]]] = deque(maxlen=10_000)  # messages before the snapshot
        self._last: int | None = None  # number of the last change taken
        self._synced = False
        self._fresh = True
        self._time = 0
        self._problems: list[RowProblem] = []
        self._trades: list[Trade] = []

    def take(self, row: int, line: str, done: float) -> BookBatch | None:
        """One line; returns what there is where books go missing after it."""
        found = LINE.fullmatch(line)
        if not found:
            if line.strip():
                self._wrong(row, compose("is no message: the time of receipt in nanoseconds and JSON are right"))
            return None
        try:
            message = orjson.loads(found[2])
            data = message.get("data", message)
            if "lastUpdateId" in data:
                self._snapshot(row, data, int(found[1]) // 1_000_000)
            elif data.get("e") == "depthUpdate":
                return self._depth(row, data, done)
            elif data.get("e") in ("trade", "aggTrade") and data.get("X", "MARKET") == "MARKET":
                side = "sell" if data["m"] else "buy"
                trade = Trade(price=float(data["p"]), size=float(data["q"]), side=side, exchange_ms=int(data["T"]))  # type: ignore[arg-type]
                self._trades.append(trade)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            why = compose("lacks {field}", field=error) if isinstance(error, KeyError) else compose("is not as Binance writes it")
            self._wrong(row, why)
        return None

    def batch(self, done: float) -> BookBatch:
        """Returns the books that arrived since the last call."""
        times, values, rows = self.builder.take()
        made = BookBatch(
            timestamps=times,
            values=values,
            rows=rows,
            problems=self._problems,
            trades=self._trades,
            fresh=self._fresh and len(times) > 0,
            done=done,
        )
        self._fresh = self._fresh and not len(times)
        self._problems, self._trades = [], []
        return made

    def _wrong(self, row: int, what: Message) -> None:
        self._problems.append(RowProblem(row=row, what=what))

    def _snapshot(self, row: int, data: dict[str, Any], received_ms: int) -> None:
        sides = [[(float(price), float(size)) for price, size in data[side]] for side in ("asks", "bids")]
        self.builder.clear()
        self.builder.change(self.builder.asks, sides[0])
        self.builder.change(self.builder.bids, sides[1])
        self._last, self._synced = int(data["lastUpdateId"]), False
        early, self._early = list(self._early), deque(maxlen=self._early.maxlen)
        for number, message in early:
            if message["u"] > self._last or self._synced:
                self._depth(number, message, 0.0)

    def _depth(self, row: int, data: dict[str, Any], done: float) -> BookBatch | None:
        first, last = int(data["U"]), int(data["u"])
        if self._last is None:
            self._early.append((row, data))
            return None
        if last <= self._last and not self._synced:
            return None
        follows = data["pu"] == self._last if "pu" in data and self._synced else first <= self._last + 1 <= last + 1
        if not follows:
            self._wrong(
                row, compose("does not follow the update before it: some are missing, and the book is unknown for a while")
            )
            self.builder.keep()
            missing = self.batch(done)
            self.builder.clear()
            self._last, self._synced, self._fresh = None, False, True
            self._early.append((row, data))
            return missing
        changes = [[(float(price), float(size)) for price, size in data[side]] for side in ("a", "b")]
        self._time = max(self._time, int(data["E"]))
        self.builder.move_to(self._time, row)
        self.builder.change(self.builder.asks, changes[0])
        self.builder.change(self.builder.bids, changes[1])
        self._last, self._synced = last, True
        return None
