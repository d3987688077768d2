"""Files of trades: those of the book file `folder/name.parquet` are in `folder/trades/name.parquet`, if there are any.

Those of an hour of the library, `rows_1.parquet`, are in `trades_1.parquet` beside it.

Columns: `timestamp` (int64, ms), `price`, `size` (float64), `side` (int8, the aggressor's: 1 buy, -1 sell, 0 unknown).
They have their own folder, so that every Parquet file in the first one is a book.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.market.book import BookError
from core.market.events import Side, Trade, TradesBreak
from core.market.store.segments import EVENTS, TRADES, is_segment, segment_path

SCHEMA = pa.schema([("timestamp", pa.int64()), ("price", pa.float64()), ("size", pa.float64()), ("side", pa.int8())])
SIDES: dict[int, Side] = {1: "buy", -1: "sell", 0: None}
BREAK: Final = "trades"
"""Kind of an event of a recording: trades were not followed."""
CODES: dict[Side, int] = {side: code for code, side in SIDES.items()}


def trades_table(trades: Iterable[Trade]) -> pa.Table:
    """Trades as a table of `SCHEMA`."""
    rows = [
        {"timestamp": trade.exchange_ms, "price": trade.price, "size": trade.size, "side": CODES[trade.side]} for trade in trades
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


class TradeColumns:
    """The trades of several book files in time order, 25 bytes each.

    Attributes:
        times: (n,) the exchange's milliseconds.
        breaks: times in which they were not followed.

    Raises:
        BookError: where a file cannot be read, or lacks a column.
    """

    def __init__(self, books: Iterable[Path]) -> None:
        books = list(books)
        self.breaks = [one for book in books for one in _breaks(book)]
        tables = [_read(segment_path(book, TRADES)) for book in books]
        columns = [np.concatenate([table.column(name).to_numpy() for table in tables]) for name in SCHEMA.names]
        order = np.argsort(columns[0], kind="stable")
        self.times, self._prices, self._sizes, self._sides = (column[order] for column in columns)

    def between(self, first: int, last: int) -> list[Trade]:
        """Trades `first` up to but not including `last`."""
        columns = (column[first:last] for column in (self.times, self._prices, self._sizes, self._sides))
        return [
            Trade(exchange_ms=int(when), price=float(price), size=float(size), side=SIDES.get(int(side)))
            for when, price, size, side in zip(*columns, strict=True)
        ]


def _breaks(book: Path) -> list[TradesBreak]:
    path = segment_path(book, EVENTS)
    if not is_segment(book) or not path.is_file():
        return []
    try:
        found = pq.read_table(path, columns=["timestamp", "kind", "until"], partitioning=None).to_pylist()
        kept = [one for one in found if one["kind"] == BREAK and one["until"] is not None]
        return [TradesBreak(from_ms=int(one["timestamp"]), until_ms=int(one["until"])) for one in kept]
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise BookError("{file} holds no events: columns timestamp, kind and until are needed", file=path.name) from error


def _read(path: Path) -> pa.Table:
    if not path.is_file():
        return SCHEMA.empty_table()
    try:
        return pq.read_table(path, columns=SCHEMA.names, partitioning=None).cast(SCHEMA)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise BookError("{file} holds no trades: columns timestamp, price, size and side are needed", file=path.name) from error
