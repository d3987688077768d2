"""The catalogue of exchanges with an order book, and of the markets of each.

The exchanges are known without a network. The markets are requested; for exchanges that do not answer there is a short list.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from core.market.feeds.failures import classify_failure
from core.market.feeds.venues import Configure, ccxt_modules, close_exchange, make_exchange
from core.messages import Refusal, compose
from core.once import once

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


class CatalogueUnavailable(Refusal):
    """The list of markets could not be loaded; the message is for a person. `common_markets` gives a substitute."""


@once
def exchanges() -> tuple[ExchangeEntry, ...]:
    """Every exchange of ccxt with order books, sorted by name. The first call imports ccxt, which takes about a second.

    Callers that come meanwhile wait for it: each would make a hundred clients too, over which they hold one another up.
    """
    _, plain = ccxt_modules()
    entries = []
    for name in plain.exchanges:
        exchange = make_exchange(name)
        socket, trades = bool(exchange.has.get("watchOrderBook")), bool(exchange.has.get("watchTrades"))
        if socket or exchange.has.get("fetchOrderBook"):
            entries.append(ExchangeEntry(id=name, name=str(exchange.name), socket=socket, trades=trades))
    return tuple(sorted(entries, key=lambda entry: entry.name.lower()))


async def markets(exchange: str, *, configure: Configure | None = None) -> list[ListedMarket]:
    """The spot, perpetual and dated markets that an exchange trades, spot first, by symbol. Run it in the background loop.

    Raises:
        CatalogueUnavailable: with no network, or where the exchange does not answer.
        FeedFailed: for an exchange that does not exist.
    """
    client = await asyncio.to_thread(make_exchange, exchange, None, configure)
    try:
        listed = await client.load_markets()
    except Exception as error:
        reason = classify_failure(error, str(client.name), compose("its markets")).reason
        raise CatalogueUnavailable(
            "The markets of {name} could not be listed: {reason}.", name=client.name, reason=reason
        ) from error
    finally:
        await close_exchange(client)
    entries = [
        ListedMarket(symbol=market["symbol"], kind=market["type"])
        for market in listed.values()
        if market["type"] in KINDS and market.get("active") is not False
    ]
    return sorted(entries, key=lambda entry: (KINDS.index(entry.kind), entry.symbol))


def common_markets(exchange: str) -> list[ListedMarket]:
    """Well-known markets of an exchange, for when it does not answer; empty where there is no list of it."""
    return [ListedMarket(symbol=symbol, kind="swap" if ":" in symbol else "spot") for symbol in COMMON.get(exchange, ())]


def _pairs(bases: str, *quotes: str) -> tuple[str, ...]:
    return tuple(f"{base}/{quote}" for quote in quotes for base in bases.split())


COMMON: dict[str, tuple[str, ...]] = {
    "binance": (
        *_pairs("BTC ETH BNB SOL XRP DOGE ADA NEXO", "USDT"),
        "ETH/BTC",
        *_pairs("BTC ETH SOL XRP", "USDT:USDT"),
        "BTC/USD:BTC",
        "ETH/USD:ETH",
    ),
    "binanceus": _pairs("BTC ETH SOL", "USDT"),
    "bitfinex": (*_pairs("BTC ETH SOL XRP", "USD"), "ETH/BTC"),
    "bitget": (*_pairs("BTC ETH SOL XRP DOGE", "USDT"), *_pairs("BTC ETH SOL", "USDT:USDT")),
    "bitstamp": (*_pairs("BTC ETH XRP", "USD"), *_pairs("BTC ETH", "EUR")),
    "bybit": (*_pairs("BTC ETH SOL XRP DOGE", "USDT"), *_pairs("BTC ETH SOL", "USDT:USDT"), "BTC/USD:BTC"),
    "coinbase": (*_pairs("BTC ETH SOL XRP DOGE", "USD"), "ETH/BTC", "BTC/EUR"),
    "cryptocom": (*_pairs("BTC ETH SOL", "USD"), *_pairs("BTC ETH", "USDT")),
    "deribit": ("BTC/USD:BTC", "ETH/USD:ETH"),
    "gate": (*_pairs("BTC ETH SOL XRP", "USDT"), *_pairs("BTC ETH SOL", "USDT:USDT")),
    "gemini": _pairs("BTC ETH SOL", "USD"),
    "htx": (*_pairs("BTC ETH SOL XRP", "USDT"), *_pairs("BTC ETH", "USDT:USDT")),
    "hyperliquid": _pairs("BTC ETH SOL", "USDC:USDC"),
    "kraken": (*_pairs("BTC ETH SOL XRP DOGE", "USD"), *_pairs("BTC ETH SOL", "EUR"), "ETH/BTC"),
    "krakenfutures": _pairs("BTC ETH SOL", "USD:USD"),
    "kucoin": (*_pairs("BTC ETH SOL XRP", "USDT"), "ETH/BTC", *_pairs("BTC ETH", "USDT:USDT")),
    "mexc": (*_pairs("BTC ETH SOL XRP", "USDT"), *_pairs("BTC ETH", "USDT:USDT")),
    "okx": (*_pairs("BTC ETH SOL XRP DOGE", "USDT"), *_pairs("BTC ETH SOL", "USDT:USDT"), "BTC/USD:BTC"),
    "upbit": _pairs("BTC ETH XRP", "KRW"),
}
"""Well-known markets by exchange. Opening one that no longer exists says so."""
