"""Checks that a streamed book follows from its snapshot, by venue (from the source of the pinned ccxt, 4.5.90).

`VENUES` says for each how a lost update is noticed. A check of our own counts once it has been seen to work on a connection;
until then, and where there is none, the streamed book is compared with the one the venue gives on request.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final, Literal

from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, FloatArray

MAX_DIGITS: Final = 2**53
ENOUGH: Final = 3
"""Consecutive numbers after which a missing one counts as a lost message."""
NUMBER_MESSAGES: Final = 65_536
"""Bitfinex's flag by which it numbers what it sends."""


class StreamCheck:
    """Checks every message of a connection; this one notices nothing.

    Attributes:
        reliable: whether the check has been seen to work on this connection; until then it reports nothing.
    """

    reliable = False

    def __init__(self, exchange: Any = None, symbol: str = "") -> None:
        self._exchange, self._symbol = exchange, symbol

    def in_step(self, message: Any) -> bool:
        """Tells whether the book still follows from its snapshot, now that ccxt has processed this message."""
        return True

    def outgoing(self, message: Any) -> Any:
        """A message to the venue, as it is to be sent."""
        return message


class NothingToCheck(StreamCheck):
    """For streams that ccxt checks itself, or whose messages are whole books."""

    reliable = True


Numbered = Callable[[Any], tuple[int | None, int] | None]
"""From a message the number before its own, None where it begins a book, and its own; None for other messages."""


class Numbers(StreamCheck):
    """Numbers of messages, each of which names the one before it, or is one more than it; `read` finds them."""

    def __init__(self, read: Numbered, exchange: Any = None, symbol: str = "") -> None:
        super().__init__(exchange, symbol)
        self.read = read
        self._last: int | None = None
        self._consecutive = 0
        self._skipped = False  # whether a number was missing since the last snapshot

    def in_step(self, message: Any) -> bool:
        if (numbers := self.read(message)) is None:
            return True
        (before, number), last = numbers, self._last
        self._last = number
        if number == last:  # it came twice, with nothing in between
            return True
        if before is None or last is None:
            self._skipped = False
            return True
        if before != last:
            self._skipped = True
            self._consecutive = self._consecutive if self.reliable else 0
            return not self.reliable
        self._consecutive += 1
        self.reliable = self._consecutive >= ENOUGH
        return not (self._skipped and self.reliable)  # the numbers do count, so that the one skipped before was a message


def bybit_numbers(message: Any) -> tuple[int | None, int] | None:
    """Bybit's `u` rises by one; 1 comes with a fresh snapshot."""
    if not isinstance(message, dict) or not str(message.get("topic", "")).startswith("orderbook."):
        return None
    number = int(message["data"]["u"])
    return (None if message.get("type") == "snapshot" or number == 1 else number - 1), number


def deribit_numbers(message: Any) -> tuple[int | None, int] | None:
    """Deribit's changes name the one before."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict) or not str(params.get("channel", "")).startswith("book."):
        return None
    return params["data"].get("prev_change_id"), int(params["data"]["change_id"])


def gate_numbers(message: Any) -> tuple[int | None, int] | None:
    """Gate's `spot.obu`, whose `U` and `u` ccxt does not compare, as it does those of the older `order_book_update`."""
    if not isinstance(message, dict) or message.get("channel") != "spot.obu" or message.get("event") != "update":
        return None
    data = message["result"]
    return (None if data.get("full") else int(data["U"]) - 1), int(data["u"])


def htx_numbers(message: Any) -> tuple[int | None, int] | None:
    """HTX' versions of a contract's book: where one is missing, ccxt leaves the book as it is from then on."""
    tick = message.get("tick") if isinstance(message, dict) else None
    if not isinstance(tick, dict) or "event" not in tick:
        return None
    return (None if tick["event"] == "snapshot" else int(tick["version"]) - 1), int(tick["version"])


def kraken_futures_numbers(message: Any) -> tuple[int | None, int] | None:
    """Kraken Futures' `seq` rises by one."""
    if not isinstance(message, dict) or message.get("feed") not in ("book", "book_snapshot") or "seq" not in message:
        return None
    return (None if message["feed"] == "book_snapshot" else message["seq"] - 1), message["seq"]


def bitfinex_numbers(message: Any) -> tuple[int | None, int] | None:
    """Bitfinex' number is the last element. A checksum without one looks much the same."""
    if not isinstance(message, list) or len(message) != (3 if isinstance(message[1], list) or message[1] == "hb" else 4):
        return None
    return message[-1] - 1, message[-1]


def okx_numbers(message: Any) -> tuple[int | None, int] | None:
    """OKX's changes name the one before, -1 in a snapshot; ccxt compares them where they are there."""
    arg = message.get("arg") if isinstance(message, dict) else None
    data = message.get("data") if isinstance(arg, dict) and str(arg.get("channel", "")).startswith("books") else None
    if not data or "prevSeqId" not in data[0]:
        return None
    before = int(data[0]["prevSeqId"])
    return (None if before < 0 else before), int(data[0]["seqId"])


class BitfinexNumbers(Numbers):
    """Bitfinex numbers all messages of a connection if asked to.

    Its checksum, which ccxt checks, comes in a message of its own after the update: rows in between would count already.
    """

    def outgoing(self, message: Any) -> Any:
        if isinstance(message, dict) and message.get("event") == "conf":
            return {**message, "flags": message["flags"] | NUMBER_MESSAGES}
        return message


class KrakenChecksum(StreamCheck):
    """Kraken's CRC32 of the ten best levels a side, in every message.

    ccxt has this check, off by default. Switched on it raises an AttributeError, since it takes the book's numbers for text.
    """

    def in_step(self, message: Any) -> bool:
        """The checksum of a snapshot shows whether numbers are written as the venue writes them."""
        if not isinstance(message, dict) or message.get("channel") != "book":
            return True
        for data in message["data"]:
            if data["symbol"] == self._symbol and "checksum" in data:
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


class Way(StrEnum):
    """Ways to notice a lost update."""

    NUMBERS = "numbers"
    CHECKSUM = "checksum"
    WHOLE = "whole"
    """Each message is a whole book."""
    COMPARED = "compared"
    """With the book on request."""
    ASKED = "asked"
    """There is no stream."""
    UNCHECKED = "unchecked"
    """Neither numbers nor sums, nor a book on request: nothing confirms a row (D27)."""


@dataclass(frozen=True)
class VenueCheck:
    """The check of a venue's stream.

    Attributes:
        tried: with what: messages that the venue really sent, or a market made up in its protocol.
        spot, contract: the checks of a connection.
    """

    way: Way
    tried: Literal["captured", "made", ""] = ""
    spot: Callable[..., StreamCheck] = NothingToCheck
    contract: Callable[..., StreamCheck] | None = None  # as spot


VENUES: Final[Mapping[str, VenueCheck]] = {
    "binance": VenueCheck(Way.NUMBERS, "captured"),
    "binancecoinm": VenueCheck(Way.NUMBERS),
    "binanceus": VenueCheck(Way.NUMBERS, "captured"),
    "binanceusdm": VenueCheck(Way.NUMBERS, "captured"),
    "bitfinex": VenueCheck(Way.NUMBERS, "captured", partial(BitfinexNumbers, bitfinex_numbers)),
    "bitstamp": VenueCheck(Way.COMPARED, "captured", StreamCheck),
    "bybit": VenueCheck(Way.NUMBERS, "made", partial(Numbers, bybit_numbers)),
    "bybiteu": VenueCheck(Way.NUMBERS, "", partial(Numbers, bybit_numbers)),
    "bybitid": VenueCheck(Way.NUMBERS, "", partial(Numbers, bybit_numbers)),
    "coinbaseexchange": VenueCheck(Way.COMPARED, "captured", StreamCheck),
    "cryptocom": VenueCheck(Way.NUMBERS),
    "derive": VenueCheck(Way.UNCHECKED, "", StreamCheck),
    "deribit": VenueCheck(Way.NUMBERS, "captured", partial(Numbers, deribit_numbers)),
    "gate": VenueCheck(Way.NUMBERS, "", partial(Numbers, gate_numbers), NothingToCheck),
    "gateeu": VenueCheck(Way.NUMBERS, "captured"),
    "gemini": VenueCheck(Way.COMPARED, "captured", StreamCheck),
    "htx": VenueCheck(Way.NUMBERS, "", NothingToCheck, partial(Numbers, htx_numbers)),
    "hyperliquid": VenueCheck(Way.WHOLE),
    "kraken": VenueCheck(Way.CHECKSUM, "made", KrakenChecksum),
    "krakenfutures": VenueCheck(Way.NUMBERS, "captured", partial(Numbers, kraken_futures_numbers)),
    "kucoin": VenueCheck(Way.WHOLE, "captured"),
    "kucoinfutures": VenueCheck(Way.WHOLE),
    "myokx": VenueCheck(Way.NUMBERS, "", partial(Numbers, okx_numbers)),
    "okx": VenueCheck(Way.NUMBERS, "captured", partial(Numbers, okx_numbers)),
    "okxus": VenueCheck(Way.NUMBERS, "", partial(Numbers, okx_numbers)),
    "upbit": VenueCheck(Way.WHOLE),
}


def venue_check(exchange: str, *, streams: bool = True) -> VenueCheck:
    """The check of a venue by ccxt's id: the comparison where it is not listed, none where it does not stream books."""
    return VENUES.get(exchange) or VenueCheck(Way.COMPARED if streams else Way.ASKED, "", StreamCheck)


def check_for(exchange: Any, symbol: str) -> StreamCheck:
    """The check of a connection of an exchange object."""
    check = venue_check(exchange.id)
    contract = symbol in (exchange.markets or {}) and not exchange.markets[symbol].get("spot")
    return (check.contract or check.spot if contract else check.spot)(exchange, symbol)


def differing_levels(asked: FloatArray, streamed: Sequence[FloatArray]) -> set[tuple[str, float]]:
    """Levels that were the same in all streamed books about the time of an asked one, but not in it.

    Args:
        asked: (4n,) the book that the venue gave on request.
        streamed: (4n,) each, the books that held while it was asked, one at least.

    Returns:
        Side and price of each. Levels past the deepest of any of the books are left out.
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
