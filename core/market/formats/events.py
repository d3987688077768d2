"""Formats of changes to a book: Binance's messages as they came, hftbacktest's events, and how books are built from them."""

from __future__ import annotations

import heapq
import math
import re
import zipfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from core.market.book import STEP_MS, FloatArray
from core.market.feeds.protocol import Trade
from core.market.formats.protocol import (
    BATCH,
    BookBatch,
    FormatError,
    PositionedText,
    RowProblem,
    first_line,
    max_unpacked,
    too_much,
)
from core.messages import Message, compose

KEPT_LEVELS: Final = 25
"""Levels a side of a converted recording."""


class BookBuilder:
    """Two sides of price and size. Books come out at the last change before each grid time, and on it.

    A grid time takes the last book received at or before it, so that changes between two grid times make one book.
    """

    def __init__(self) -> None:
        self.asks: dict[float, float] = {}
        self.bids: dict[float, float] = {}
        self._at: tuple[int, int] | None = None  # time and row of the last change not yet kept
        self._times: list[int] = []
        self._rows: list[int] = []
        self._books: list[FloatArray] = []

    def __len__(self) -> int:
        return len(self._times)

    def clear(self) -> None:
        """Forget the book."""
        self.asks.clear()
        self.bids.clear()
        self._at = None

    def move_to(self, time_ms: int, row: int) -> None:
        """Announce changes at this time; where they lie in a later step of the grid, the book before them is kept."""
        if self._at is not None and -(-self._at[0] // STEP_MS) != -(-time_ms // STEP_MS):
            self.keep()
        self._at = time_ms, row

    def change(self, side: dict[float, float], levels: Iterable[tuple[float, float]]) -> None:
        """Set sizes of one side; size 0 removes a level."""
        for price, size in levels:
            if size > 0:
                side[price] = size
            else:
                side.pop(price, None)

    def keep(self) -> None:
        """Keep the book as it is."""
        if self._at is None:
            return
        book = np.full((KEPT_LEVELS, 4), np.nan)
        asks = heapq.nsmallest(KEPT_LEVELS, self.asks.items())
        bids = heapq.nlargest(KEPT_LEVELS, self.bids.items())
        book[: len(asks), :2] = np.array(asks).reshape(-1, 2)
        book[: len(bids), 2:] = np.array(bids).reshape(-1, 2)
        self._times.append(self._at[0])
        self._rows.append(self._at[1])
        self._books.append(book.reshape(-1))
        self._at = None

    def take(self) -> tuple[NDArray[np.int64], FloatArray, NDArray[np.int64]]:
        """Times (n,), values (n, 4 * levels) and rows (n,) kept since the last call."""
        times, rows = np.array(self._times, dtype=np.int64), np.array(self._rows, dtype=np.int64)
        values = np.array(self._books, dtype=np.float64).reshape(len(times), 4 * KEPT_LEVELS)
        self._times, self._rows, self._books = [], [], []
        return times, values, rows


LINE = re.compile(r"(\d{16,20}) (\{.*\})\s*")


class BinanceWireFormat:
    """Depth, trades and snapshots of one market, a line each of the time of receipt in nanoseconds and the JSON, packed or not.

    Changes of depth continue a snapshot (`lastUpdateId`) by their numbers: U and u on spot, pu on futures
    (developers.binance.com, "How to manage a local order book correctly"). A number that is missing makes the book unknown until
    the next snapshot. Binance's event time is a book's time.
    """

    key, name = "binance", "Binance wire"
    remark: Message | str = ""

    def recognises(self, files: Mapping[str, Path]) -> bool:
        return len(files) == 1 and bool(re.match(r"\d{16,20} \{\"", first_line(next(iter(files.values())))))

    def market(self, files: Mapping[str, Path]) -> str:
        market = re.search(r'"s":"([A-Z0-9_]+)"', first_line(next(iter(files.values()))))
        return market[1] if market else ""

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
        parts = LINE.fullmatch(line)
        if not parts:
            if line.strip():
                self._wrong(row, compose("is no message: the time of receipt in nanoseconds and JSON are right"))
            return None
        try:
            message = orjson.loads(parts[2])
            data = message.get("data", message)
            if "lastUpdateId" in data:
                self._snapshot(row, data, int(parts[1]) // 1_000_000)
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


FIELDS: Final = ("ev", "exch_ts", "local_ts", "px", "qty")
DEPTH, TRADE, CLEAR, SNAPSHOT, BEST = 1, 2, 3, 4, 5
LOCAL: Final = 1 << 30
BUY, SELL = 1 << 29, 1 << 28


class HftbacktestFormat:
    """An array "data" of events, each with flags and two times in nanoseconds (hftbacktest's docs, "Data").

    Fields ev, exch_ts, local_ts, px, qty, order_id, ival, fval. The low byte of ev says what happened: 1 depth, 2 trade, 3 clear,
    4 snapshot; its bits 31 and 30 who is to see it (exchange, local), 29 and 28 the side (buy, sell). Local time is a book's
    time. Events that only the exchange saw are passed over.
    """

    key, name = "hftbacktest", "hftbacktest .npz"
    remark: Message | str = ""

    def recognises(self, files: Mapping[str, Path]) -> bool:
        try:
            with zipfile.ZipFile(next(iter(files.values()))) as packed:
                return len(files) == 1 and "data.npy" in packed.namelist()
        except (zipfile.BadZipFile, OSError):
            return False

    def market(self, files: Mapping[str, Path]) -> str:
        return re.sub(r"_?\d{6,8}.*", "", Path(next(iter(files))).stem)

    def batches(self, files: Mapping[str, Path]) -> Iterator[BookBatch]:
        events = self._events(next(iter(files.values())))
        seen = np.flatnonzero((events["ev"] & LOCAL) != 0)
        times = -(-events["local_ts"][seen] // 1_000_000)
        order = np.argsort(times, kind="stable")
        seen, times = seen[order], times[order]
        builder = BookBuilder()
        for start in range(0, len(seen), BATCH):
            problems: list[RowProblem] = []
            trades: list[Trade] = []
            rows = seen[start : start + BATCH]
            flags = events["ev"][rows]
            sides = np.where(flags & BUY, 1, np.where(flags & SELL, -1, 0))
            columns = (rows + 1, times[start : start + BATCH], flags & 0xFF, sides, events["px"][rows], events["qty"][rows])
            for row, when, kind, side, price, size in zip(*(column.tolist() for column in columns), strict=True):
                if (why := _fault(kind, side, price, size)) is not None:
                    problems += [RowProblem(row=row, what=why)] if kind != BEST else []
                elif kind == TRADE:
                    trades.append(Trade(price=price, size=size, side="buy" if side > 0 else "sell", exchange_ms=when))
                else:
                    builder.move_to(when, row)
                    if kind == CLEAR:
                        _clear(builder, side, price)
                    else:
                        builder.change(builder.bids if side > 0 else builder.asks, [(price, size)])
            if start + BATCH >= len(seen):
                builder.keep()
            stamps, values, numbers = builder.take()
            done = min(1.0, (start + BATCH) / len(seen))
            yield BookBatch(
                timestamps=stamps, values=values, rows=numbers, problems=problems, trades=trades, fresh=start == 0, done=done
            )

    def _events(self, path: Path) -> NDArray[Any]:
        try:
            with zipfile.ZipFile(path) as packed:
                size = packed.getinfo("data.npy").file_size
            if size > max_unpacked(path):
                raise FormatError(too_much(path))
            with np.load(path, allow_pickle=False) as packed:
                events: NDArray[Any] = packed["data"]
        except FormatError:
            raise
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise FormatError("{file} cannot be read: {reason}", file=path.name, reason=why) from error
        if missing := [name for name in FIELDS if name not in (events.dtype.names or ())]:
            raise FormatError(
                "the events of {file} lack the field {field}: hftbacktest 2 writes it", file=path.name, field=missing[0]
            )
        if not (len(events) and (events["ev"] & LOCAL).any()):
            raise FormatError("{file} has no event that was received: some are needed", file=path.name)
        return events


def _fault(kind: int, side: int, price: float, size: float) -> Message | None:
    """Says what is wrong with an event; None where nothing is."""
    if kind == CLEAR:
        return None
    if kind not in (DEPTH, SNAPSHOT, TRADE):
        return compose("has the event type {kind}: depth, trade, clear and snapshot (1 to 4) are read", kind=kind)
    if not (0 < price < math.inf and 0 <= size < math.inf):
        return compose("has price {price:g} and size {size:g}: a price above 0 and a size are right", price=price, size=size)
    return None if side else compose("has no side: the flag of a buy or a sell is needed")


def _clear(builder: BookBuilder, side: int, price: float) -> None:
    """Remove a side as far as the price; both sides whole, where none is named."""
    if side >= 0:
        for level in [level for level in builder.bids if side == 0 or not price or level >= price]:
            del builder.bids[level]
    if side <= 0:
        for level in [level for level in builder.asks if side == 0 or not price or level <= price]:
            del builder.asks[level]
