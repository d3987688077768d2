"""hftbacktest's `.npz`: an array "data" of events, each with flags and two times in nanoseconds (its docs, "Data").

Fields ev, exch_ts, local_ts, px, qty, order_id, ival, fval. The low byte of ev says what happened: 1 depth, 2 trade, 3 clear, 4
snapshot; its bits 31 and 30 who is to see it (exchange, local), 29 and 28 the side (buy, sell).
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.market.feeds.protocol import Trade
from core.market.formats.book_builder import BookBuilder
from core.market.formats.protocol import BATCH, BookBatch, FormatError, RowProblem, max_unpacked, too_much
from core.messages import Message, compose

FIELDS: Final = ("ev", "exch_ts", "local_ts", "px", "qty")
DEPTH, TRADE, CLEAR, SNAPSHOT, BEST = 1, 2, 3, 4, 5
LOCAL: Final = 1 << 30
BUY, SELL = 1 << 29, 1 << 28


class HftbacktestFormat:
    """Events of one market by price; local time is a book's time. Events that only the exchange saw are passed over."""

    key, name = "hftbacktest", "hftbacktest .npz"
    remark: Message | str = ""

    def recognises(self, files: Mapping[str, Path]) -> bool:
        if len(files) != 1:
            return False
        path = next(iter(files.values()))
        try:
            with zipfile.ZipFile(path) as packed:
                return "data.npy" in packed.namelist()
        except (zipfile.BadZipFile, OSError):
            return False

    def market(self, files: Mapping[str, Path]) -> str:
        return re.sub(r"_?\d{6,8}.*", "", Path(next(iter(files))).stem)

    def batches(self, files: Mapping[str, Path]) -> Iterator[BookBatch]:
        events = self._events(next(iter(files.values())))
        kinds, flags = events["ev"] & 0xFF, events["ev"]
        seen = np.flatnonzero((flags & LOCAL) != 0)
        times = -(-events["local_ts"][seen] // 1_000_000)
        order = np.argsort(times, kind="stable")
        seen, times = seen[order], times[order]
        sides = np.where(flags[seen] & BUY, 1, np.where(flags[seen] & SELL, -1, 0))
        builder, fresh = BookBuilder(), True
        for start in range(0, len(seen), BATCH):
            problems: list[RowProblem] = []
            trades: list[Trade] = []
            part = slice(start, start + BATCH)
            rows = zip(
                seen[part].tolist(),
                times[part].tolist(),
                kinds[seen[part]].tolist(),
                sides[part].tolist(),
                events["px"][seen[part]].tolist(),
                events["qty"][seen[part]].tolist(),
                strict=True,
            )
            for row, when, kind, side, price, size in rows:
                if kind not in (DEPTH, SNAPSHOT, TRADE, CLEAR):
                    if kind != BEST:
                        what = compose("has the event type {kind}: depth, trade, clear and snapshot (1 to 4) are read", kind=kind)
                        problems.append(RowProblem(row=row + 1, what=what))
                    continue
                if kind != CLEAR and not (np.isfinite(price) and price > 0 and np.isfinite(size) and size >= 0):
                    what = compose(
                        "has price {price:g} and size {size:g}: a price above 0 and a size are right", price=price, size=size
                    )
                    problems.append(RowProblem(row=row + 1, what=what))
                    continue
                if kind != CLEAR and not side:
                    problems.append(RowProblem(row=row + 1, what=compose("has no side: the flag of a buy or a sell is needed")))
                    continue
                if kind == TRADE:
                    trades.append(Trade(price=price, size=size, side="buy" if side > 0 else "sell", exchange_ms=when))
                    continue
                builder.move_to(when, row + 1)
                book = builder.bids if side > 0 else builder.asks
                if kind == CLEAR:
                    _clear(builder, side, price)
                else:
                    builder.change(book, [(price, size)])
            if start + BATCH >= len(seen):
                builder.keep()
            stamps, values, numbers = builder.take()
            yield BookBatch(
                timestamps=stamps,
                values=values,
                rows=numbers,
                problems=problems,
                trades=trades,
                fresh=fresh,
                done=min(1.0, (start + BATCH) / len(seen)),
            )
            fresh = False

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
            raise FormatError(compose("{file} cannot be read: {reason}", file=path.name, reason=why)) from error
        if missing := [name for name in FIELDS if name not in (events.dtype.names or ())]:
            raise FormatError(
                compose("the events of {file} lack the field {field}: hftbacktest 2 writes it", file=path.name, field=missing[0])
            )
        if not (len(events) and (events["ev"] & LOCAL).any()):
            raise FormatError(compose("{file} has no event that was received: some are needed", file=path.name))
        return events


def _clear(builder: BookBuilder, side: int, price: float) -> None:
    """Remove a side as far as the price; both sides whole, where none is named."""
    if side >= 0:
        for level in [level for level in builder.bids if side == 0 or not price or level >= price]:
            del builder.bids[level]
    if side <= 0:
        for level in [level for level in builder.asks if side == 0 or not price or level <= price]:
            del builder.asks[level]
