"""State of one followed market: its newest book, whether one can be used, whether it is halted; and what follows."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from core.market.book import BookError, OrderBookSnapshot
from core.market.events import BookLost, Confirmation, Trade, TradesBreak
from core.market.feeds.ccxt_books import KnownDepth, same_levels, snapshot_of
from core.market.feeds.clock import CLOCK
from core.market.feeds.failures import OutOfStep
from core.market.feeds.protocol import Status, StatusChange
from core.market.feeds.situations import OF_BOOK, Situation, Situations, said_of, situation_of
from core.market.feeds.trade_proof import TradeProof

ConnectionEvent = OrderBookSnapshot | Trade | TradesBreak | Confirmation | BookLost | StatusChange
KEPT_S: Final = 30.0
"""Streamed books are kept for so long, to be compared with one on request."""
NARROW: Final = ("okx", "okxus", "myokx", "kraken")
NARROW_SPOT: Final = ("binance", "binanceus", "bybit", "bybiteu")
"""Venues that list one market alone where asked to, any or a spot one."""
HALTED_S: Final = 1.5
QUIET_S: Final = 10.0
"""Seconds between two looks at the list, of a market that is halted, and of one that stands still."""
WHOLE_S: Final = 60.0
"""The same of one that stands still, where the whole list is asked for, up to ten megabytes."""
COST: Final = 4.0
"""A look is followed by a pause of so many times what it took, at least."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """Timeouts, in seconds.

    Attributes:
        quiet_s: after so long without a message the venue is asked for its book: an equal one confirms the book kept here.
            NEXO/USDT on Binance stands still for more than ten seconds some 1,700 times a day.
        again_s: until it is asked once more where the books differ, since a message may have been under way.
        differing_s: the stream is given up where only sizes or deeper levels differ for so long, and do not move.
        silent_s: the stream is given up after so long where no book can be asked for.
        listing_s: a market that stands still for so long is looked up in the list of markets.
        unusable_s: books that cannot be used are skipped for so long, before the venue is asked whether its book is so.
        look_s: between two questions whether it still is, or the market still halted.
        renew_s: between two fresh snapshots, where no book can be asked for.
        trades_s: between attempts to follow the trades again; books go on without them.
        compare_s: between comparisons with the venue's book, where lost messages would go unnoticed otherwise.
        settle_s: most that a stream and a book on request are apart in time.
        unchecked_s: until the page says that no comparison succeeds.
        still_s: until the page says that a book which is only asked for does not change.
    """

    quiet_s: float = 2.5
    again_s: float = 0.5
    differing_s: float = 10.0
    silent_s: float = 60.0
    listing_s: float = 5.0
    unusable_s: float = 1.0
    look_s: float = 2.0
    renew_s: float = 10.0
    trades_s: float = 5.0
    compare_s: float = 1.0
    settle_s: float = 1.0
    unchecked_s: float = 15.0
    still_s: float = 30.0


class Listing:
    """Entry of one market in its venue's list. It outlives the feed's connections.

    A list that calls a market halted while it is traded is not believed until it calls it traded again: some venues' words for a
    market that takes limit orders alone count as halted.

    Attributes:
        halted: whether the market is not traded now.
    """

    def __init__(self) -> None:
        self.halted = False
        self._was_active = self._disbelieved = False
        self._next_s = 0.0

    def update(self, market: Mapping[str, Any] | None) -> None:
        """Take in the market's entry; one that does not say whether it is traded counts as traded."""
        halted = market is not None and market.get("active") is False
        if not halted:
            self._was_active, self._disbelieved = True, False
        self.halted = halted and not self._disbelieved

    def book_changed(self) -> None:
        """The book of a halted market changed: orders are taken back in a halt, too, but where there was nothing else ever."""
        if not self._was_active:
            self.traded()

    def traded(self) -> None:
        """There was a trade, whatever the list says."""
        self.halted, self._disbelieved = False, True

    def is_due(self, exchange: Any, symbol: str, quiet_s: float, after_s: float) -> bool:
        """Tells whether to look: soon while the market is halted; else once it has stood still for `after_s`, now and then."""
        still = quiet_s >= (after_s if narrows(exchange, symbol) else max(after_s, WHOLE_S))
        return (self.halted or still) and time.monotonic() >= self._next_s

    async def look(self, exchange: Any, symbol: str) -> None:
        """Ask for the market's entry; an answer that lacks it, or does not come, says nothing."""
        began_s, narrow = time.monotonic(), narrows(exchange, symbol)
        try:
            found = [one for one in await _asked(exchange, symbol) if one.get("symbol") == symbol]
            if found:
                self.update(found[0])
        except Exception as error:
            log.debug("the list of markets of %s could not be read: %r", exchange.id, error)
        now_s = time.monotonic()
        self._next_s = now_s + max(HALTED_S if self.halted else QUIET_S if narrow else WHOLE_S, COST * (now_s - began_s))


def narrows(exchange: Any, symbol: str) -> bool:
    """Tells whether the venue lists one market alone where asked to."""
    return exchange.id in NARROW or (exchange.id in NARROW_SPOT and bool(exchange.markets[symbol].get("spot")))


async def _asked(exchange: Any, symbol: str) -> Sequence[Mapping[str, Any]]:
    """The market's entry, alone or among all others."""
    market = exchange.markets[symbol]
    found: Sequence[Mapping[str, Any]]
    if not narrows(exchange, symbol):
        found = await exchange.fetch_markets()
    elif exchange.id in ("bybit", "bybiteu"):
        found = await exchange.fetch_spot_markets({"symbol": market["id"]})
    elif exchange.id in ("okx", "okxus", "myokx"):
        found = await exchange.fetch_markets_by_type(market["type"], {"instId": market["id"]})
    else:
        found = await exchange.fetch_markets({"pair" if exchange.id == "kraken" else "symbol": market["id"]})
    return found


@dataclass
class FeedMemory:
    """Memory of a feed that outlives its connections.

    Attributes:
        reload_markets: whether the next one asks for the list of markets anew, since the market may be gone.
    """

    situations: Situations = field(default_factory=Situations)
    proof: TradeProof = field(default_factory=TradeProof)
    listing: Listing = field(default_factory=Listing)
    reload_markets: bool = False

    def status(self, name: str, state: Status = Status.LIVE, *, gap: bool = False) -> StatusChange:
        """The state of a venue's feed, with those of the market that hold; where `gap`, its book is asked for anew."""
        now = self.situations.say()
        return StatusChange(state=state, message=said_of(name, now), situations=now, gap=gap, resync=gap)


@dataclass
class Unusable:
    """A book of which no row can be made, seen since `since_s` (monotonic) without another between.

    Attributes:
        streamed: whether the stream's is so; else only the one on request.
        denied: times in a row that the book on request was usable.
    """

    since_s: float
    since_ms: int
    error: BookError
    kind: Situation
    amount: float
    streamed: bool
    denied: int = 0


class MarketJudge:
    """Judges each book of a market, streamed or asked for, and the venue's list, and says what follows.

    Args:
        exchange: the ccxt object. symbol: ccxt's. memory: the feed's.
        confirms: tells whether a book confirms those before it, because a lost message would have been noticed.

    Attributes:
        queue: what follows, for whoever reads the connection; an error is its end, None wakes the reader.
        last: the newest usable book. unusable: the one since which there is none. halted: whether the list says so.
        look_at_s: when to ask next whether a state is over. stands: set once the venue has given a book.
        depth: range of prices in which the streamed book is known.
        compares: whether streamed books are compared with those on request; recent: those of the last `KEPT_S` and their times;
            compared_s: when one was found to be the venue's last, or was first there. Monotonic seconds.
    """

    def __init__(
        self, exchange: Any, symbol: str, *, timeouts: Timeouts, memory: FeedMemory, confirms: Callable[[], bool]
    ) -> None:
        self.exchange, self.symbol, self.name = exchange, symbol, str(exchange.name)
        self.timeouts, self.memory, self.confirms = timeouts, memory, confirms
        self.queue: asyncio.Queue[ConnectionEvent | BaseException | None] = asyncio.Queue(maxsize=256)
        self.last: OrderBookSnapshot | None = None
        self.unusable: Unusable | None = None
        self.odd_before = memory.situations.remembers(*OF_BOOK)
        self.halted, self.look_at_s = False, 0.0
        self.stands, self.depth = asyncio.Event(), KnownDepth()
        self.compares = False
        self.compared_s: float | None = None
        self.recent: deque[tuple[float, OrderBookSnapshot]] = deque()

    async def queue_book(self, book: OrderBookSnapshot) -> None:
        """Hand on a book, but not while the market is halted."""
        if not self.halted:
            await self.queue.put(book)

    async def judge_book(self, book: Mapping[str, Any]) -> None:
        """Copy, check and queue one book; until the next one there is none where it cannot be used."""
        try:
            snapshot = snapshot_of(book, confirms=self.confirms())
        except BookError as error:
            await self.lose(book, error, streamed=True)
            return
        await self.recover()
        if not self.depth.covers(snapshot.levels):
            raise OutOfStep("{symbol} has moved past the levels {name} had sent", symbol=self.symbol, name=self.name)
        before, self.last = self.last, self.depth.without_unknown(snapshot)
        if self.halted and before is not None and not np.array_equal(before.levels, self.last.levels):
            self.memory.listing.book_changed()
            await self.heed_list(0.0)
        self.compared_s = self.compared_s or time.monotonic()
        if not self.confirms():
            now = time.monotonic()
            while len(self.recent) > 1 and self.recent[1][0] < now - KEPT_S:
                self.recent.popleft()
            self.recent.append((now, self.last))
        await self.queue_book(self.last)

    async def leave_asked(self, book: Any) -> None:
        """The stream begins with another book than the one asked for before it: when that one ceased to hold is not known.

        Messages confirm the books between themselves. None of them says how long a book held that came before the first.
        """
        if self.last is not None and not same_levels(book, self.last):
            await self.queue.put(self.memory.status(self.name, gap=True))

    async def lose(self, book: Mapping[str, Any], error: BookError, *, streamed: bool) -> None:
        """A book of which no row can be made: until the next usable one there is none."""
        kind, amount = situation_of(book)
        self.stands.set()
        if self.unusable is None:
            now_ns = CLOCK.now_ns()
            self.unusable = Unusable(time.monotonic(), now_ns // 1_000_000, error, kind, amount, streamed)
            self.look_at_s = self.unusable.since_s + self.timeouts.unusable_s
            if self.confirms() and streamed:
                await self.queue.put(Confirmation(until_ns=now_ns))
            await self.queue.put(BookLost(from_ns=now_ns))
            return
        odd = self.unusable
        odd.since_ms = odd.since_ms if kind is odd.kind else CLOCK.now_ms()
        odd.error, odd.kind, odd.amount, odd.streamed = error, kind, amount, odd.streamed or streamed
        if any(map(self.memory.situations.get, OF_BOOK)):
            await self.say_unusable()

    async def say_unusable(self) -> None:
        """Say what is wrong with the book, where something is."""
        if self.unusable is not None:
            self.memory.situations.begin(self.unusable.kind, self.unusable.since_ms, self.unusable.amount)
            await self.tell()

    async def recover(self) -> None:
        """A usable book is there."""
        self.stands.set()
        if self.unusable is not None or self.odd_before:
            self.unusable, self.odd_before = None, False
            self.memory.situations.end(*OF_BOOK)
            await self.tell()

    async def heed_list(self, quiet_s: float) -> None:
        """Look the market up where it is time to, and stop or go on with rows as the list says."""
        listing, situations = self.memory.listing, self.memory.situations
        if listing.is_due(self.exchange, self.symbol, quiet_s, self.timeouts.listing_s):
            await listing.look(self.exchange, self.symbol)
        if listing.halted == self.halted:
            if not self.halted:
                situations.end(Situation.HALTED)  # one that was over before this connection began
            return
        self.halted = listing.halted
        self.stands.set()
        if self.halted:
            situations.begin(Situation.HALTED, CLOCK.now_ms())
            await self.queue.put(BookLost(from_ns=CLOCK.now_ns()))
        else:
            situations.end(Situation.HALTED)
        await self.tell()

    async def tell(self, *, counts: bool = False) -> None:
        """Say which states hold, where that is news; of counts alone once a second."""
        if self.memory.situations.has_news(counts=counts) and self.stands.is_set():
            await self.queue.put(self.memory.status(self.name))

    async def keep_telling(self) -> None:
        """Counts and checks, once a second."""
        situations, proof = self.memory.situations, self.memory.proof
        while True:
            await asyncio.sleep(1.0)
            for kind, count in ((Situation.UNTIMED, proof.untimed), (Situation.ODD_TRADES, proof.odd)):
                if count:
                    situations.begin(kind, CLOCK.now_ms(), count)
            compared = self.compared_s is None or (
                self.compares and time.monotonic() - self.compared_s < self.timeouts.unchecked_s
            )
            if self.confirms() or compared:
                situations.end(Situation.UNCHECKED)
            else:
                situations.begin(Situation.UNCHECKED, CLOCK.now_ms())
            await self.tell(counts=True)
