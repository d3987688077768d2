"""Files of trades: those of the book file `folder/name.parquet` are in `folder/trades/name.parquet`, if there are any.

Columns: `timestamp` (int64, ms), `price`, `size` (float64), `side` (int8, the aggressor's: 1 buy, -1 sell, 0 unknown).
They have their own folder, so that every Parquet file in the first one is a book.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.market.book import BookError
from core.market.feeds.protocol import Trade
from core.messages import compose

Side = Literal["buy", "sell"] | None

SCHEMA = pa.schema([("timestamp", pa.int64()), ("price", pa.float64()), ("size", pa.float64()), ("side", pa.int8())])
SIDES: dict[int, Side] = {1: "buy", -1: "sell", 0: None}
CODES: dict[Side, int] = {side: code for code, side in SIDES.items()}


def trades_path(book: Path) -> Path:
    """Path of the trades of a book file."""
    return book.parent / "trades" / f"{book.stem}.parquet"


def trades_table(trades: Iterable[Trade]) -> pa.Table:
    """Trades as a table of `SCHEMA`."""
    rows = [
        {"timestamp": trade.exchange_ms, "price": trade.price, "size": trade.size, "side": CODES[trade.side]} for trade in trades
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def read_trades(book: Path) -> list[Trade]:
    """The trades of a book file in time order; an empty list where it has none.

    Raises:
        BookError: where the file cannot be read, or lacks a column.
    """
    path = trades_path(book)
    if not path.is_file():
        return []
    try:
        table = pq.read_table(path, columns=SCHEMA.names).cast(SCHEMA)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise BookError(
            compose("{file} holds no trades: columns timestamp, price, size and side are needed", file=path.name)
        ) from error
    columns = [table.column(name).to_numpy() for name in SCHEMA.names]
    order = np.argsort(columns[0], kind="stable")
    return [
        Trade(exchange_ms=int(when), price=float(price), size=float(size), side=SIDES.get(int(side)))
        for when, price, size, side in zip(*(column[order] for column in columns), strict=True)
    ]
