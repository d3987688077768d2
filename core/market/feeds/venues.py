"""Creates ccxt's exchange objects, and the depth to request of each venue (from the source of the pinned ccxt, 4.5.90).

A stream of changes to a snapshot says nothing of prices that the snapshot left out, and ccxt drops levels past the requested
depth. Where the client keeps the book (Binance), the depth must be large: replayed from recorded messages, within six minutes of
BTC/USDT a book of 100 levels a side has a wrong level among its first ten in one of five books, one of 1,000 levels in two of
3,449 (`ccxt_books.KnownDepth` catches the rest). Where the venue keeps the best n levels up to date, little more than ten is
enough.
"""

import asyncio
import math
import ssl
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from core.market.feeds.bounded_answers import bound, bound_messages
from core.market.feeds.protocol import FeedFailed
from core.messages import compose

BINANCE = frozenset({"binance", "binanceus", "binanceusdm", "binancecoinm"})
CLOSE_S = 1.0
SOCKET_LEVELS = {"bitfinex": 100, "bybit": 200, "bybiteu": 200, "kraken": 100, "kucoin": 50, "kucoinfutures": 50, "whitebit": 100}
"""Valid depths: Bitfinex 25, 100; Kraken 10, 25, 100, 500, 1000; Bybit 1, 50, 200, 1000; KuCoin 5, 50 (the whole book each
time), 20, 100 (changes to a snapshot); WhiteBIT up to 100. A thousand are kept (`core.market.book.MAX_LEVELS`). KuCoin's fifty
come whole, so that no change can be missed. Other venues get ccxt's default (OKX 400 levels, Coinbase the whole book)."""
SNAPSHOT_DELAYS = {"gateeu": 0, "bitstamp": 4}
"""Messages that pass before ccxt asks for a snapshot, where its own choice (ten, six) is needlessly long for a slow market. Gate
numbers its snapshots as it does its messages; Bitstamp's were 0.8 s old."""
POLL_LEVELS = {**dict.fromkeys(BINANCE, 100), "kucoin": 100, "kucoinfutures": 100, "bybit": 100, "bybiteu": 100}
"""The `limit` of `fetch_order_book`; of others the venue's own default."""


@cache
def ccxt_modules() -> tuple[Any, Any]:
    """`ccxt.pro` and `ccxt.async_support`, imported on first use, which takes about a second and 100 MB."""
    import ccxt.async_support
    import ccxt.pro

    bound_messages()
    return ccxt.pro, ccxt.async_support


def make_exchange(exchange: str, symbol: str | None = None) -> Any:
    """A ccxt exchange object, with sockets where ccxt has them. It binds itself to a loop when first used.

    Raises:
        FeedFailed: where ccxt knows no such exchange.
    """
    pro, plain = ccxt_modules()
    if exchange not in plain.exchanges:
        near = nearest(exchange, plain.exchanges)
        if near:
            raise FeedFailed("there is no exchange {name!r} in ccxt: the nearest are {near}", name=exchange, near=near)
        raise FeedFailed("there is no exchange {name!r} in ccxt", name=exchange)
    made = getattr(pro if exchange in pro.exchanges else plain, exchange)()
    made.ssl_context = _trusted(made.cafile)
    if exchange == "binance" and symbol is not None:  # three lists of thousands of markets, of which one is wanted
        base_settled = symbol.partition("/")[0] == symbol.partition(":")[2].partition("-")[0]
        made.options["fetchMarkets"] = {"types": ["spot" if ":" not in symbol else "inverse" if base_settled else "linear"]}
    if exchange in SNAPSHOT_DELAYS:
        made.options["watchOrderBook"] = {**made.options.get("watchOrderBook", {}), "snapshotDelay": SNAPSHOT_DELAYS[exchange]}
    if exchange == "htx":
        _begin_with_snapshot(made)
    bound(made)
    return made


@cache
def _trusted(cafile: str) -> ssl.SSLContext:
    """Returns what encrypted connections are checked by; ccxt would read the file anew for each of its objects."""
    return ssl.create_default_context(cafile=cafile)


def _begin_with_snapshot(htx: Any) -> None:
    """Have ccxt take HTX' snapshot of a spot market before which nothing came.

    ccxt waits for an update that it could follow, asks for another snapshot meanwhile, and gives up after three: in a slow market
    each time. The snapshot is asked for once updates are subscribed to, so that the next one follows it, or ccxt says otherwise.
    """
    take = htx.handle_order_book_snapshot

    def begin(client: Any, message: Any, subscription: Any) -> None:
        book, number = htx.orderbooks.get(subscription.get("symbol")), (message.get("data") or {}).get("seqNum")
        if book is not None and not book.cache and number is not None:
            tick = {"seqNum": number, "prevSeqNum": number, "asks": [], "bids": []}  # an update that changes nothing
            book.cache.append({"ch": subscription.get("messageHash"), "ts": message.get("ts"), "tick": tick})
        take(client, message, subscription)

    htx.handle_order_book_snapshot = begin


def socket_levels(exchange: str, market: dict[str, Any]) -> int | None:
    """The `limit` of `watch_order_book`; None for the venue's own default."""
    if exchange in BINANCE:
        return 5000 if market.get("spot") else 1000
    if exchange in ("bybit", "bybiteu") and market.get("option"):
        return 100
    return SOCKET_LEVELS.get(exchange)


def venue_tick(exchange: Any, symbol: str) -> float:
    """A market's smallest step of price by the venue's own list; 0 where it names none (ccxt's precision, of three kinds)."""
    import ccxt

    precision = (exchange.markets[symbol].get("precision") or {}).get("price")
    if not isinstance(precision, int | float) or not 0 < precision < math.inf:
        return 0.0
    if exchange.precisionMode == ccxt.TICK_SIZE:
        return float(precision)
    return 10.0**-precision if exchange.precisionMode == ccxt.DECIMAL_PLACES else 0.0


def size_unit(market: Mapping[str, Any]) -> str:
    """The unit of a market's sizes by its entry in the venue's list: ccxt counts contracts wherever a market has them."""
    if not market.get("contract"):
        return str(market.get("base") or "")
    size, currency = market.get("contractSize"), market.get("base") if market.get("linear") else market.get("quote")
    if not isinstance(size, int | float) or not 0 < size < math.inf or not currency:
        return compose("contracts")
    return (
        str(currency)
        if size == 1 and market.get("linear")
        else compose("contracts of {size:g} {currency}", size=size, currency=currency)
    )


def unit_of_symbol(symbol: str) -> str:
    """The unit of sizes as far as ccxt's unified symbol says it: the base of BTC/USDT, contracts of BTC/USDT:USDT."""
    base, slash, quote = symbol.partition("/")
    return "" if not slash else compose("contracts") if ":" in quote else base


async def close_exchange(exchange: Any) -> None:
    """Close an exchange object's sockets and session; it keeps its list of markets.

    A peer that no longer answers a closing handshake is cut off after `CLOSE_S` seconds.
    """
    try:
        async with asyncio.timeout(CLOSE_S):
            await exchange.close()
    except TimeoutError:
        exchange.clients.clear()  # so that the second call closes the session at once, and its sockets with it
        await exchange.close()


def nearest(name: str, names: list[str]) -> str:
    """The names closest in spelling, as "a, b and c"; empty where none is close."""
    folded = {known.upper(): known for known in names}
    close = [folded[match] for match in get_close_matches(name.upper(), list(folded), n=3, cutoff=0.5)]
    return " and ".join(part for part in (", ".join(close[:-1]), *close[-1:]) if part)
