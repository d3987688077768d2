"""The catalogue of exchanges with an order book, and of the markets of each.

The exchanges are known without a network. The markets are requested.
"""

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import Final

from core.market.feeds.failures import classify_failure
from core.market.feeds.protocol import FeedFailed
from core.market.feeds.venues import ccxt_modules, close_exchange, make_exchange
from core.messages import Refusal, compose
from core.once import once

KINDS: Final = ("spot", "swap", "future")
"""Kinds of markets, in the order of the list; swaps are perpetual futures."""
PATIENCE_S: Final = 15.0
"""Longest time that an exchange may take to list its markets, seconds."""


@dataclass(frozen=True, kw_only=True)
class ExchangeEntry:
    """An exchange: ccxt's id, its name, and whether books come by socket."""

    id: str
    name: str
    socket: bool


class CatalogueUnavailable(Refusal):
    """The list of markets could not be loaded; the message is for a person."""


@cache
def exchange_name(exchange: str) -> str:
    """Name of an exchange as people write it, "Kraken" of "kraken"; what ccxt does not know is named as it is."""
    try:
        return str(make_exchange(exchange).name)
    except FeedFailed:
        return exchange


@once
def exchanges() -> tuple[ExchangeEntry, ...]:
    """Every exchange of ccxt with order books, sorted by name. The first call imports ccxt, which takes about a second.

    Callers that come meanwhile wait for it: each would make a hundred clients too, over which they hold one another up.
    """
    _, plain = ccxt_modules()
    entries = []
    for name in plain.exchanges:
        exchange = make_exchange(name)
        socket = bool(exchange.has.get("watchOrderBook"))
        if socket or exchange.has.get("fetchOrderBook"):
            entries.append(ExchangeEntry(id=name, name=str(exchange.name), socket=socket))
    return tuple(sorted(entries, key=lambda entry: entry.name.lower()))


async def markets(exchange: str) -> list[str]:
    """Symbols of the spot, perpetual and dated markets that an exchange trades, spot first. Run it in the background loop.

    Raises:
        CatalogueUnavailable: with no network, or where the exchange does not answer in time.
        FeedFailed: for an exchange that does not exist.
    """
    client = await asyncio.to_thread(make_exchange, exchange)
    try:
        async with asyncio.timeout(PATIENCE_S):
            listed = await client.load_markets()
    except Exception as error:
        reason = classify_failure(error, str(client.name), compose("its markets")).reason
        raise CatalogueUnavailable(
            "The markets of {name} could not be listed: {reason}.", name=client.name, reason=reason
        ) from error
    finally:
        await close_exchange(client)
    traded = [market for market in listed.values() if market["type"] in KINDS and market.get("active") is not False]
    return [market["symbol"] for market in sorted(traded, key=lambda market: (KINDS.index(market["type"]), market["symbol"]))]
