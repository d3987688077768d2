"""Books on request: instead of a stream, beside a silent or doubtful one, and compared with one that nothing else checks."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from core.market.book import LEVELS, STEP_MS, BookError, FloatArray, best_ask, best_bid
from core.market.events import Confirmation
from core.market.feeds.ccxt_books import snapshot_of
from core.market.feeds.clock import CLOCK
from core.market.feeds.failures import BooksDiffer, OutOfStep, UnusableBook, WentQuiet
from core.market.feeds.market_judge import MarketJudge
from core.market.feeds.protocol import FeedFailed
from core.market.feeds.situations import Situation
from core.market.feeds.stream_checks import differing_levels
from core.market.feeds.venues import POLL_LEVELS

COMPARED: Final = 20
"""Levels a side that are compared: those past the tenth may soon be among the ten; some venues let go of deeper ones unsaid."""
DENIED: Final = 2
"""Usable books on request in a row after which a stream's unusable one is wrong."""

log = logging.getLogger(__name__)


@dataclass
class Asks:
    """Results of asking the venue since the last message: see `RequestedBooks.ask`.

    Attributes:
        differing: books in a row that differed from the stream's. asked: the last of them. differing_since_s: of the first.
        number: of the newest book asked for, where the venue numbers them.
        moved_since_s: when one was found to differ from the one asked before: the venue's book moves, and nothing arrives.
    """

    touch_differs: bool = False
    differing: int = 0
    asked: FloatArray | None = None
    differing_since_s: float | None = None
    moved_since_s: float | None = None
    number: int | None = None


class RequestedBooks:
    """Asks a venue for its book, and has the judge say what follows.

    Args:
        fetch: ccxt's, as it was before a stream learns from it.

    Attributes:
        polls: whether nothing but requests brings books.
    """

    def __init__(self, judge: MarketJudge, fetch: Callable[[str, int | None], Awaitable[Any]]) -> None:
        self._judge, self._fetch, self.polls = judge, fetch, False

    async def book(self) -> Any:
        """ccxt's book, now."""
        return await self._fetch(self._judge.symbol, POLL_LEVELS.get(self._judge.exchange.id))

    async def ask(self, quiet_s: float, asks: Asks) -> None:
        """Nothing has arrived for a while: ask for the book, to tell a quiet market from a dead stream.

        Raises:
            WentQuiet: where the venue's book changed without a message, or the silence is too long.
        """
        judge = self._judge
        name = judge.name
        if not judge.exchange.has.get("fetchOrderBook"):
            if quiet_s > judge.timeouts.silent_s:
                raise WentQuiet("{name} has sent nothing for {seconds:.0f} s", name=name, seconds=quiet_s)
            return
        asked_ns = CLOCK.now_ns()
        asked = await self.book()
        try:
            book = snapshot_of(asked)
        except BookError as error:
            await judge.lose(asked, error, streamed=False)
            return
        if judge.last is None:  # no message yet: this book is the first, from when it came: the venue made it after being asked
            await judge.recover()
            judge.last = book
            await judge.queue_book(book)
            return
        if not np.array_equal(book.levels, judge.last.levels):
            touch_differs = any(best(book.levels) != best(judge.last.levels) for best in (best_ask, best_bid))
            asks.differing_since_s = quiet_s if asks.differing_since_s is None else asks.differing_since_s
            asks.differing += 1
            if asks.moved_since_s is None and asks.asked is not None and not np.array_equal(book.levels, asks.asked):
                asks.moved_since_s = quiet_s
            asks.asked = book.levels
            moved = asks.moved_since_s is not None and quiet_s - asks.moved_since_s >= judge.timeouts.settle_s
            lasting = quiet_s - asks.differing_since_s >= judge.timeouts.differing_s
            if (touch_differs and asks.touch_differs) or moved or lasting:
                raise WentQuiet("{name} stopped sending while its book moved on", name=name)
            asks.touch_differs = touch_differs
            return
        asks.touch_differs, asks.differing_since_s, asks.moved_since_s, asks.asked, asks.differing = False, None, None, None, 0
        known, asks.number = (None, judge.last.sequence, asks.number), book.sequence
        if book.sequence in known:  # else it went away and came back meanwhile, or something deeper changed
            await judge.queue_book(replace(judge.last, received_ns=asked_ns, asked=True))

    async def look_into(self) -> None:
        """The stream's book cannot be used: ask whether the venue's own is so. If it is, that is how the market stands.

        Raises:
            OutOfStep: where the venue's own book is usable.
            UnusableBook: where no book can be asked for: a fresh snapshot may help.
        """
        judge = self._judge
        odd, now_s = judge.unusable, time.monotonic()
        if odd is None or now_s < judge.look_at_s:
            return
        judge.look_at_s = now_s + judge.timeouts.look_s
        if not judge.exchange.has.get("fetchOrderBook"):
            await judge.say_unusable()
            if not judge.odd_before or now_s - odd.since_s >= judge.timeouts.renew_s:
                raise UnusableBook(
                    "{name} sends no usable book of {symbol}: {error}", name=judge.name, symbol=judge.symbol, error=odd.error
                ) from odd.error
            return
        asked_ns = CLOCK.now_ns()
        book = await self.book()
        try:
            asked = snapshot_of(book)
        except BookError as error:
            odd.denied = 0
            if not odd.streamed:
                await judge.lose(book, error, streamed=False)
            await judge.say_unusable()
            return
        if judge.unusable is not odd:
            return
        if not odd.streamed and (judge.last is None or np.array_equal(asked.levels, judge.last.levels)):
            await judge.recover()
            judge.last = asked if judge.last is None else replace(judge.last, received_ns=asked_ns)
            await judge.queue_book(judge.last)
            return
        odd.denied += 1
        judge.look_at_s = now_s + judge.timeouts.again_s
        if odd.denied >= DENIED:
            raise OutOfStep("the book that {name} streams cannot be used, other than the one on request", name=judge.name)

    async def compare(self, fail: Callable[[Exception], None]) -> None:
        """Compare the streamed book with the one on request, where nothing else would notice a lost message.

        A level that was at rest in the stream at the time, but differs, was changed by a message that was lost. What a later
        message has put right by then goes unnoticed.
        """
        judge = self._judge
        while True:
            await asyncio.sleep(judge.timeouts.compare_s)
            if judge.confirms() or not judge.recent or judge.unusable is not None:  # nothing to compare, or no need to
                judge.compared_s = judge.compared_s and time.monotonic()
                continue
            asked_ns, asked_s = CLOCK.now_ns(), time.monotonic()
            try:
                asked = snapshot_of(await self.book())
            except Exception as error:
                log.debug("the book of %s on %s could not be compared: %s", judge.symbol, judge.name, error)
                continue
            await asyncio.sleep(judge.timeouts.settle_s)
            while len(judge.recent) > 1 and judge.recent[1][0] <= asked_s - judge.timeouts.settle_s:
                judge.recent.popleft()
            books = [one.whole[: 4 * COMPARED] for _, one in judge.recent]  # those that held since then
            if differing_levels(asked.whole[: 4 * COMPARED], books):
                fail(BooksDiffer("the book that {name} streams differs from the one it gives on request", name=judge.name))
                return
            judge.compared_s = time.monotonic()
            # levels that changed while it was asked were not compared: what went wrong with them then is seen the next time
            await judge.queue.put(Confirmation(until_ns=asked_ns - int(judge.timeouts.settle_s * 1e9)))

    async def poll(self) -> None:
        """Ask as often as the exchange allows, but no more often than a row is taken."""
        judge = self._judge
        if not judge.exchange.has.get("fetchOrderBook"):
            raise FeedFailed("{name} gives no order books: choose another exchange", name=judge.name)
        pace_s = max(judge.exchange.rateLimit, STEP_MS) / 1e3
        self.polls, situations = True, judge.memory.situations
        situations.begin(Situation.ASKED, CLOCK.now_ms())
        situations.end(Situation.STILL)
        moved_s, moved_ms, before = time.monotonic(), CLOCK.now_ms(), None
        while True:
            asked_s = time.monotonic()
            book = await self.book()
            now = [level[:2] for side in ("asks", "bids") for level in book[side][:LEVELS]]
            if now != before:
                moved_s, moved_ms, before = asked_s, CLOCK.now_ms(), now
                situations.end(Situation.STILL)
            elif asked_s - moved_s > judge.timeouts.still_s:
                situations.begin(Situation.STILL, moved_ms, judge.timeouts.still_s)
            await judge.heed_list(asked_s - moved_s)
            await judge.judge_book(book)
            if judge.unusable is not None and time.monotonic() >= judge.look_at_s:
                await judge.say_unusable()
            await judge.tell()
            await asyncio.sleep(max(0.0, pace_s - (time.monotonic() - asked_s)))
