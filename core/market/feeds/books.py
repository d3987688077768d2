"""From what ccxt hands out to the program's own books and trades; and how far a book kept from a snapshot can be trusted."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.market.book import LEVELS, BookError, OrderBookSnapshot, interleave
from core.market.feeds.protocol import Trade

TENTH_ASK, TENTH_BID = 4 * LEVELS - 4, 4 * LEVELS - 2


def snapshot_of(book: Mapping[str, Any]) -> OrderBookSnapshot:
    """A copy of a ccxt order book's first ten levels: ccxt goes on writing to the one it gave.

    Raises:
        BookError: for a book that is short, crossed or unsorted.
    """
    received_ns = time.time_ns()
    try:
        asks, bids = (
            np.array([level[:2] for level in book[side][:LEVELS]], dtype=np.float64).reshape(-1, 2) for side in ("asks", "bids")
        )
    except (TypeError, ValueError) as error:
        raise BookError("the book has a level that is not a price and a size") from error
    nonce = book.get("nonce")
    return OrderBookSnapshot(
        levels=interleave(asks, bids),
        exchange_ms=int(book.get("timestamp") or received_ns // 1_000_000),
        received_ns=received_ns,
        sequence=int(nonce) if isinstance(nonce, int | float) else None,
    )


def trade_of(trade: Mapping[str, Any]) -> Trade | None:
    """A ccxt trade; None where it lacks a price, a size or a time."""
    price, size, when = trade.get("price"), trade.get("amount"), trade.get("timestamp")
    if not price or not size or not when:
        return None
    side = trade.get("side")
    return Trade(price=float(price), size=float(size), side=side if side in ("buy", "sell") else None, exchange_ms=int(when))


class Reach:
    """How far from the touch a book is known that was built from a snapshot and the changes since.

    A snapshot of the best n levels says nothing of those past them, which change no more until someone touches them. Once the
    market has moved so far that the tenth level lies out there, a quiet level may be missing: only a fresh snapshot tells.
    Until a snapshot is learnt, everything is taken as known (the venue keeps the best levels up to date by itself).
    """

    def __init__(self) -> None:
        self._ask, self._bid = math.inf, -math.inf

    def learn(self, snapshot: Mapping[str, Any], asked: int | None) -> None:
        """Take in a snapshot of at most `asked` levels a side. A side that is no round number long was not cut off."""
        asks, bids = snapshot["asks"], snapshot["bids"]
        self._ask = asks[-1][0] if _cut(asks, asked) else math.inf
        self._bid = bids[-1][0] if _cut(bids, asked) else -math.inf

    def narrow(self, book: Mapping[str, Any], depth: int | None) -> None:
        """The client keeps `depth` levels a side: what fell off the end of a full side is forgotten."""
        if depth is None or (math.isinf(self._ask) and math.isinf(self._bid)):
            return
        if len(book["asks"]) >= depth:
            self._ask = min(self._ask, book["asks"][-1][0])
        if len(book["bids"]) >= depth:
            self._bid = max(self._bid, book["bids"][-1][0])

    def covers(self, snapshot: OrderBookSnapshot) -> bool:
        """Whether the ten levels a side are all within what is known."""
        return bool(snapshot.levels[TENTH_ASK] <= self._ask and snapshot.levels[TENTH_BID] >= self._bid)


def _cut(side: Sequence[Any], asked: int | None) -> bool:
    return bool(side) and (len(side) == asked or len(side) % 10 == 0)
