"""A live feed that several processes share through Redis: one follows the venue, and all take the rows that it wrote.

Switched on by `OBSERVATORY_REDIS=redis://host:port/0`. Whoever holds the market's lease leads: it appends what the grid makes of
the venue's events to a stream, and hands it on once it is there. The others read the stream, and ask for the lease whenever it
may have run out; who gets it first reads to the end. So whatever a session was given stands in the stream, in that order, and
every process predicts from the same rows.

An entry's fields are bytes: a header in JSON, and levels as they lie in memory, little-endian (`encode`). Nothing is pickled.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np

from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import Clock, Feed, FeedEvent, FeedFailed, FeedState, StatusChange, Trade, is_cancelled
from core.market.feeds.venues import ccxt_modules
from core.market.grid import GRID_ITEMS, Confirmed, Gap, Grid, GridItem, Row, next_step
from core.market.predictor import Predictor
from core.messages import Refusal, compose, packed, sentence, unpacked

if TYPE_CHECKING:
    from redis.asyncio import Redis

REDIS_VARIABLE: Final = "OBSERVATORY_REDIS"
"""Environment variable: address of the Redis server by which processes share live feeds; none: each follows its own."""
VERSION: Final = 3
"""Of the entries; processes of another version share another stream."""
TIMEOUT_S: Final = 1.5
"""Most that Redis may take to answer."""
BLOCK_MS: Final = 250
"""Milliseconds that a reader waits for an entry before it asks for the lease."""
AT_ONCE: Final = 64
"""Entries read at once."""
LEASE_MS: Final = 2_000
"""Milliseconds until the lease of a leader that died expires."""
RENEWALS: Final = 4
"""In that time."""
KEPT_ENTRIES: Final = 12_000
"""Entries a stream keeps, about twenty minutes: what a reader that comes late, or was away, can still read."""
IDLE_MS: Final = 3_600_000
"""After so long without an entry Redis drops a stream."""
AGAIN_S: Final = 0.5
"""Between attempts to reach Redis."""
TOLD_S: Final = 30.0
"""Seconds for which a reader says that it missed something."""

APPEND: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local number = redis.call('INCR', KEYS[2])
local id = redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', 'n', number, unpack(ARGV, 5))
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return {id, number}
"""

log = logging.getLogger(__name__)

T = TypeVar("T")

Arrivals: TypeAlias = "asyncio.Queue[Sequence[FeedEvent] | Exception | None]"
"""Events and what the grid makes of each, an error that ends the feed, None once the lease is lost."""


class EntryError(Refusal, ValueError):
    """Bytes that are no entry of the stream."""


def encode(items: Iterable[FeedEvent | GridItem], status: StatusChange, tick: float) -> dict[str, bytes]:
    """An entry: what the grid made, in order, the feed's state after it, and the market's smallest step of price (0 unknown).

    Its fields are `h` the header, and `l` the rows' levels (float64). Bands and the venue's books stay with the leader.
    """
    made = [item for item in items if isinstance(item, GRID_ITEMS)]
    header = {
        "state": status.state.value,
        "message": packed(status.message),
        "tick": tick,
        "items": [[type(item).__name__, _plain(item)] for item in made],
    }
    levels = [item.levels for item in made if isinstance(item, Row)]
    return {"h": json.dumps(header).encode(), "l": np.concatenate([np.zeros(0), *levels]).astype("<f8").tobytes()}


def decode(fields: Mapping[bytes, bytes]) -> tuple[list[GridItem], StatusChange, float]:
    """The inverse of `encode`; a gap says that the rows after it are another process's.

    Raises:
        EntryError: where the fields are no entry.
    """
    try:
        header: dict[str, Any] = json.loads(fields[b"h"])
        levels = np.frombuffer(fields[b"l"], dtype="<f8").astype(np.float64)
        items: list[GridItem] = []
        at = 0
        for kind, values in header["items"]:
            if kind == "Row":
                at, start = at + values["levels"], at
                if at > len(levels):
                    raise ValueError("levels are missing")
                items.append(Row(**values | {"levels": levels[start:at]}))
            elif kind == "Gap":
                items.append(Gap(**values | {"ours": False}))
            else:
                items.append({"Confirmed": Confirmed, "Trade": Trade}[kind](**values))
        status = StatusChange(state=FeedState(header["state"]), message=unpacked(header["message"]))
        return items, status, float(header["tick"])
    except (KeyError, TypeError, ValueError) as error:
        raise EntryError(compose("the shared stream holds an entry that is none of this program's")) from error


def _plain(item: GridItem) -> dict[str, Any]:
    if isinstance(item, Row):
        return item._replace(levels=len(item.levels), bands=None)._asdict()  # type: ignore[arg-type]  # how many of `l`
    return asdict(item)


def shared_by() -> str | None:
    """Redis' address by the environment; None where feeds are not shared."""
    return os.environ.get(REDIS_VARIABLE, "").strip() or None


def connect(url: str) -> Redis:
    """A client of the server at this address, not connected yet; a call fails rather than be sent twice.

    Raises:
        FeedFailed: where the package is missing, or the address is none of Redis'.
    """
    try:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError as error:
        raise FeedFailed(
            "{variable} is set, and the package redis is missing: pip install redis", variable=REDIS_VARIABLE
        ) from error
    try:
        return Redis.from_url(
            url, retry=Retry(NoBackoff(), 0), socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, protocol=2
        )
    except ValueError as error:
        raise FeedFailed(
            "{variable} is no address of a Redis server, such as redis://localhost:6379/0", variable=REDIS_VARIABLE
        ) from error


async def unless_cancelled(answer: Awaitable[T]) -> T:
    """Returns Redis' answer.

    Raises:
        asyncio.CancelledError: where the task was cancelled meanwhile. Until Python 3.12 `asyncio.wait_for`, with which a client
            may wait, returns an answer that comes with the cancelling, and the task would go on.
    """
    value = await answer
    if is_cancelled():
        raise asyncio.CancelledError
    return value


class SharedMarket:
    """One market's lease and stream in Redis; what they raise is redis' own where it cannot be reached.

    The lease is redis' lock, a key that expires and holds a token. A holder that was paused longer than its lease finds
    another's token there, and what it still tries to write is refused where it is written, by the script that writes (Kleppmann,
    "How to do distributed locking", 2016). Entries are numbered, so that a reader notices gaps.
    """

    def __init__(self, client: Redis, name: str) -> None:
        # the braces keep a market's keys on one node of a cluster
        lease, self._numbers, self.stream = (f"observatory:{{{name}}}:{what}" for what in ("lease", "numbers", "stream"))
        self._lease = client.lock(lease, timeout=LEASE_MS / 1e3, blocking=False, thread_local=False)
        self._client = client
        self._append = client.register_script(APPEND)

    async def acquire(self) -> bool:
        """Ask for the lease; False while another holds it."""
        return await unless_cancelled(self._lease.acquire())

    async def renew(self) -> bool:
        """Hold the lease for longer; False where it is no longer one's own."""
        from redis.exceptions import LockError

        try:
            return await unless_cancelled(self._lease.reacquire())
        except LockError:
            return False

    async def release(self) -> None:
        """Leave the lease to others at once, if it is one's own."""
        from redis.exceptions import LockError

        with suppress(LockError):
            await self._lease.release()

    async def append(self, fields: Mapping[str, bytes]) -> tuple[str, int] | None:
        """The new entry's id and number; None where the lease is no longer one's own, and nothing was written."""
        pairs: list[Any] = [part for pair in fields.items() for part in pair]
        args = [self._lease.local.token or "", LEASE_MS, KEPT_ENTRIES, IDLE_MS, *pairs]
        written = await unless_cancelled(self._append(keys=[self._lease.name, self._numbers, self.stream], args=args))
        return None if written is None else (written[0].decode(), int(written[1]))

    async def read(self, after: str, *, block_ms: int | None) -> list[tuple[str, int, dict[bytes, bytes]]]:
        """The next entries' ids, numbers and fields, `AT_ONCE` at most; waits for the first of them so long."""
        answer: Any = await unless_cancelled(self._client.xread({self.stream: after}, count=AT_ONCE, block=block_ms))
        return [(identity.decode(), int(fields[b"n"]), fields) for identity, fields in (answer[0][1] if answer else [])]


class SharedFeed:
    """A live feed shared with other processes; see `core.market.feeds.protocol.Feed`. Its events are the grid's.

    Args:
        inner: followed while this process leads.
        predictor: of the session. Processes with another checkpoint share another stream.
        client: of the Redis server, made in `events`.

    Attributes:
        leads: whether this process leads now. missed: entries that were trimmed before it read them. entries: read so far.
    """

    clock: Clock = "grid"

    def __init__(self, inner: Feed, predictor: Predictor, client: Callable[[], Redis]) -> None:
        self.inner, self.key, self.market = inner, inner.key, inner.market
        self.tick = 0.0  # as the leader knows it
        self.leads, self.missed, self.entries = False, 0, 0
        self.name = f"{self.key}:{VERSION}:{fingerprint(predictor)}"
        self._make_client = client
        self._status = StatusChange(state=FeedState.CONNECTING)
        self._last_id, self._number = "0", 0  # of the newest entry read or written; its number, 0 where unknown
        self._told_until: float | None = None

    async def events(self) -> AsyncIterator[FeedEvent]:
        """See `protocol.Feed.events`.

        Raises:
            FeedFailed: as `inner`, and where Redis' address cannot be used or its stream holds something else.
        """
        from redis.exceptions import RedisError

        yield StatusChange(state=FeedState.CONNECTING)
        if isinstance(self.inner, LiveFeed):  # importing ccxt takes a second, which a lease would not outlast on a busy machine
            await asyncio.to_thread(ccxt_modules)
        client = self._make_client()
        market = SharedMarket(client, self.name)
        try:
            while True:
                try:
                    leads = await market.acquire()
                    async with aclosing(self._read(market, to_the_end=leads)) as read:
                        async for event in read:
                            yield event
                    if leads and await market.renew():
                        async with aclosing(self._lead(market)) as led:
                            async for event in led:
                                yield event
                except RedisError as error:
                    log.warning("the shared stream of %s: %s", self.key, type(error).__name__)
                    message = sentence(compose("Redis, by which servers share this market, cannot be reached; trying again"))
                    self._status = StatusChange(state=FeedState.RECONNECTING, message=message)
                    yield self._status
                    await asyncio.sleep(AGAIN_S)
        except EntryError as error:
            raise FeedFailed(sentence(str(error))) from error
        finally:
            try:
                await market.release()
            except RedisError:
                log.info("the lease of %s runs out by itself", self.key)
            finally:
                await client.aclose()

    async def _read(self, market: SharedMarket, *, to_the_end: bool) -> AsyncGenerator[FeedEvent]:
        """Yields the items written since the last entry: all of them, or those that come within `BLOCK_MS`."""
        while entries := await market.read(self._last_id, block_ms=None if to_the_end else BLOCK_MS):
            for entry in entries:
                for event in self._taken(*entry):
                    yield event
            if not to_the_end:
                return

    def _taken(self, identity: str, number: int, fields: dict[bytes, bytes]) -> Iterator[FeedEvent]:
        items, status, tick = decode(fields)
        skipped = number - self._number - 1 if self._number else 0
        self._last_id, self._number, self.entries = identity, number, self.entries + 1
        if skipped:
            self.missed += max(skipped, 0)
            self._told_until = time.monotonic() + TOLD_S
            log.warning("%s: %d entries were trimmed before they were read", self.key, skipped)
            yield Gap(ours=False)
            message = compose("While this server was away, {count} updates of this market went by unread", count=skipped)
            yield StatusChange(state=status.state, message=sentence(message))
        elif status != self._status or (self._told_until is not None and time.monotonic() > self._told_until):
            self._told_until = None
            yield status
        self._status, self.tick = status, tick or self.tick
        yield from items

    async def _lead(self, market: SharedMarket) -> AsyncGenerator[FeedEvent]:
        """Yields what the venue sends and what the grid makes of it, once it is in the stream; ends with the lease."""
        log.info("this process leads %s", self.key)
        grid = Grid(self.inner.clock)
        queue: Arrivals = asyncio.Queue(maxsize=256)
        tasks = [asyncio.create_task(self._hold(market, queue)), asyncio.create_task(self._follow(grid, queue))]
        if grid.wall:
            tasks.append(asyncio.create_task(self._tick(grid, queue)))
        waiting: list[FeedEvent] = [Gap(), StatusChange(state=FeedState.CONNECTING)]
        self.leads = True
        try:
            while await self._append(market, waiting):
                for event in waiting:
                    yield event
                waiting = []
                while all(isinstance(event, Trade) for event in waiting):  # which wait for a book or a row, a step at most
                    events = await queue.get()
                    if events is None:
                        return
                    if isinstance(events, Exception):
                        raise events
                    waiting += events
                    if not events:
                        break
        finally:
            self.leads = False
            log.info("this process leads %s no longer", self.key)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _append(self, market: SharedMarket, events: Sequence[FeedEvent]) -> bool:
        """Write what others take of these events; False where this process leads no more."""
        states = [event for event in events if isinstance(event, StatusChange)]
        if states:
            self._status = replace(states[-1], gap=False, resync=False)
        if states or any(isinstance(event, GRID_ITEMS) for event in events):
            self.tick = self.inner.tick or self.tick
            written = await market.append(encode(events, self._status, self.tick))
            if written is None:
                return False
            self._last_id, self._number = written
        return True

    async def _follow(self, grid: Grid, queue: Arrivals) -> None:
        events: Any = self.inner.events()
        try:
            async with aclosing(events):
                async for event in events:
                    await queue.put(grid.take(event))
            ended = compose("The feed has ended")
            raise FeedFailed(sentence(ended))
        except Exception as error:
            await queue.put([grid.gap()])  # rows that nothing confirmed
            await queue.put(error)

    async def _tick(self, grid: Grid, queue: Arrivals) -> None:
        while True:
            await next_step()
            await queue.put(grid.tick())

    async def _hold(self, market: SharedMarket, queue: Arrivals) -> None:
        """Renew the lease; None goes into the queue once it is lost, and what Redis raised where it cannot be reached."""
        try:
            while await market.renew():
                await asyncio.sleep(LEASE_MS / RENEWALS / 1e3)
            await queue.put(None)
        except Exception as error:
            await queue.put(error)


def fingerprint(predictor: Predictor) -> str:
    """Names a checkpoint by its card, which holds its weights' hash."""
    return hashlib.sha256(json.dumps(predictor.card, sort_keys=True, default=str).encode()).hexdigest()[:12]


def shared(feed: Feed, predictor: Predictor) -> Feed:
    """The feed, shared with other processes where the environment says so."""
    url = shared_by()
    return feed if url is None else SharedFeed(feed, predictor, lambda: connect(url))
