"""One connection to one market of one exchange: from the first request to the first failure.

Whoever opened a connection closes it. A failure is raised as it came, for `failures.classify_failure`.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from core.market.feeds.book_stream import BookStream
from core.market.feeds.failures import EmptyList
from core.market.feeds.followed_trades import FollowedTrades, not_supported
from core.market.feeds.market_judge import ConnectionEvent, FeedMemory, MarketJudge, Timeouts
from core.market.feeds.protocol import FeedFailed, is_cancelled
from core.market.feeds.requested_books import Asks, RequestedBooks
from core.market.feeds.stream_checks import StreamCheck, check_for
from core.market.feeds.venues import nearest, size_unit, socket_levels, venue_tick

log = logging.getLogger(__name__)


class Connection:
    """Follows a market with a ccxt exchange object: by socket where it has one, otherwise by asking again and again.

    Args:
        exchange: the ccxt object, used in the running loop only.
        symbol: ccxt's unified symbol.
        streams: whether its books come by socket, where it has one. memory: the feed's.

    Attributes:
        tick, unit: the market's step of price, and the unit of its sizes, by the venue's list, once it is loaded.
    """

    def __init__(self, exchange: Any, symbol: str, *, streams: bool, timeouts: Timeouts, memory: FeedMemory) -> None:
        self._streams, self.tick, self.unit = streams, 0.0, ""
        self._check = StreamCheck()
        self._judge = MarketJudge(
            exchange, symbol, timeouts=timeouts, memory=memory, confirms=lambda: self._requested.polls or self._check.reliable
        )
        self._requested = RequestedBooks(self._judge, exchange.fetch_order_book)
        self._trades = FollowedTrades(self._judge)

    async def events(self) -> AsyncIterator[ConnectionEvent]:
        """Books, trades and confirmations until something fails.

        Raises:
            FeedFailed: for a symbol the exchange does not have, or no longer trades.
            Exception: whatever ccxt or the network raised.
        """
        judge, taken = self._judge, self._trades
        exchange = judge.exchange
        await self._load(reload=judge.memory.reload_markets)
        self._check = check_for(exchange, judge.symbol)
        socket = self._streams and bool(exchange.has.get("watchOrderBook"))
        stream = BookStream(judge, taken, self._check)
        judge.compares = socket and bool(exchange.has.get("fetchOrderBook")) and not self._check.reliable
        books = self._watch(stream) if socket else self._requested.poll()
        work = [self._forward_failure(books), judge.keep_telling()]
        if exchange.has.get("watchTrades"):
            work.append(taken.follow())
        if judge.compares:
            work.append(self._requested.compare(stream.fail))
        tasks = [asyncio.create_task(one) for one in work]
        try:
            while True:
                if taken.trades and judge.queue.empty():  # books first: a burst of trades does not delay them
                    yield taken.trades.popleft()
                    continue
                item = await judge.queue.get()
                if isinstance(item, BaseException):
                    taken.flush()
                    while taken.trades:  # they are known as handed on
                        yield taken.trades.popleft()
                    raise item
                if item is not None:
                    yield item
        finally:
            taken.over = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            stream.unhook()

    async def _load(self, *, reload: bool) -> None:
        """The list of markets. A symbol that it lacks is looked up once more, since the list itself may have come garbled."""
        exchange, symbol, name = self._judge.exchange, self._judge.symbol, self._judge.name
        fresh = reload or not exchange.markets
        await exchange.load_markets(reload)
        if symbol not in exchange.markets:
            fresh = True
            await exchange.load_markets(True)
        if not exchange.markets:
            raise EmptyList("{name} sends an empty list of markets", name=name)
        if symbol not in exchange.markets:
            if reload:
                raise FeedFailed("{name} no longer trades {symbol}: choose another market", name=name, symbol=symbol)
            near = nearest(symbol, [known for known in exchange.markets if isinstance(known, str)])
            if near:
                raise FeedFailed("{name} has no market {symbol!r}: the nearest are {near}", name=name, symbol=symbol, near=near)
            raise FeedFailed("{name} has no market {symbol!r}: choose one from its list", name=name, symbol=symbol)
        if fresh:
            self._judge.memory.listing.update(exchange.markets[symbol])
        self.tick, self.unit = venue_tick(exchange, symbol), size_unit(exchange.markets[symbol])

    async def _forward_failure(self, following: Coroutine[Any, Any, None]) -> None:
        try:
            await following
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            await self._judge.queue.put(error)
        except Exception as error:
            await self._judge.queue.put(error)

    async def _watch(self, stream: BookStream) -> None:
        judge = self._judge
        depth = socket_levels(judge.exchange.id, judge.exchange.markets[judge.symbol])
        stream.hook()
        try:
            await self._watch_books(stream, depth)
        except not_supported() as error:
            log.info("%s has no socket for %s (%s): asking for its books instead", judge.name, judge.symbol, error)
        finally:
            if stream.watching is not None:
                stream.watching.cancel()
                await asyncio.gather(stream.watching, return_exceptions=True)
        judge.compares = False
        await self._requested.poll()

    async def _watch_books(self, stream: BookStream, depth: int | None) -> None:
        judge = self._judge
        quiet_since, asks = time.monotonic(), Asks()
        asked_at, streamed = quiet_since, False
        await judge.heed_list(0.0)
        while True:
            patience_s = self._patience(asks)
            book = await stream.next_book(depth, patience_s, unseen=streamed)
            if book is not None:
                if not streamed:
                    await judge.leave_asked(book)
                streamed, quiet_since, asks = True, time.monotonic(), Asks()
                asked_at = quiet_since
                judge.depth.narrow(book, depth)
                await judge.judge_book(book)
            quiet_s = time.monotonic() - (quiet_since if judge.unusable is None else min(quiet_since, judge.unusable.since_s))
            was_halted = judge.halted
            await judge.heed_list(quiet_s)
            if judge.unusable is not None:
                await self._requested.look_into()
            elif not judge.halted and (was_halted or time.monotonic() - asked_at >= patience_s):
                asked_at = time.monotonic()
                await self._requested.ask(quiet_s, asks)

    def _patience(self, asks: Asks) -> float:
        judge = self._judge
        if judge.unusable is not None:
            return max(0.0, judge.look_at_s - time.monotonic())
        if judge.halted:
            return judge.timeouts.look_s
        soon = asks.touch_differs or asks.moved_since_s is not None or asks.differing == 1
        return judge.timeouts.again_s if soon else judge.timeouts.quiet_s
