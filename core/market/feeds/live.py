"""Any exchange ccxt knows, live: connect, follow, and when something breaks connect again or say why not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Literal

from core.market.book import OrderBookSnapshot
from core.market.feeds.connection import Connection, Patience, Transport
from core.market.feeds.failures import Backoff, Failure, RetryVerdict, judge
from core.market.feeds.protocol import FeedEvent, FeedFailed, FeedState, StatusChange
from core.market.feeds.venues import Configure, close_exchange, make_exchange
from core.messages import compose, sentence

MOST_DOUBTS = 5
"""Failures in a row that might pass, before the feed gives up."""


class LiveFeed:
    """An exchange's order book, by socket where ccxt has one and else by polling at the exchange's own rate limit.

    After every failure the exchange's sockets and books are thrown away, so that what follows starts from a fresh snapshot.

    Args:
        exchange: ccxt's id, "binance". symbol: ccxt's unified symbol, "BTC/USDT", "BTC/USDT:USDT".
        trades: whether to follow trades too.
        transport: "auto", or "socket" or "poll" to insist.
        configure: changes the exchange object before its first use (addresses, options).
        backoff, patience: how long to wait between attempts and for what.
    """

    clock: Literal["wall", "event"] = "wall"

    def __init__(
        self,
        exchange: str,
        symbol: str,
        *,
        trades: bool = True,
        transport: Transport = "auto",
        configure: Configure | None = None,
        backoff: Backoff | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.key, self.market = f"live/{exchange}/{symbol}", symbol
        self.exchange, self.symbol = exchange, symbol
        self._trades, self._transport, self._configure = trades, transport, configure
        self._backoff, self._patience = backoff or Backoff(), patience or Patience()

    async def events(self) -> AsyncIterator[FeedEvent]:
        """See `protocol.Feed.events`.

        Raises:
            FeedFailed: for an exchange or symbol that does not exist, a venue that refuses, or failures that do not pass.
        """
        yield StatusChange(state=FeedState.CONNECTING)
        # in a thread, since the import alone takes a second
        exchange = await asyncio.to_thread(make_exchange, self.exchange, self.symbol, self._configure)
        failures = doubts = 0
        try:
            while True:
                failure: Failure | None = None
                live = False
                connection = Connection(
                    exchange, self.symbol, transport=self._transport, trades=self._trades, patience=self._patience
                )
                try:
                    async with aclosing(connection.events()) as events:  # type: ignore[type-var]  # an async generator
                        async for event in events:
                            if isinstance(event, OrderBookSnapshot):
                                if not live:
                                    live = True
                                    yield StatusChange(state=FeedState.LIVE)
                                failures = doubts = 0
                            yield event
                except FeedFailed:
                    raise
                except (Exception, asyncio.CancelledError) as error:
                    task = asyncio.current_task()
                    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                        raise
                    failure = judge(error, str(exchange.name), self.symbol)
                assert failure is not None  # a connection ends by failing
                doubts += failure.verdict is RetryVerdict.DOUBTFUL
                if failure.verdict is RetryVerdict.FINAL or doubts > MOST_DOUBTS:
                    raise FeedFailed(sentence(failure.reason))
                wait_s = 0.0 if failure.verdict is RetryVerdict.RESYNC and not failures else self._backoff.wait_s(failures)
                failures += 1
                yield StatusChange(state=FeedState.RECONNECTING, message=_again(failure, wait_s), gap=True)
                await _forget(exchange)
                await asyncio.sleep(wait_s)
        finally:
            await close_exchange(exchange)


async def _forget(exchange: Any) -> None:
    """Close what is open and drop every book and subscription; the list of markets stays."""
    await close_exchange(exchange)
    exchange.clean_ws_data()
    exchange.open()  # ccxt refuses requests of an object that was closed


def _again(failure: Failure, wait_s: float) -> str:
    if wait_s < 1:
        return sentence(compose("{reason}; connecting again", reason=failure.reason))
    return sentence(compose("{reason}; trying again in {seconds:.0f} s", reason=failure.reason, seconds=wait_s))
