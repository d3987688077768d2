"""A venue's numbered stream of books through ccxt: every message is checked, and a lost one is a failure."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from core.market.feeds.ccxt_books import levels_of, same_levels
from core.market.feeds.clock import CLOCK
from core.market.feeds.failures import OutOfStep
from core.market.feeds.followed_trades import FollowedTrades
from core.market.feeds.market_judge import MarketJudge
from core.market.feeds.stream_checks import StreamCheck

LONGEST_WORD: Final = 16
"""Characters of a message that is no JSON: venues send "ping", "pong" and the like. ccxt passes over any other."""
NEWS_S: Final = 0.05
"""Seconds in which ccxt hands on by itself what a message has changed."""

log = logging.getLogger(__name__)


class BookStream:
    """Reads a judged market's books by socket.

    Attributes:
        check: of the venue's numbers. watching: ccxt at work on the next book. fault: set where a message cannot be used.
    """

    def __init__(self, judge: MarketJudge, trades: FollowedTrades, check: StreamCheck) -> None:
        exchange = judge.exchange
        self._judge, self._trades, self.check = judge, trades, check
        self._fetch = exchange.fetch_order_book
        self._make_client, self._handle = getattr(exchange, "client", None), getattr(exchange, "handle_message", None)
        self._refusal: Exception | None = None
        self.watching: asyncio.Future[Any] | None = None
        self._watched = self._taped = False  # whether the books' socket was made, and the trades'
        self.fault: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._news: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def hook(self) -> None:
        """Have ccxt's snapshots, messages and clients pass through here."""
        self._judge.exchange.fetch_order_book = self._fetch_and_learn
        self._judge.exchange.handle_message = self._check_message
        self._judge.exchange.client = self._client

    def unhook(self) -> None:
        """Give ccxt back what `hook` took."""
        self._judge.exchange.fetch_order_book = self._fetch
        if self._handle is not None:
            self._judge.exchange.handle_message, self._judge.exchange.client = self._handle, self._make_client
        if self.fault.done():
            self.fault.exception()

    async def _fetch_and_learn(self, symbol: str, limit: int | None = None, params: Mapping[str, Any] | None = None) -> Any:
        """A snapshot for ccxt. After a refusal ccxt would ask twice more at once, against the venue's Retry-After."""
        if self._refusal is not None:
            raise self._refusal
        try:
            book = await self._fetch(symbol, limit, dict(params or {}))
        except Exception as error:
            self._refusal = error
            raise
        self._judge.depth.learn(book, limit)
        return book

    def _client(self, url: str) -> Any:
        """ccxt's client of a socket, which would otherwise stop reading at the first error, unnoticed."""
        known = url in (self._judge.exchange.clients or {})
        if not known and asyncio.current_task() is self.watching:
            if self._watched:  # the socket ended between two reads; ccxt would open another without a word of what was missed
                import ccxt

                raise ccxt.NetworkError(f"{self._judge.exchange.id} closed the socket")
            self._watched = True
        if not known and asyncio.current_task() is self._trades.watching:
            if self._taped:  # so did that of the trades: a venue may send its last ones again
                self._judge.memory.proof.cut(CLOCK.now_ms())
            self._taped = True
        client = self._make_client(url)  # type: ignore[misc]  # there wherever there is a socket
        if not known:
            read = client.handle_message

            def read_or_fail(message: Any) -> None:
                try:
                    read(message)
                except Exception as error:
                    self.fail(error)

            send = client.send
            client.send = lambda message: send(self.check.outgoing(message))
            client.handle_message = read_or_fail
        return client

    def _check_message(self, client: Any, message: Any) -> None:
        self._handle(client, message)  # type: ignore[misc]  # there wherever there is a socket
        if not self._news.done():
            self._news.set_result(None)
        if isinstance(message, str) and len(message) > LONGEST_WORD:
            self.fail(OutOfStep("{name} sent a message that cannot be read", name=self._judge.name))
        elif not self.check.in_step(message):
            self.fail(OutOfStep("an update of {name} went missing", name=self._judge.name))

    def fail(self, error: Exception) -> None:
        """End the connection by an error of a message."""
        import ccxt

        log.info("a message of %s could not be used: %r", self._judge.name, error)
        if not isinstance(error, (ccxt.BaseError, OutOfStep)):
            error = OutOfStep("{name} sent a message that cannot be read", name=self._judge.name)
        if not self.fault.done():
            self.fault.set_exception(error)

    async def next_book(self, depth: int | None, patience_s: float, *, unseen: bool) -> Any | None:
        """The next book of the stream; None where none came in time.

        Args:
            unseen: whether to look for one that ccxt has, and says nothing of.
        """
        if self.watching is None:
            self.watching = asyncio.ensure_future(self._judge.exchange.watch_order_book(self._judge.symbol, depth))
        waiting = {self.watching, self.fault}
        if self._news.done():
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.wait({*waiting, self._news}, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
        if self._news.done() and not self.watching.done():
            await asyncio.wait(waiting, timeout=NEWS_S, return_when=asyncio.FIRST_COMPLETED)
        if self.fault.done():
            self.fault.result()
        if not self.watching.done():
            return self._unseen() if unseen else None
        book, self.watching = self.watching.result(), None
        return book

    def _unseen(self) -> Any | None:
        """The book as ccxt has it, where it differs from the last one handed on.

        ccxt tells of a message only if it is being waited for at that moment: one that comes right after another would be seen
        with the next, and before a silence not at all.
        """
        book = (self._judge.exchange.orderbooks or {}).get(self._judge.symbol)
        if book is None:
            return None
        if self._judge.unusable is not None and self._judge.unusable.streamed:
            return None if levels_of(book) is None else book
        return None if self._judge.last is None or same_levels(book, self._judge.last) else book
