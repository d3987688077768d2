"""One stretch of following one market on one exchange: from the first request to the first failure.

Whoever opened it closes it; a failure is raised as it came, for `failures.judge` to sort.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from core.market.book import STEP_MS, BookError, OrderBookSnapshot
from core.market.feeds.books import Reach, snapshot_of, trade_of
from core.market.feeds.failures import OutOfStep, UnusableBook, WentQuiet
from core.market.feeds.protocol import FeedFailed, Trade
from core.market.feeds.venues import nearest, poll_levels, socket_levels
from core.messages import compose

Transport = Literal["auto", "socket", "poll"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to put up with what, seconds.

    Attributes:
        quiet_s: a socket silent for this long is checked by asking once; a book found unchanged is handed on again, since it
            was seen to hold. NEXO/USDT on Binance stands still for more than ten seconds some 1,700 times a day.
        silent_s: a socket silent for this long is given up where asking does not settle it.
        unusable_s: books that cannot be used are skipped for this long.
        trades_s: between attempts to get the trades back; books go on without them.
    """

    quiet_s: float = 4.0
    silent_s: float = 60.0
    unusable_s: float = 5.0
    trades_s: float = 5.0


class Connection:
    """Follows a market with a ccxt exchange object, by socket where it has one and else by asking again and again.

    Args:
        exchange: the ccxt object, used in the running loop only.
        symbol: ccxt's unified symbol.
        transport: "auto", or one of the two ways alone.
        trades: whether to follow trades too, where the venue streams them.
    """

    def __init__(
        self, exchange: Any, symbol: str, *, transport: Transport = "auto", trades: bool = True, patience: Patience | None = None
    ) -> None:
        self._exchange, self._symbol = exchange, symbol
        self._transport, self._with_trades = transport, trades
        self._patience = patience or Patience()
        self._fetch = exchange.fetch_order_book
        self._reach = Reach()
        self._last: OrderBookSnapshot | None = None
        self._unusable_since: float | None = None
        self._queue: asyncio.Queue[OrderBookSnapshot | Trade | BaseException] = asyncio.Queue(maxsize=256)

    async def events(self) -> AsyncIterator[OrderBookSnapshot | Trade]:
        """Books and trades until something fails.

        Raises:
            FeedFailed: for a symbol the exchange does not have.
            Exception: whatever ccxt or the network raised.
        """
        await self._load()
        socket = self._transport != "poll" and bool(self._exchange.has.get("watchOrderBook"))
        if self._transport == "socket" and not socket:
            raise FeedFailed(f"{self._exchange.name} has no socket for order books: ask for its books one by one instead")
        tasks = [asyncio.create_task(self._guard(self._watch() if socket else self._poll()))]
        if self._with_trades and self._exchange.has.get("watchTrades"):
            tasks.append(asyncio.create_task(self._trades()))
        try:
            while True:
                item = await self._queue.get()
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._exchange.fetch_order_book = self._fetch

    async def _load(self) -> None:
        await self._exchange.load_markets()
        if self._symbol not in self._exchange.markets:
            near = nearest(self._symbol, list(self._exchange.markets))
            raise FeedFailed(f"{self._exchange.name} has no market {self._symbol!r}{': the nearest are ' + near if near else ''}")

    async def _guard(self, following: Coroutine[Any, Any, None]) -> None:
        """Hand the failure of the books to whoever reads the queue."""
        try:
            await following
        except asyncio.CancelledError as error:  # ccxt cancels its futures when a socket breaks: that is no request to us
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            await self._queue.put(error)
        except Exception as error:
            await self._queue.put(error)

    # -- books by socket ----------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        market = self._exchange.markets[self._symbol]
        depth = socket_levels(self._exchange.id, market)
        self._exchange.fetch_order_book = self._learning  # where ccxt fetches the snapshot under a stream of changes
        watching: asyncio.Future[Any] | None = None
        quiet_since, differed = time.monotonic(), False
        try:
            while True:
                watching = watching or asyncio.ensure_future(self._exchange.watch_order_book(self._symbol, depth))
                done, _ = await asyncio.wait({watching}, timeout=self._patience.quiet_s)
                if done:
                    book, watching = watching.result(), None
                    quiet_since, differed = time.monotonic(), False
                    self._reach.narrow(book, depth)
                    await self._hand_on(book)
                    continue
                differed = await self._ask(time.monotonic() - quiet_since, differed)
        except self._not_supported() as error:
            if self._transport == "socket":
                raise
            log.info("%s has no socket for %s (%s): asking for its books instead", self._exchange.name, self._symbol, error)
        finally:
            if watching is not None:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        await self._poll()

    async def _learning(self, symbol: str, limit: int | None = None, params: Mapping[str, Any] | None = None) -> Any:
        book = await self._fetch(symbol, limit, dict(params or {}))
        self._reach.learn(book, limit)
        return book

    async def _ask(self, quiet_s: float, differed: bool) -> bool:
        """Nothing has come for a while: a quiet market, or a dead socket? Returns whether the best prices differ.

        Raises:
            WentQuiet: where the venue's book has moved on without us, twice in a row, or the silence is too long.
        """
        name = self._exchange.name
        if self._last is not None and self._exchange.has.get("fetchOrderBook"):
            asked = snapshot_of(await self._fetch(self._symbol, poll_levels(self._exchange.id)))
            if np.array_equal(asked.levels, self._last.levels):
                await self._queue.put(replace(self._last, received_ns=asked.received_ns))
                return False
            if not np.array_equal(asked.levels[:3:2], self._last.levels[:3:2]):  # best ask and best bid
                if differed:
                    raise WentQuiet(compose("{name} stopped sending while its book moved on", name=name))
                return True
        if quiet_s > self._patience.silent_s:
            raise WentQuiet(compose("{name} has sent nothing for {seconds:.0f} s", name=name, seconds=quiet_s))
        return False

    async def _hand_on(self, book: Mapping[str, Any]) -> None:
        """Copy, check and queue one book; skip it where it cannot be used, but not for ever."""
        try:
            snapshot = snapshot_of(book)
        except BookError as error:
            now = time.monotonic()
            self._unusable_since = self._unusable_since or now
            if now - self._unusable_since >= self._patience.unusable_s:
                raise UnusableBook(
                    compose(
                        "{name} sends no usable book of {symbol}: {error}",
                        name=self._exchange.name,
                        symbol=self._symbol,
                        error=error,
                    )
                ) from error
            return
        self._unusable_since = None
        if not self._reach.covers(snapshot):
            raise OutOfStep(
                compose("{symbol} has moved past the levels {name} had sent", symbol=self._symbol, name=self._exchange.name)
            )
        self._last = snapshot
        await self._queue.put(snapshot)

    # -- books by asking ----------------------------------------------------------------------------------------------

    async def _poll(self) -> None:
        """As often as the exchange allows, and no more often than a row is taken."""
        if not self._exchange.has.get("fetchOrderBook"):
            raise FeedFailed(f"{self._exchange.name} gives no order books: choose another exchange")
        pace_s = max(self._exchange.rateLimit, STEP_MS) / 1e3
        limit = poll_levels(self._exchange.id)
        while True:
            asked = time.monotonic()
            await self._hand_on(await self._fetch(self._symbol, limit))
            await asyncio.sleep(max(0.0, pace_s - (time.monotonic() - asked)))

    # -- trades -------------------------------------------------------------------------------------------------------

    async def _trades(self) -> None:
        """The tape: nice to have, so that its troubles are never the feed's."""
        while True:
            try:
                for trade in await self._exchange.watch_trades(self._symbol):
                    one = trade_of(trade)
                    if one is not None:
                        await self._queue.put(one)
            except self._not_supported() as error:
                log.info("%s streams no trades of %s: %s", self._exchange.name, self._symbol, error)
                return
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                await asyncio.sleep(self._patience.trades_s)
            except Exception as error:
                log.debug("trades of %s on %s: %s", self._symbol, self._exchange.name, error)
                await asyncio.sleep(self._patience.trades_s)

    @staticmethod
    def _not_supported() -> tuple[type[BaseException], ...]:
        import ccxt

        return ccxt.NotSupported, ccxt.AuthenticationError, ccxt.BadRequest
