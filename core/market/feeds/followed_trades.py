"""Trades of one followed market, each handed on once, as ccxt adds it to its cache."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from core.market.events import Trade, TradesBreak
from core.market.feeds.clock import CLOCK
from core.market.feeds.market_judge import MarketJudge
from core.market.feeds.protocol import is_cancelled
from core.market.feeds.situations import Situation

TRADED_MS: Final = 2_000
"""A trade so long after a halt began shows that there is none."""

log = logging.getLogger(__name__)


class _TappedTrades(dict[str, Any]):
    """ccxt's caches of trades by symbol, which hand on each trade of one market as it is added.

    What `watch_trades` returns lacks those that come while nobody waits, and all but a thousand of a burst.

    Attributes:
        cache: of this market; None until one was seen.
    """

    def __init__(self, caches: Mapping[str, Any], symbol: str, take: Callable[[Any], None]) -> None:
        super().__init__(caches)
        self._symbol, self._take, self.cache = symbol, take, None

    def __setitem__(self, symbol: str, cache: Any) -> None:
        super().__setitem__(symbol, cache)
        if symbol != self._symbol or cache is self.cache:
            return
        self.cache, append = cache, cache.append
        for trade in list(cache):  # some venues' are filled before they are kept
            self._take(trade)

        def add(trade: Any) -> None:
            append(trade)
            self._take(trade)

        cache.append = add


class FollowedTrades:
    """Follows the trades of a judged market by socket. They are optional: their failures do not end the connection.

    Attributes:
        trades: taken and not handed on yet. over: whether nobody would get them any more.
        watching: ccxt at work on the next ones.
    """

    def __init__(self, judge: MarketJudge) -> None:
        self._judge = judge
        self.trades: deque[Trade | TradesBreak] = deque()
        self.watching: asyncio.Future[Any] | None = None
        self.over = False
        self._message: list[Any] = []  # trades of the message that ccxt is at

    async def follow(self) -> None:
        """Trades are optional: their failures do not end the connection."""
        proof = self._judge.memory.proof
        proof.followed = True
        self._judge.exchange.trades = tapped = _TappedTrades(self._judge.exchange.trades or {}, self._judge.symbol, self._came)
        try:
            while True:
                try:
                    self.watching = watching = asyncio.ensure_future(self._judge.exchange.watch_trades(self._judge.symbol))
                    if proof.cut_ms is not None and not await self._failed_soon(watching):
                        self._resume()
                    came = await watching
                    for trade in came if tapped.cache is None else ():
                        self._came(trade)
                except not_supported() as error:
                    log.info("%s streams no trades of %s: %s", self._judge.name, self._judge.symbol, error)
                    proof.followed = False
                    return
                except asyncio.CancelledError:
                    if is_cancelled():
                        raise
                    await self._wait()
                except Exception as error:
                    log.debug("trades of %s on %s: %s", self._judge.symbol, self._judge.name, error)
                    await self._wait()
        finally:
            if self.watching is not None:
                self.watching.cancel()
                await asyncio.gather(self.watching, return_exceptions=True)

    async def _failed_soon(self, watching: asyncio.Future[Any]) -> bool:
        """Tells whether following the trades failed within a moment of the connection's standing."""
        stands = asyncio.ensure_future(self._judge.stands.wait())
        try:
            await asyncio.wait({watching, stands}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({watching}, timeout=self._judge.timeouts.settle_s)
        finally:
            stands.cancel()
        return watching.done() and (watching.cancelled() or watching.exception() is not None)

    async def _wait(self) -> None:
        self.flush()
        self._judge.memory.proof.cut(CLOCK.now_ms())
        await asyncio.sleep(self._judge.timeouts.trades_s)

    def _resume(self) -> None:
        interruption = self._judge.memory.proof.resumed(CLOCK.now_ms())
        if interruption is not None:
            self.trades.append(interruption)
            self._wake()

    def _came(self, trade: Any) -> None:
        """ccxt has a trade; all of its message are taken together."""
        if self.over:  # nobody would get it; the next connection may be sent it again
            return
        if not self._message:
            asyncio.get_running_loop().call_soon(self.flush)
        self._message.append(trade)

    def flush(self) -> None:
        """Take the trades of the message that ccxt is at."""
        message, self._message = self._message, []
        if not message:
            return
        self._resume()
        fresh = self._judge.memory.proof.new_trades(message)
        halt = self._judge.memory.situations.get(Situation.HALTED)
        if halt is not None and any(trade.exchange_ms > halt.since_ms + TRADED_MS for trade in fresh):
            self._judge.memory.listing.traded()
        self.trades.extend(fresh)
        self._wake()

    def _wake(self) -> None:
        """Have the trades handed on, where nothing else waits."""
        if self._judge.queue.empty():
            self._judge.queue.put_nowait(None)


def not_supported() -> tuple[type[BaseException], ...]:
    """Errors of ccxt's by which a venue says that it has no such stream."""
    import ccxt

    return ccxt.NotSupported, ccxt.AuthenticationError, ccxt.BadRequest
