"""One connection to one market of one exchange: from the first request to the first failure.

Whoever opened a connection closes it. A failure is raised as it came, for `failures.classify_failure`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from core.market.book import (
    ASK_PRICES,
    BID_PRICES,
    LEVELS,
    STEP_MS,
    BookError,
    FloatArray,
    OrderBookSnapshot,
    all_levels,
)
from core.market.feeds.clock import CLOCK
from core.market.feeds.failures import BooksDiffer, EmptyList, OutOfStep, UnusableBook, WentQuiet
from core.market.feeds.listing import Listing
from core.market.feeds.protocol import (
    BookLost,
    Confirmation,
    FeedFailed,
    FeedState,
    StatusChange,
    Trade,
    TradesBreak,
    is_cancelled,
)
from core.market.feeds.situations import OF_BOOK, Situation, Situations, said_of, situation_of
from core.market.feeds.stream_checks import StreamCheck, check_for, differing_levels
from core.market.feeds.trade_proof import TradeProof
from core.market.feeds.venues import nearest, poll_levels, socket_levels, venue_tick
from core.messages import compose

TENTH_ASK, TENTH_BID = 4 * LEVELS - 4, 4 * LEVELS - 2


def snapshot_of(book: Mapping[str, Any], *, confirms: bool = True) -> OrderBookSnapshot:
    """The first levels of a ccxt order book, copied, because ccxt keeps writing to the object it returned.

    Raises:
        BookError: for a book that is short, crossed or unsorted, or has a price or size that no market has.
    """
    received_ns = CLOCK.now_ns()
    try:
        levels, deep = all_levels(book["asks"], book["bids"])
    except BookError:
        raise
    except (TypeError, ValueError, LookupError) as error:
        raise BookError(compose("the book has a level that is not a price and a size")) from error
    nonce = book.get("nonce")
    return OrderBookSnapshot(
        levels=levels,
        exchange_ms=int(book.get("timestamp") or received_ns // 1_000_000),
        received_ns=received_ns,
        sequence=int(nonce) if isinstance(nonce, int | float) else None,
        confirms=confirms,
        deep=deep,
    )


class KnownDepth:
    """Range of prices in which a book built from a snapshot and later changes is known.

    A snapshot of the best n levels leaves out the deeper ones, which are not sent until someone changes them. Once the market has
    moved so far that the tenth level lies among those, a level may be missing, and only a fresh snapshot helps. Without a
    snapshot every level counts as known: the venue itself keeps the best levels up to date.
    """

    def __init__(self) -> None:
        self._ask, self._bid = math.inf, -math.inf

    def learn(self, snapshot: Mapping[str, Any], asked: int | None) -> None:
        """Take in a snapshot of at most `asked` levels a side. A side whose length is no round number was not cut off."""
        asks, bids = snapshot["asks"], snapshot["bids"]
        self._ask = asks[-1][0] if _cut_off(asks, asked) else math.inf
        self._bid = bids[-1][0] if _cut_off(bids, asked) else -math.inf

    def narrow(self, book: Mapping[str, Any], depth: int | None) -> None:
        """Account for the client dropping levels past `depth` on a full side."""
        if depth is None or (math.isinf(self._ask) and math.isinf(self._bid)):
            return
        if len(book["asks"]) >= depth:
            self._ask = min(self._ask, book["asks"][-1][0])
        if len(book["bids"]) >= depth:
            self._bid = max(self._bid, book["bids"][-1][0])

    def covers(self, snapshot: OrderBookSnapshot) -> bool:
        """Tells whether all ten levels a side are known."""
        return bool(snapshot.levels[TENTH_ASK] <= self._ask and snapshot.levels[TENTH_BID] >= self._bid)

    def without_unknown(self, snapshot: OrderBookSnapshot) -> OrderBookSnapshot:
        """The snapshot without levels past the tenth that are deeper than the book is known."""
        if not len(snapshot.deep) or (snapshot.deep[-4] <= self._ask and snapshot.deep[-2] >= self._bid):
            return snapshot  # the deepest of all is known
        known = (snapshot.deep[ASK_PRICES] <= self._ask) & (snapshot.deep[BID_PRICES] >= self._bid)
        return snapshot if known.all() else replace(snapshot, deep=snapshot.deep[: 4 * int(known.argmin())])


def _cut_off(side: Sequence[Any], asked: int | None) -> bool:
    return bool(side) and (len(side) == asked or len(side) % 10 == 0)


def is_usable(book: Any) -> bool:
    """Tells whether a row can be made of a book of ccxt's."""
    try:
        snapshot_of(book)
    except BookError:
        return False
    return True


def same_levels(book: Any, known: OrderBookSnapshot) -> bool:
    """Tells whether a book of ccxt's has the levels of a known one; a book that cannot be used has not."""
    try:
        return np.array_equal(snapshot_of(book).levels, known.levels)
    except BookError:
        return False


Transport = Literal["auto", "socket", "poll"]
ConnectionEvent = OrderBookSnapshot | Trade | TradesBreak | Confirmation | BookLost | StatusChange

COMPARED = 20
"""Levels a side that are compared: those past the tenth may soon be among the ten; some venues let go of deeper ones unsaid."""
KEPT_S = 30.0
"""Streamed books are kept for so long, to be compared with one on request."""
LONGEST_WORD = 16
"""Characters of a message that is no JSON: venues send "ping", "pong" and the like. ccxt passes over any other."""
NEWS_S = 0.05
"""Seconds in which ccxt hands on by itself what a message has changed."""
TRADED_MS = 2_000
"""A trade so long after a halt began shows that there is none."""
DENIED = 2
"""Usable books on request in a row after which a stream's unusable one is wrong."""

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


class _TappedTrades(dict[str, Any]):
    """ccxt's caches of trades by symbol, which hand on each trade of one market as it is added.

    What `watch_trades` returns lacks those that come while nobody waits, and all but a thousand of a burst.

    Attributes:
        tapped: whether a cache of this market was seen.
    """

    def __init__(self, caches: Mapping[str, Any], symbol: str, take: Callable[[Any], None]) -> None:
        super().__init__(caches)
        self._symbol, self._take, self._cache = symbol, take, None

    @property
    def tapped(self) -> bool:
        return self._cache is not None

    def __setitem__(self, symbol: str, cache: Any) -> None:
        super().__setitem__(symbol, cache)
        if symbol != self._symbol or cache is self._cache:
            return
        self._cache, append = cache, cache.append
        for trade in list(cache):  # some venues' are filled before they are kept
            self._take(trade)

        def add(trade: Any) -> None:
            append(trade)
            self._take(trade)

        cache.append = add


@dataclass
class _Unusable:
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


class Connection:
    """Follows a market with a ccxt exchange object: by socket where it has one, otherwise by asking again and again.

    Args:
        exchange: the ccxt object, used in the running loop only.
        symbol: ccxt's unified symbol.
        transport: "auto", or one of the two ways alone.
        trades: whether to follow trades too, where the venue streams them.
        memory: the feed's.
    """

    def __init__(
        self,
        exchange: Any,
        symbol: str,
        *,
        transport: Transport = "auto",
        trades: bool = True,
        timeouts: Timeouts | None = None,
        memory: FeedMemory | None = None,
    ) -> None:
        self._exchange, self._symbol, self._name = exchange, symbol, str(exchange.name)
        self._transport, self._with_trades, self._memory = transport, trades, memory or FeedMemory()
        self._timeouts = timeouts or Timeouts()
        self._fetch = exchange.fetch_order_book
        self._make_client, self._handle = getattr(exchange, "client", None), getattr(exchange, "handle_message", None)
        self._depth = KnownDepth()
        self._check = StreamCheck()
        self._refusal: Exception | None = None
        self._watching: asyncio.Future[Any] | None = None  # ccxt at work on the next book
        self._watched = self._taped = False  # whether the books' socket was made, and the trades'
        self._watching_trades: asyncio.Future[Any] | None = None  # ccxt at work on the next trades
        self._compares = self._polls = False
        self._compared_s: float | None = None  # when the streamed book was found to be the venue's last, or was first there
        self._recent: deque[tuple[float, OrderBookSnapshot]] = deque()  # streamed books and their times, monotonic seconds
        self.tick = 0.0  # by the venue's list of markets, once it is loaded
        self._last: OrderBookSnapshot | None = None
        self._unusable: _Unusable | None = None
        self._halted, self._look_at_s = False, 0.0  # when to ask next whether a state is over
        self._odd_before = self._memory.situations.remembers(*OF_BOOK)
        self._stands = asyncio.Event()  # the venue has given a book
        self._queue: asyncio.Queue[ConnectionEvent | BaseException | None] = asyncio.Queue(maxsize=256)
        self._over = False
        self._message: list[Any] = []  # trades of the message that ccxt is at
        self._trades: deque[Trade | TradesBreak] = deque()

    async def events(self) -> AsyncIterator[ConnectionEvent]:
        """Books, trades and confirmations until something fails.

        Raises:
            FeedFailed: for a symbol the exchange does not have, or no longer trades.
            Exception: whatever ccxt or the network raised.
        """
        await self._load(reload=self._memory.reload_markets)
        self._check = check_for(self._exchange, self._symbol)
        socket = self._transport != "poll" and bool(self._exchange.has.get("watchOrderBook"))
        if self._transport == "socket" and not socket:
            raise FeedFailed("{name} has no socket for order books: ask for its books one by one instead", name=self._name)
        self._fault: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        tasks = [asyncio.create_task(self._forward_failure(self._watch() if socket else self._poll()))]
        tasks.append(asyncio.create_task(self._keep_telling()))
        if self._with_trades and self._exchange.has.get("watchTrades"):
            tasks.append(asyncio.create_task(self._follow_trades()))
        self._compares = socket and bool(self._exchange.has.get("fetchOrderBook")) and not self._check.reliable
        if self._compares:
            tasks.append(asyncio.create_task(self._compare_books()))
        try:
            while True:
                if self._trades and self._queue.empty():  # books first: a burst of trades does not delay them
                    yield self._trades.popleft()
                    continue
                item = await self._queue.get()
                if isinstance(item, BaseException):
                    self._take_trades()
                    while self._trades:  # they are known as handed on
                        yield self._trades.popleft()
                    raise item
                if item is not None:
                    yield item
        finally:
            self._over = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._unhook()

    async def _load(self, *, reload: bool) -> None:
        """The list of markets. A symbol that it lacks is looked up once more, since the list itself may have come garbled."""
        exchange, symbol, name = self._exchange, self._symbol, self._name
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
            raise FeedFailed("{name} has no market {symbol!r}", name=name, symbol=symbol)
        if fresh:
            self._memory.listing.read(exchange.markets[symbol])
        self.tick = venue_tick(exchange, symbol)

    # -- states that pass -----------------------------------------------------------------------------------------------

    async def _tell(self, *, counts: bool = False) -> None:
        """Say which states hold, where that is news; of counts alone once a second."""
        if self._memory.situations.has_news(counts=counts) and self._stands.is_set():
            await self._queue.put(self._status())

    def _status(self, *, gap: bool = False) -> StatusChange:
        now = self._memory.situations.say()
        return StatusChange(state=FeedState.LIVE, message=said_of(self._name, now), situations=now, gap=gap, resync=gap)

    async def _keep_telling(self) -> None:
        """Counts and checks, once a second."""
        situations, proof = self._memory.situations, self._memory.proof
        while True:
            await asyncio.sleep(1.0)
            for kind, count in ((Situation.UNTIMED, proof.untimed), (Situation.ODD_TRADES, proof.odd)):
                if count:
                    situations.begin(kind, CLOCK.now_ms(), count)
            since_s = self._compared_s
            if self._confirms or since_s is None:
                situations.end(Situation.UNCHECKED)
            elif not self._compares or time.monotonic() - since_s >= self._timeouts.unchecked_s:
                situations.begin(Situation.UNCHECKED, CLOCK.now_ms())
            else:
                situations.end(Situation.UNCHECKED)
            await self._tell(counts=True)

    async def _heed_list(self, quiet_s: float) -> None:
        """Look the market up where it is time to, and stop or go on with rows as the list says."""
        listing, situations = self._memory.listing, self._memory.situations
        if listing.is_due(self._exchange, self._symbol, quiet_s, self._timeouts.listing_s):
            await listing.look(self._exchange, self._symbol)
        if listing.halted == self._halted:
            if not self._halted:
                situations.end(Situation.HALTED)  # one that was over before this connection began
            return
        self._halted = listing.halted
        self._stands.set()
        if self._halted:
            situations.begin(Situation.HALTED, CLOCK.now_ms())
            await self._queue.put(BookLost(from_ns=CLOCK.now_ns()))
        else:
            situations.end(Situation.HALTED)
        await self._tell()

    async def _lose(self, book: Mapping[str, Any], error: BookError, *, streamed: bool) -> None:
        """A book of which no row can be made: until the next usable one there is none."""
        kind, amount = situation_of(book)
        self._stands.set()
        if self._unusable is None:
            now_ns = CLOCK.now_ns()
            self._unusable = _Unusable(time.monotonic(), now_ns // 1_000_000, error, kind, amount, streamed)
            self._look_at_s = self._unusable.since_s + self._timeouts.unusable_s
            if self._confirms and streamed:
                await self._queue.put(Confirmation(until_ns=now_ns))
            await self._queue.put(BookLost(from_ns=now_ns))
            return
        odd = self._unusable
        odd.since_ms = odd.since_ms if kind is odd.kind else CLOCK.now_ms()
        odd.error, odd.kind, odd.amount, odd.streamed = error, kind, amount, odd.streamed or streamed
        if self._memory.situations.has(*OF_BOOK):
            await self._say_unusable()

    async def _say_unusable(self) -> None:
        if self._unusable is not None:
            self._memory.situations.begin(self._unusable.kind, self._unusable.since_ms, self._unusable.amount)
            await self._tell()

    async def _recover(self) -> None:
        """A usable book is there."""
        self._stands.set()
        if self._unusable is not None or self._odd_before:
            self._unusable, self._odd_before = None, False
            self._memory.situations.end(*OF_BOOK)
            await self._tell()

    async def _look_into(self) -> None:
        """The stream's book cannot be used: ask whether the venue's own is so. If it is, that is how the market stands.

        Raises:
            OutOfStep: where the venue's own book is usable.
            UnusableBook: where no book can be asked for: a fresh snapshot may help.
        """
        odd, now_s = self._unusable, time.monotonic()
        if odd is None or now_s < self._look_at_s:
            return
        self._look_at_s = now_s + self._timeouts.look_s
        if not self._exchange.has.get("fetchOrderBook"):
            await self._say_unusable()
            if not self._odd_before or now_s - odd.since_s >= self._timeouts.renew_s:
                raise UnusableBook(
                    "{name} sends no usable book of {symbol}: {error}", name=self._name, symbol=self._symbol, error=odd.error
                ) from odd.error
            return
        asked_ns = CLOCK.now_ns()
        book = await self._fetch(self._symbol, poll_levels(self._exchange.id))
        try:
            asked = snapshot_of(book)
        except BookError as error:
            odd.denied = 0
            if not odd.streamed:
                await self._lose(book, error, streamed=False)
            await self._say_unusable()
            return
        if self._unusable is not odd:
            return
        if not odd.streamed and (self._last is None or np.array_equal(asked.levels, self._last.levels)):
            await self._recover()
            self._last = asked if self._last is None else replace(self._last, received_ns=asked_ns)
            await self._put_book(self._last)
            return
        odd.denied += 1
        self._look_at_s = now_s + self._timeouts.again_s
        if odd.denied >= DENIED:
            raise OutOfStep("the book that {name} streams cannot be used, other than the one on request", name=self._name)

    async def _put_book(self, book: OrderBookSnapshot) -> None:
        """Hand on a book, but not while the market is halted."""
        if not self._halted:
            await self._queue.put(book)

    async def _forward_failure(self, following: Coroutine[Any, Any, None]) -> None:
        try:
            await following
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            await self._queue.put(error)
        except Exception as error:
            await self._queue.put(error)

    # -- what ccxt does with a message ----------------------------------------------------------------------------------

    def _hook(self) -> None:
        """Have ccxt's snapshots, messages and clients pass through here."""
        self._exchange.fetch_order_book = self._fetch_and_learn
        self._exchange.handle_message = self._check_message
        self._exchange.client = self._client

    def _unhook(self) -> None:
        self._exchange.fetch_order_book = self._fetch
        if self._handle is not None:
            self._exchange.handle_message, self._exchange.client = self._handle, self._make_client
        if self._fault.done():
            self._fault.exception()

    async def _fetch_and_learn(self, symbol: str, limit: int | None = None, params: Mapping[str, Any] | None = None) -> Any:
        """A snapshot for ccxt. After a refusal ccxt would ask twice more at once, against the venue's Retry-After."""
        if self._refusal is not None:
            raise self._refusal
        try:
            book = await self._fetch(symbol, limit, dict(params or {}))
        except Exception as error:
            self._refusal = error
            raise
        self._depth.learn(book, limit)
        return book

    def _client(self, url: str) -> Any:
        """ccxt's client of a socket, which would otherwise stop reading at the first error, unnoticed."""
        known = url in (self._exchange.clients or {})
        if not known and asyncio.current_task() is self._watching:
            if self._watched:  # the socket ended between two reads; ccxt would open another without a word of what was missed
                import ccxt

                raise ccxt.NetworkError(f"{self._exchange.id} closed the socket")
            self._watched = True
        if not known and asyncio.current_task() is self._watching_trades:
            if self._taped:  # so did that of the trades: a venue may send its last ones again
                self._memory.proof.cut(CLOCK.now_ms())
            self._taped = True
        client = self._make_client(url)  # type: ignore[misc]  # there wherever there is a socket
        if not known:
            read = client.handle_message

            def read_or_fail(message: Any) -> None:
                try:
                    read(message)
                except Exception as error:
                    self._fail(error)

            send = client.send
            client.send = lambda message: send(self._check.outgoing(message))
            client.handle_message = read_or_fail
        return client

    def _check_message(self, client: Any, message: Any) -> None:
        self._handle(client, message)  # type: ignore[misc]  # there wherever there is a socket
        if not self._news.done():
            self._news.set_result(None)
        if isinstance(message, str) and len(message) > LONGEST_WORD:
            self._fail(OutOfStep("{name} sent a message that cannot be read", name=self._name))
        elif not self._check.in_step(message):
            self._fail(OutOfStep("an update of {name} went missing", name=self._name))

    def _fail(self, error: Exception) -> None:
        import ccxt

        log.info("a message of %s could not be used: %r", self._name, error)
        if not isinstance(error, (ccxt.BaseError, OutOfStep)):
            error = OutOfStep("{name} sent a message that cannot be read", name=self._name)
        if not self._fault.done():
            self._fault.set_exception(error)

    @property
    def _confirms(self) -> bool:
        """Tells whether a book confirms those before it, because a lost message would have been noticed."""
        return self._polls or self._check.reliable

    # -- books by socket ----------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        depth = socket_levels(self._exchange.id, self._exchange.markets[self._symbol])
        self._hook()
        try:
            await self._watch_books(depth)
        except self._not_supported() as error:
            if self._transport == "socket":
                raise
            log.info("%s has no socket for %s (%s): asking for its books instead", self._name, self._symbol, error)
        finally:
            if self._watching is not None:
                self._watching.cancel()
                await asyncio.gather(self._watching, return_exceptions=True)
        self._compares = False
        await self._poll()

    async def _watch_books(self, depth: int | None) -> None:
        quiet_since, asks = time.monotonic(), _Asks()
        asked_at, streamed = quiet_since, False
        await self._heed_list(0.0)
        while True:
            patience_s = self._patience(asks)
            book = await self._next_book(depth, patience_s, unseen=streamed)
            if book is not None:
                if not streamed:
                    await self._leave_asked(book)
                streamed, quiet_since, asks = True, time.monotonic(), _Asks()
                asked_at = quiet_since
                self._depth.narrow(book, depth)
                await self._hand_on(book)
            quiet_s = time.monotonic() - (quiet_since if self._unusable is None else min(quiet_since, self._unusable.since_s))
            was_halted = self._halted
            await self._heed_list(quiet_s)
            if self._unusable is not None:
                await self._look_into()
            elif not self._halted and (was_halted or time.monotonic() - asked_at >= patience_s):
                asked_at = time.monotonic()
                await self._ask(quiet_s, asks)

    async def _next_book(self, depth: int | None, patience_s: float, *, unseen: bool) -> Any | None:
        """The next book of the stream; None where none came in time.

        Args:
            unseen: whether to look for one that ccxt has, and says nothing of.
        """
        if self._watching is None:
            self._watching = asyncio.ensure_future(self._exchange.watch_order_book(self._symbol, depth))
        waiting = {self._watching, self._fault}
        if self._news.done():
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.wait({*waiting, self._news}, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
        if self._news.done() and not self._watching.done():
            await asyncio.wait(waiting, timeout=NEWS_S, return_when=asyncio.FIRST_COMPLETED)
        if self._fault.done():
            self._fault.result()
        if not self._watching.done():
            return self._unseen() if unseen else None
        book, self._watching = self._watching.result(), None
        return book

    def _unseen(self) -> Any | None:
        """The book as ccxt has it, where it differs from the last one handed on.

        ccxt tells of a message only if it is being waited for at that moment: one that comes right after another would be seen
        with the next, and before a silence not at all.
        """
        book = (self._exchange.orderbooks or {}).get(self._symbol)
        if book is None:
            return None
        if self._unusable is not None and self._unusable.streamed:
            return book if is_usable(book) else None
        return None if self._last is None or same_levels(book, self._last) else book

    async def _leave_asked(self, book: Any) -> None:
        """The stream begins with another book than the one asked for before it: when that one ceased to hold is not known.

        Messages confirm the books between themselves. None of them says how long a book held that came before the first.
        """
        if self._last is not None and not same_levels(book, self._last):
            await self._queue.put(self._status(gap=True))

    def _patience(self, asks: _Asks) -> float:
        if self._unusable is not None:
            return max(0.0, self._look_at_s - time.monotonic())
        if self._halted:
            return self._timeouts.look_s
        soon = asks.touch_differs or asks.moved_since_s is not None or asks.differing == 1
        return self._timeouts.again_s if soon else self._timeouts.quiet_s

    async def _ask(self, quiet_s: float, asks: _Asks) -> None:
        """Nothing has arrived for a while: ask for the book, to tell a quiet market from a dead stream.

        Raises:
            WentQuiet: where the venue's book changed without a message, or the silence is too long.
        """
        name = self._name
        if not self._exchange.has.get("fetchOrderBook"):
            if quiet_s > self._timeouts.silent_s:
                raise WentQuiet("{name} has sent nothing for {seconds:.0f} s", name=name, seconds=quiet_s)
            return
        asked_ns = CLOCK.now_ns()
        asked = await self._fetch(self._symbol, poll_levels(self._exchange.id))
        try:
            book = snapshot_of(asked)
        except BookError as error:
            await self._lose(asked, error, streamed=False)
            return
        if self._last is None:  # no message yet: this book is the first, from when it came: the venue made it after being asked
            await self._recover()
            self._last = book
            await self._put_book(book)
            return
        if not np.array_equal(book.levels, self._last.levels):
            touch_differs = not np.array_equal(book.levels[:3:2], self._last.levels[:3:2])  # best ask and best bid
            asks.differing_since_s = quiet_s if asks.differing_since_s is None else asks.differing_since_s
            asks.differing += 1
            if asks.moved_since_s is None and asks.asked is not None and not np.array_equal(book.levels, asks.asked):
                asks.moved_since_s = quiet_s
            asks.asked = book.levels
            moved = asks.moved_since_s is not None and quiet_s - asks.moved_since_s >= self._timeouts.settle_s
            lasting = quiet_s - asks.differing_since_s >= self._timeouts.differing_s
            if (touch_differs and asks.touch_differs) or moved or lasting:
                raise WentQuiet("{name} stopped sending while its book moved on", name=name)
            asks.touch_differs = touch_differs
            return
        asks.touch_differs, asks.differing_since_s, asks.moved_since_s, asks.asked, asks.differing = False, None, None, None, 0
        known, asks.number = (None, self._last.sequence, asks.number), book.sequence
        if book.sequence in known:  # else it went away and came back meanwhile, or something deeper changed
            await self._put_book(replace(self._last, received_ns=asked_ns))

    async def _hand_on(self, book: Mapping[str, Any]) -> None:
        """Copy, check and queue one book; until the next one there is none where it cannot be used."""
        try:
            snapshot = snapshot_of(book, confirms=self._confirms)
        except BookError as error:
            await self._lose(book, error, streamed=True)
            return
        await self._recover()
        if not self._depth.covers(snapshot):
            raise OutOfStep("{symbol} has moved past the levels {name} had sent", symbol=self._symbol, name=self._name)
        before, self._last = self._last, self._depth.without_unknown(snapshot)
        if self._halted and before is not None and not np.array_equal(before.levels, self._last.levels):
            self._memory.listing.moved()
            await self._heed_list(0.0)
        self._compared_s = self._compared_s or time.monotonic()
        if not self._confirms:
            now = time.monotonic()
            while len(self._recent) > 1 and self._recent[1][0] < now - KEPT_S:
                self._recent.popleft()
            self._recent.append((now, self._last))
        await self._put_book(self._last)

    # -- comparison with the venue's book -------------------------------------------------------------------------------

    async def _compare_books(self) -> None:
        """Compare the streamed book with the one on request, where nothing else would notice a lost message.

        A level that was at rest in the stream at the time, but differs, was changed by a message that was lost. What a later
        message has put right by then goes unnoticed.
        """
        while True:
            await asyncio.sleep(self._timeouts.compare_s)
            if self._confirms or not self._recent or self._unusable is not None:  # nothing to compare, or no need to
                self._compared_s = self._compared_s and time.monotonic()
                continue
            asked_ns, asked_s = CLOCK.now_ns(), time.monotonic()
            try:
                asked = snapshot_of(await self._fetch(self._symbol, poll_levels(self._exchange.id)))
            except Exception as error:
                log.debug("the book of %s on %s could not be compared: %s", self._symbol, self._name, error)
                continue
            await asyncio.sleep(self._timeouts.settle_s)
            while len(self._recent) > 1 and self._recent[1][0] <= asked_s - self._timeouts.settle_s:
                self._recent.popleft()
            books = [one.whole[: 4 * COMPARED] for _, one in self._recent]  # those that held since then
            if differing_levels(asked.whole[: 4 * COMPARED], books):
                self._fail(BooksDiffer("the book that {name} streams differs from the one it gives on request", name=self._name))
                return
            self._compared_s = time.monotonic()
            # levels that changed while it was asked were not compared: what went wrong with them then is seen the next time
            await self._queue.put(Confirmation(until_ns=asked_ns - int(self._timeouts.settle_s * 1e9)))

    # -- books by asking ----------------------------------------------------------------------------------------------

    async def _poll(self) -> None:
        """Ask as often as the exchange allows, but no more often than a row is taken."""
        if not self._exchange.has.get("fetchOrderBook"):
            raise FeedFailed("{name} gives no order books: choose another exchange", name=self._name)
        pace_s = max(self._exchange.rateLimit, STEP_MS) / 1e3
        limit = poll_levels(self._exchange.id)
        self._polls, situations = True, self._memory.situations
        situations.begin(Situation.ASKED, CLOCK.now_ms())
        situations.end(Situation.STILL)
        moved_s, moved_ms, before = time.monotonic(), CLOCK.now_ms(), None
        while True:
            asked_s = time.monotonic()
            book = await self._fetch(self._symbol, limit)
            now = [level[:2] for side in ("asks", "bids") for level in book[side][:LEVELS]]
            if now != before:
                moved_s, moved_ms, before = asked_s, CLOCK.now_ms(), now
                situations.end(Situation.STILL)
            elif asked_s - moved_s > self._timeouts.still_s:
                situations.begin(Situation.STILL, moved_ms, self._timeouts.still_s)
            await self._heed_list(asked_s - moved_s)
            await self._hand_on(book)
            if self._unusable is not None and time.monotonic() >= self._look_at_s:
                await self._say_unusable()
            await self._tell()
            await asyncio.sleep(max(0.0, pace_s - (time.monotonic() - asked_s)))

    # -- trades -------------------------------------------------------------------------------------------------------

    async def _follow_trades(self) -> None:
        """Trades are optional: their failures do not end the connection."""
        proof = self._memory.proof
        proof.followed = True
        self._exchange.trades = tapped = _TappedTrades(self._exchange.trades or {}, self._symbol, self._trade_came)
        try:
            while True:
                try:
                    self._watching_trades = watching = asyncio.ensure_future(self._exchange.watch_trades(self._symbol))
                    if proof.interrupted and not await self._failed_soon(watching):
                        self._resume_trades()
                    came = await watching
                    for trade in () if tapped.tapped else came:
                        self._trade_came(trade)
                except self._not_supported() as error:
                    log.info("%s streams no trades of %s: %s", self._name, self._symbol, error)
                    proof.followed = False
                    return
                except asyncio.CancelledError:
                    if is_cancelled():
                        raise
                    await self._wait_for_trades()
                except Exception as error:
                    log.debug("trades of %s on %s: %s", self._symbol, self._name, error)
                    await self._wait_for_trades()
        finally:
            if self._watching_trades is not None:
                self._watching_trades.cancel()
                await asyncio.gather(self._watching_trades, return_exceptions=True)

    async def _failed_soon(self, watching: asyncio.Future[Any]) -> bool:
        """Tells whether following the trades failed within a moment of the connection's standing."""
        stands = asyncio.ensure_future(self._stands.wait())
        try:
            await asyncio.wait({watching, stands}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({watching}, timeout=self._timeouts.settle_s)
        finally:
            stands.cancel()
        return watching.done() and (watching.cancelled() or watching.exception() is not None)

    async def _wait_for_trades(self) -> None:
        self._take_trades()
        self._memory.proof.cut(CLOCK.now_ms())
        await asyncio.sleep(self._timeouts.trades_s)

    def _resume_trades(self) -> None:
        interruption = self._memory.proof.resumed(CLOCK.now_ms())
        if interruption is not None:
            self._trades.append(interruption)
            self._wake()

    def _trade_came(self, trade: Any) -> None:
        """ccxt has a trade; all of its message are taken together."""
        if self._over:  # nobody would get it; the next connection may be sent it again
            return
        if not self._message:
            asyncio.get_running_loop().call_soon(self._take_trades)
        self._message.append(trade)

    def _take_trades(self) -> None:
        message, self._message = self._message, []
        if not message:
            return
        self._resume_trades()
        fresh = self._memory.proof.take(message)
        halt = self._memory.situations.get(Situation.HALTED)
        if halt is not None and any(trade.exchange_ms > halt.since_ms + TRADED_MS for trade in fresh):
            self._memory.listing.traded()
        self._trades.extend(fresh)
        self._wake()

    def _wake(self) -> None:
        """Have the trades handed on, where nothing else waits."""
        if self._queue.empty():
            self._queue.put_nowait(None)

    @staticmethod
    def _not_supported() -> tuple[type[BaseException], ...]:
        import ccxt

        return ccxt.NotSupported, ccxt.AuthenticationError, ccxt.BadRequest


@dataclass
class _Asks:
    """Results of asking the venue since the last message: see `Connection._ask`.

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
