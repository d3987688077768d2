"""Books of ccxt's as this program's own, and how deep such a book is known."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.market.book import ASK_PRICES, BID_PRICES, BookError, FloatArray, OrderBookSnapshot, all_levels, level
from core.market.feeds.clock import CLOCK


def snapshot_of(book: Mapping[str, Any], *, confirms: bool = True) -> OrderBookSnapshot:
    """The first levels of a ccxt order book, copied, because ccxt keeps writing to the object it returned.

    Raises:
        BookError: for a book that is short, crossed or unsorted, or has a price or size that no market has.
    """
    received_ns = CLOCK.now_ns()
    try:
        levels, deep = all_levels(book["asks"], book["bids"])
    except BookError:
        raise
    except (TypeError, ValueError, LookupError) as error:
        raise BookError("the book has a level that is not a price and a size") from error
    nonce = book.get("nonce")
    return OrderBookSnapshot(
        levels=levels,
        exchange_ms=int(book.get("timestamp") or received_ns // 1_000_000),
        received_ns=received_ns,
        sequence=int(nonce) if isinstance(nonce, int | float) else None,
        confirms=confirms,
        deep=deep,
    )


class KnownDepth:
    """Range of prices in which a book built from a snapshot and later changes is known.

    A snapshot of the best n levels leaves out the deeper ones, which are not sent until someone changes them. Once the market has
    moved so far that the tenth level lies among those, a level may be missing, and only a fresh snapshot helps. Without a
    snapshot every level counts as known: the venue itself keeps the best levels up to date.
    """

    def __init__(self) -> None:
        self._ask, self._bid = math.inf, -math.inf

    def learn(self, snapshot: Mapping[str, Any], asked: int | None) -> None:
        """Take in a snapshot of at most `asked` levels a side. A side whose length is no round number was not cut off."""
        asks, bids = snapshot["asks"], snapshot["bids"]
        self._ask = asks[-1][0] if _cut_off(asks, asked) else math.inf
        self._bid = bids[-1][0] if _cut_off(bids, asked) else -math.inf

    def narrow(self, book: Mapping[str, Any], depth: int | None) -> None:
        """Account for the client dropping levels past `depth` on a full side."""
        if depth is None or (math.isinf(self._ask) and math.isinf(self._bid)):
            return
        if len(book["asks"]) >= depth:
            self._ask = min(self._ask, book["asks"][-1][0])
        if len(book["bids"]) >= depth:
            self._bid = max(self._bid, book["bids"][-1][0])

    def covers(self, levels: FloatArray) -> bool:
        """Tells whether all of these levels (4n,) are known: the last one a side is."""
        (ask, _), (bid, _) = level(levels, "ask", -1), level(levels, "bid", -1)
        return bool(ask <= self._ask and bid >= self._bid)

    def without_unknown(self, snapshot: OrderBookSnapshot) -> OrderBookSnapshot:
        """The snapshot without levels past the tenth that are deeper than the book is known."""
        if not len(snapshot.deep) or self.covers(snapshot.deep):
            return snapshot  # the deepest of all is known
        known = (snapshot.deep[ASK_PRICES] <= self._ask) & (snapshot.deep[BID_PRICES] >= self._bid)
        return snapshot if known.all() else replace(snapshot, deep=snapshot.deep[: 4 * int(known.argmin())])


def _cut_off(side: Sequence[Any], asked: int | None) -> bool:
    return bool(side) and (len(side) == asked or len(side) % 10 == 0)


def levels_of(book: Any) -> FloatArray | None:
    """(40,) levels of a book of ccxt's; None where no row can be made of it."""
    try:
        return snapshot_of(book).levels
    except BookError:
        return None


def same_levels(book: Any, known: OrderBookSnapshot) -> bool:
    """Tells whether a book of ccxt's has the levels of a known one; a book that cannot be used has not."""
    return (levels := levels_of(book)) is not None and np.array_equal(levels, known.levels)
