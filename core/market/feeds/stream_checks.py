"""Checks that a streamed book follows from its snapshot, for venues whose numbers or checksums ccxt (4.5.90) does not check.

Where there is none, the streamed book is compared with the one the venue gives on request.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final, Protocol

from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, FloatArray

CHECKED_BY_CCXT: Final = frozenset(
    {"binance", "binanceus", "binanceusdm", "binancecoinm", "bitfinex", "cryptocom", "gate", "gateio", "htx", "huobi"}
    | {"okx", "okxus", "myokx", "kucoin", "kucoinfutures", "upbit", "hyperliquid"}
)
"""ccxt raises an error at a missed update, or each message is a whole book (the last four)."""

MAX_DIGITS: Final = 2**53


class StreamCheck(Protocol):
    """Checks every message of a connection."""

    @property
    def reliable(self) -> bool:
        """Tells whether the check has been seen to work on this connection; until then it reports nothing."""
        ...

    def in_step(self, message: Any) -> bool:
        """Tells whether the book still follows from its snapshot, now that ccxt has processed this message."""
        ...


class KrakenChecksum:
    """Kraken's CRC32 of the ten best levels a side, in every message.

    ccxt has this check, off by default. Switched on it raises an AttributeError, since it takes the book's numbers for text.
    """

    def __init__(self, exchange: Any, symbol: str) -> None:
        self._exchange, self._symbol = exchange, symbol
        self.reliable = False

    def in_step(self, message: Any) -> bool:
        """See `StreamCheck`. The checksum of a snapshot shows whether numbers are written as Kraken writes them."""
        if not isinstance(message, dict) or message.get("channel") != "book":
            return True
        for data in message["data"]:
            if data["symbol"] != self._symbol or "checksum" not in data:
                continue
            checksum = self._checksum()
            if message["type"] == "snapshot" or checksum is None:
                self.reliable = checksum == data["checksum"]
            elif self.reliable and checksum != data["checksum"]:
                return False
        return True

    def _checksum(self) -> int | None:
        """Of the book as ccxt keeps it; None where one of its numbers has more digits than a float holds."""
        book, info = self._exchange.orderbooks[self._symbol], self._exchange.markets[self._symbol]["info"]
        decimals = int(info["pair_decimals"]), int(info["lot_decimals"])
        sides = [level[:2] for side in ("asks", "bids") for level in book[side][:10]]
        numbers = [(value, places) for level in sides for value, places in zip(level, decimals, strict=True)]
        if any(value * 10**places > MAX_DIGITS for value, places in numbers):
            return None
        return zlib.crc32("".join(f"{value:.{places}f}".replace(".", "").lstrip("0") for value, places in numbers).encode())


class BybitSequence:
    """Bybit's update number `u`, which rises by one from message to message; 1 comes with a fresh snapshot."""

    ENOUGH = 3
    """Consecutive numbers after which a missing one counts as a lost message."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._consecutive = 0
        self._skipped = False  # whether a number was missing since the last snapshot

    @property
    def reliable(self) -> bool:
        """See `StreamCheck`."""
        return self._consecutive >= self.ENOUGH

    def in_step(self, message: Any) -> bool:
        """See `StreamCheck`."""
        if not isinstance(message, dict) or not str(message.get("topic", "")).startswith("orderbook."):
            return True
        number, last = int(message["data"]["u"]), self._last
        self._last = number
        if message.get("type") == "snapshot" or number == 1 or last is None:
            self._skipped = False
            return True
        if number != last + 1:
            self._skipped = True
            if self.reliable:
                return False
            self._consecutive = 0
            return True
        self._consecutive += 1
        return not (self._skipped and self.reliable)  # the numbers do count, so that the one skipped before was a message


def check_for(exchange: Any, symbol: str) -> StreamCheck | None:
    """The check of a venue; None where there is none of its own."""
    if exchange.id == "kraken":
        return KrakenChecksum(exchange, symbol)
    return BybitSequence() if exchange.id in ("bybit", "bybiteu", "bybitid") else None


def differing_levels(asked: FloatArray, streamed: Sequence[FloatArray]) -> set[tuple[str, float]]:
    """Levels that were the same in all streamed books about the time of an asked one, but not in it.

    Args:
        asked: (40,) the book that the venue gave on request.
        streamed: (40,) each, the books that held while it was asked, one at least.

    Returns:
        Side and price of each. Levels past the tenth of any of the books are left out.
    """
    differing: set[tuple[str, float]] = set()
    for side, prices, sizes, sign in (("ask", ASK_PRICES, ASK_SIZES, 1), ("bid", BID_PRICES, BID_SIZES, -1)):
        books = [dict(zip(book[prices].tolist(), book[sizes].tolist(), strict=True)) for book in (asked, *streamed)]
        deepest = min(max(sign * price for price in book) for book in books)
        theirs, ours = books[0], books[1:]
        for price in set().union(*books):
            held = {book.get(price) for book in ours}
            if sign * price <= deepest and len(held) == 1 and theirs.get(price) not in held:
                differing.add((side, price))
    return differing
