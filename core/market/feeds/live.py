"""A live feed from any exchange of ccxt: connects, follows, and after a failure reconnects or gives up with a reason."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from core.market.book import OrderBookSnapshot
from core.market.events import BookLost
from core.market.feeds.clock import CLOCK
from core.market.feeds.connection import Connection
from core.market.feeds.failures import (
    Backoff,
    BooksDiffer,
    EmptyList,
    Failure,
    RetryVerdict,
    StreamFault,
    UnusableBook,
    WentQuiet,
    classify_failure,
)
from core.market.feeds.market_judge import FeedMemory, Timeouts
from core.market.feeds.protocol import Clock, FeedEvent, FeedFailed, Status, StatusChange, is_cancelled
from core.market.feeds.venues import close_exchange, make_exchange, unit_of_symbol
from core.messages import Message, compose, sentence

MAX_DOUBTS = 9
"""Doubtful failures in a row after which a feed that never had a book gives up; one that had waits longer from then on."""
MAX_DIFFERENCES = 3
"""Times in a row that streamed books may differ from the venue's book, before its books are asked for one by one instead."""
STEADY_S = 5.0
"""A connection that lasted this long starts the count of failures anew, and one of `AGREED_S` that of differences."""
AGREED_S = 60.0

log = logging.getLogger(__name__)


class LiveFeed:
    """An exchange's order book, by socket where ccxt has one and otherwise by polling at the exchange's own rate limit.

    After every failure the exchange's sockets and books are discarded: the next connection starts from a fresh snapshot. While
    the venue answers, a feed that had a book does not end by itself: what passes is a state (`core.market.feeds.situations`).

    Args:
        exchange: ccxt's id, "binance". symbol: ccxt's unified symbol, "BTC/USDT", "BTC/USDT:USDT".
        backoff, timeouts: see their classes.
    """

    clock: Clock = "wall"

    def __init__(self, exchange: str, symbol: str, *, backoff: Backoff | None = None, timeouts: Timeouts | None = None) -> None:
        self.key, self.market = f"live/{exchange}/{symbol}", symbol
        self.exchange, self.symbol = exchange, symbol
        self.tick, self.unit = 0.0, unit_of_symbol(symbol)
        self._backoff, self._timeouts = backoff or Backoff(), timeouts or Timeouts()
        self._memory, self._name = FeedMemory(), exchange

    async def events(self) -> AsyncIterator[FeedEvent]:
        """See `protocol.Feed.events`.

        Raises:
            FeedFailed: for an exchange or symbol that does not exist, a venue that refuses, or failures that do not pass.
        """
        self._memory.proof.cut(CLOCK.now_ms())  # of an earlier iteration, if there was one
        yield StatusChange(state=Status.CONNECTING)
        # in a thread, since the import alone takes a second
        exchange = await asyncio.to_thread(make_exchange, self.exchange, self.symbol)
        self._name = str(exchange.name)
        tries = _Tries(self._backoff)
        try:
            while True:
                error: BaseException | None = None
                live_since: float | None = None
                connection = Connection(
                    exchange, self.symbol, streams=tries.streams, timeouts=self._timeouts, memory=self._memory
                )
                try:
                    async with aclosing(connection.events()) as events:  # type: ignore[type-var]  # an async generator
                        async for event in events:
                            if live_since is None and isinstance(event, OrderBookSnapshot | BookLost):
                                self.tick, self.unit, live_since = connection.tick, connection.unit, time.monotonic()
                                yield self._memory.status(self._name)
                            if isinstance(event, OrderBookSnapshot):
                                tries.succeeded()
                            yield event
                except FeedFailed as failed:
                    raise FeedFailed(sentence(str(failed))) from failed
                except (Exception, asyncio.CancelledError) as raised:
                    if isinstance(raised, asyncio.CancelledError) and is_cancelled():
                        raise
                    error = raised
                assert error is not None  # a connection ends by failing
                self._memory.proof.cut(CLOCK.now_ms())
                log.info("%s on %s: %r", self.symbol, self.exchange, error)
                failure = classify_failure(error, self._name, self.symbol, exchange.last_response_headers)
                lived_s = 0.0 if live_since is None else time.monotonic() - live_since
                wait_s = tries.failed(error, failure, lived_s, listed=not self._memory.listing.halted)
                self._memory.reload_markets = tries.suspicious
                if not isinstance(error, StreamFault):
                    self._memory.situations.forget()
                resync, message = failure.verdict is RetryVerdict.RESYNC, _announcement(failure, wait_s)
                broken = self._memory.status(self._name, Status.RECONNECTING)
                yield replace(broken, message=message, gap=True, resync=resync)
                await _reset(exchange)
                await asyncio.sleep(wait_s)
        finally:
            await close_exchange(exchange)


@dataclass
class _Tries:
    """Outcome of a feed's connections so far, and what follows from it.

    Attributes:
        failures, doubts, refusals, differences, empty: in a row: all, doubtful ones, final ones, books that differed, lists of
            markets without any. wrong: what the venue sent wrongly in a row, with no connection that lasted between.
        streams: whether books are taken by socket. refusal: what was refused last. ever_live: whether there ever was a book.
        suspicious: whether the market may be gone.
    """

    backoff: Backoff
    streams: bool = True
    failures: int = 0
    doubts: int = 0
    refusals: int = 0
    differences: int = 0
    empty: int = 0
    wrong: int = 0
    refusal: str = ""
    ever_live: bool = False
    suspicious: bool = False

    def succeeded(self) -> None:
        """A book is there."""
        self.ever_live = True
        self.doubts = self.refusals = self.empty = 0

    def failed(self, error: BaseException, failure: Failure, lived_s: float, *, listed: bool) -> float:
        """Returns the seconds to wait until the next connection.

        Args:
            listed: whether the venue's list calls the market traded.

        Raises:
            FeedFailed: where there is no point in one. A feed that had a book asks once more after a refusal.
        """
        doubtful, final = failure.verdict is RetryVerdict.DOUBTFUL, failure.verdict is RetryVerdict.FINAL
        empty = isinstance(error, EmptyList)
        self.empty += empty
        self.doubts += doubtful and not empty
        self.refusals += final
        self.refusal = failure.reason if final else self.refusal
        doubted = self.empty + (0 if self.ever_live else self.doubts)
        if self.refusals > self.ever_live or (self.refusals and not listed):
            raise FeedFailed(sentence(self.refusal))
        if doubted > MAX_DOUBTS:
            raise FeedFailed(sentence(failure.reason))
        if lived_s >= STEADY_S:
            self.failures = self.wrong = 0
        self.wrong += doubtful or failure.verdict is RetryVerdict.RESYNC
        self.differences = (0 if lived_s >= AGREED_S else self.differences) + isinstance(error, BooksDiffer)
        self.streams = self.streams and self.differences < MAX_DIFFERENCES
        self.suspicious = doubtful or final or isinstance(error, WentQuiet)
        at_once = not self.failures and (isinstance(error, UnusableBook) or failure.verdict is RetryVerdict.RESYNC)
        wait_s = 0.0 if at_once else self.backoff.wait_s(self.failures, wrong=self.wrong - MAX_DOUBTS)
        self.failures += 1
        return max(failure.retry_after_s, wait_s)


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
