"""A live feed from any exchange of ccxt: connects, follows, and after a failure reconnects or gives up with a reason."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from core.market.book import OrderBookSnapshot
from core.market.feeds.connection import Connection, Timeouts, Transport
from core.market.feeds.failures import Backoff, BooksDiffer, Failure, RetryVerdict, UnusableBook, WentQuiet, classify_failure
from core.market.feeds.protocol import Clock, FeedEvent, FeedFailed, FeedState, StatusChange, is_cancelled
from core.market.feeds.venues import Configure, close_exchange, make_exchange
from core.messages import Message, compose, sentence

MAX_DOUBTS = 9
"""Doubtful failures in a row after which the feed gives up."""
MAX_DIFFERENCES = 3
"""Times in a row that streamed books may differ from the venue's book, before its books are asked for one by one instead."""
STEADY_S = 5.0
"""A connection that lasted this long starts the count of failures anew, and one of `AGREED_S` that of differences."""
AGREED_S = 60.0

log = logging.getLogger(__name__)


class LiveFeed:
    """An exchange's order book, by socket where ccxt has one and otherwise by polling at the exchange's own rate limit.

    After every failure the exchange's sockets and books are discarded: the next connection starts from a fresh snapshot.

    Args:
        exchange: ccxt's id, "binance". symbol: ccxt's unified symbol, "BTC/USDT", "BTC/USDT:USDT".
        trades: whether to follow trades too.
        transport: "auto", or "socket" or "poll" to insist.
        configure: changes the exchange object before its first use (addresses, options).
        backoff, timeouts: see their classes.
    """

    clock: Clock = "wall"

    def __init__(
        self,
        exchange: str,
        symbol: str,
        *,
        trades: bool = True,
        transport: Transport = "auto",
        configure: Configure | None = None,
        backoff: Backoff | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.key, self.market = f"live/{exchange}/{symbol}", symbol
        self.exchange, self.symbol = exchange, symbol
        self.tick = 0.0
        self._trades, self._transport, self._configure = trades, transport, configure
        self._backoff, self._timeouts = backoff or Backoff(), timeouts or Timeouts()

    async def events(self) -> AsyncIterator[FeedEvent]:
        """See `protocol.Feed.events`.

        Raises:
            FeedFailed: for an exchange or symbol that does not exist, a venue that refuses, or failures that do not pass.
        """
        yield StatusChange(state=FeedState.CONNECTING)
        # in a thread, since the import alone takes a second
        exchange = await asyncio.to_thread(make_exchange, self.exchange, self.symbol, self._configure)
        failures = doubts = differences = 0
        transport, reload_markets = self._transport, False
        try:
            while True:
                error: BaseException | None = None
                live_since: float | None = None
                connection = Connection(
                    exchange,
                    self.symbol,
                    transport=transport,
                    trades=self._trades,
                    timeouts=self._timeouts,
                    reload_markets=reload_markets,
                )
                try:
                    async with aclosing(connection.events()) as events:  # type: ignore[type-var]  # an async generator
                        async for event in events:
                            if isinstance(event, OrderBookSnapshot):
                                if live_since is None:
                                    self.tick = connection.tick
                                    live_since = time.monotonic()
                                    yield StatusChange(state=FeedState.LIVE)
                                doubts = 0
                            yield event
                except FeedFailed as failed:
                    raise FeedFailed(sentence(str(failed))) from failed
                except (Exception, asyncio.CancelledError) as raised:
                    if isinstance(raised, asyncio.CancelledError) and is_cancelled():
                        raise
                    error = raised
                assert error is not None  # a connection ends by failing
                log.info("%s on %s: %r", self.symbol, self.exchange, error)
                failure = classify_failure(error, str(exchange.name), self.symbol, exchange.last_response_headers)
                doubts += failure.verdict is RetryVerdict.DOUBTFUL
                if failure.verdict is RetryVerdict.FINAL or doubts > MAX_DOUBTS:
                    raise FeedFailed(sentence(failure.reason))
                lived_s = 0.0 if live_since is None else time.monotonic() - live_since
                failures = 0 if lived_s >= STEADY_S else failures
                differences = (0 if lived_s >= AGREED_S else differences) + isinstance(error, BooksDiffer)
                if differences >= MAX_DIFFERENCES and transport == "auto":
                    transport = "poll"
                fresh = isinstance(error, UnusableBook) and not failures  # a fresh snapshot may do: the list can wait
                reload_markets = not fresh and (isinstance(error, WentQuiet) or failure.verdict is RetryVerdict.DOUBTFUL)
                wait_s = max(failure.retry_after_s, 0.0 if fresh else self._wait_s(failure, failures))
                failures += 1
                resync = failure.verdict is RetryVerdict.RESYNC
                yield StatusChange(state=FeedState.RECONNECTING, message=_announcement(failure, wait_s), gap=True, resync=resync)
                await _reset(exchange)
                await asyncio.sleep(wait_s)
        finally:
            await close_exchange(exchange)

    def _wait_s(self, failure: Failure, failures: int) -> float:
        return 0.0 if failure.verdict is RetryVerdict.RESYNC and not failures else self._backoff.wait_s(failures)


async def _reset(exchange: Any) -> None:
    """Close what is open and drop every book and subscription; the list of markets stays."""
    await close_exchange(exchange)
    exchange.clean_ws_data()
    exchange.ws_dial_backoff = {}  # ccxt's own waits would come on top of the feed's
    exchange.open()  # ccxt refuses requests of an object that was closed


def _announcement(failure: Failure, wait_s: float) -> Message:
    if wait_s < 1:
        return sentence(compose("{reason}; connecting again", reason=failure.reason))
    return sentence(compose("{reason}; trying again in {seconds:.0f} s", reason=failure.reason, seconds=wait_s))
