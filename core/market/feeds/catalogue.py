"""What there is to choose from: exchanges with an order book, and the markets of one of them.

The exchanges are known without a network. The markets are asked for; where nobody answers there is a short list of common ones.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import Literal

from core.market.feeds.failures import classify_failure
from core.market.feeds.venues import Configure, ccxt_modules, close_exchange, make_exchange
from core.messages import compose

Kind = Literal["spot", "swap", "future"]
KINDS: tuple[Kind, ...] = ("spot", "swap", "future")
"""Swaps are perpetual futures."""


@dataclass(frozen=True, kw_only=True)
class ExchangeEntry:
    """An exchange: ccxt's id, its name, and whether books and trades come by socket."""

    id: str
    name: str
    socket: bool
    trades: bool


@dataclass(frozen=True, kw_only=True)
class ListedMarket:
    """A market: ccxt's unified symbol and its kind."""

    symbol: str
    kind: Kind


class CatalogueUnavailable(Exception):
    """The list of markets could not be had; the message is for a person, and `common_markets` is there in its place."""


@cache
def exchanges() -> tuple[ExchangeEntry, ...]:
    """Every exchange of ccxt that gives order books, by name. The first call takes about a second: ccxt is imported."""
    _, plain = ccxt_modules()
    entries = []
    for name in plain.exchanges:
        one = make_exchange(name)
        if one.has.get("fetchOrderBook") or one.has.get("watchOrderBook"):
            socket, trades = bool(one.has.get("watchOrderBook")), bool(one.has.get("watchTrades"))
            entries.append(ExchangeEntry(id=name, name=str(one.name), socket=socket, trades=trades))
    return tuple(sorted(entries, key=lambda entry: entry.name.lower()))


async def markets(exchange: str, *, configure: Configure | None = None) -> list[ListedMarket]:
    """The spot, perpetual and dated markets an exchange trades now, spot first, by symbol. Run it in the background loop.

    Raises:
        CatalogueUnavailable: with no network, or where the exchange does not answer.
        FeedFailed: for an exchange that does not exist.
    """
    one = await asyncio.to_thread(make_exchange, exchange, None, configure)
    try:
        found = await one.load_markets()
    except Exception as error:
        reason = classify_failure(error, str(one.name), compose("its markets")).reason
        raise CatalogueUnavailable(
            compose("The markets of {name} could not be listed: {reason}.", name=one.name, reason=reason)
        ) from error
    finally:
        await close_exchange(one)
    entries = [
        ListedMarket(symbol=market["symbol"], kind=market["type"])
        for market in found.values()
        if market["type"] in KINDS and market.get("active") is not False
    ]
    return sorted(entries, key=lambda entry: (KINDS.index(entry.kind), entry.symbol))


def common_markets(exchange: str) -> list[ListedMarket]:
    """Markets the exchange is known to have had, for when it cannot be asked; empty for one without a list."""
    return [ListedMarket(symbol=symbol, kind="swap" if ":" in symbol else "spot") for symbol in COMMON.get(exchange, ())]


def _of(bases: str, *quotes: str) -> tuple[str, ...]:
    return tuple(f"{base}/{quote}" for quote in quotes for base in bases.split())


COMMON: dict[str, tuple[str, ...]] = {
    "binance": (
        *_of("BTC ETH BNB SOL XRP DOGE ADA NEXO", "USDT"),
        "ETH/BTC",
        *_of("BTC ETH SOL XRP", "USDT:USDT"),
        "BTC/USD:BTC",
        "ETH/USD:ETH",
    ),
    "binanceus": _of("BTC ETH SOL", "USDT"),
    "bitfinex": (*_of("BTC ETH SOL XRP", "USD"), "ETH/BTC"),
    "bitget": (*_of("BTC ETH SOL XRP DOGE", "USDT"), *_of("BTC ETH SOL", "USDT:USDT")),
    "bitstamp": (*_of("BTC ETH XRP", "USD"), *_of("BTC ETH", "EUR")),
    "bybit": (*_of("BTC ETH SOL XRP DOGE", "USDT"), *_of("BTC ETH SOL", "USDT:USDT"), "BTC/USD:BTC"),
    "coinbase": (*_of("BTC ETH SOL XRP DOGE", "USD"), "ETH/BTC", "BTC/EUR"),
    "cryptocom": (*_of("BTC ETH SOL", "USD"), *_of("BTC ETH", "USDT")),
    "deribit": ("BTC/USD:BTC", "ETH/USD:ETH"),
    "gate": (*_of("BTC ETH SOL XRP", "USDT"), *_of("BTC ETH SOL", "USDT:USDT")),
    "gemini": _of("BTC ETH SOL", "USD"),
    "htx": (*_of("BTC ETH SOL XRP", "USDT"), *_of("BTC ETH", "USDT:USDT")),
    "hyperliquid": _of("BTC ETH SOL", "USDC:USDC"),
    "kraken": (*_of("BTC ETH SOL XRP DOGE", "USD"), *_of("BTC ETH SOL", "EUR"), "ETH/BTC"),
    "krakenfutures": _of("BTC ETH SOL", "USD:USD"),
    "kucoin": (*_of("BTC ETH SOL XRP", "USDT"), "ETH/BTC", *_of("BTC ETH", "USDT:USDT")),
    "mexc": (*_of("BTC ETH SOL XRP", "USDT"), *_of("BTC ETH", "USDT:USDT")),
    "okx": (*_of("BTC ETH SOL XRP DOGE", "USDT"), *_of("BTC ETH SOL", "USDT:USDT"), "BTC/USD:BTC"),
    "upbit": _of("BTC ETH XRP", "KRW"),
}
"""A start, not a promise: a market that is gone is reported by name when it is opened."""
