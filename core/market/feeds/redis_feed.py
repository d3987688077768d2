"""A live feed that several processes share through Redis: one follows the venue and predicts, the others read what it wrote.

Switched on by `OBSERVATORY_REDIS=redis://host:port/0`. Whoever holds the market's lease leads; a reader asks for the lease
whenever it may have run out, and first reads to the end of the stream. A leader that lost it reads on from where it was.

A leader writes a step after each batch: its items, their predictions, and the status. A step's fields are bytes: a header in
JSON, and numbers as they lie in memory, little-endian (`encode_step`). Nothing is pickled.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import Feed, FeedEvent, FeedFailed, FeedState, SharedEvent, StatusChange, Trade, is_cancelled
from core.market.feeds.venues import ccxt_modules
from core.market.grid import Confirmed, Gap, GridItem, Row
from core.market.labels import UNKNOWN
from core.market.predictor import Predictions, Predictor
from core.messages import Refusal, compose, packed, sentence, unpacked

if TYPE_CHECKING:
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis

VERSION: Final = 2
_NO_PROBABILITIES: Final = np.zeros((0, 0, 3), dtype=np.float32)
_NO_CALLS: Final = np.full((0, 0), UNKNOWN, dtype=np.int8)


class StepError(Refusal, ValueError):
    """Bytes that are no step of this version."""


@dataclass(frozen=True, kw_only=True)
class SharedStep(SharedEvent):
    """One batch of the process that leads.

    Attributes:
        items: rows, trades, confirmations and gaps, in order.
        predicted: for each item, whether it is a row with a prediction.
        predictions: of those rows, in order; None where there are none.
        status: the feed's state after it, and its message.
        step: the leader's number of the newest row. scores: (heads, SCORES), the leader's as of the step before; see
            `core.market.stream.score_rows`. tick: the market's smallest step of price; 0 where it is not known.
    """

    items: tuple[GridItem, ...]
    predicted: tuple[bool, ...]
    predictions: Predictions | None
    status: StatusChange
    step: int = 0
    scores: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    tick: float = 0.0


@dataclass(frozen=True)
class Leading(SharedEvent):
    """From here on this process leads by this token; None: it follows."""

    token: str | None


GAP: Final = SharedStep(
    items=(Gap(),), predicted=(False,), predictions=None, status=StatusChange(state=FeedState.LIVE), scores=np.zeros((0, 0))
)
"""Step that a reader puts in the place of those it missed."""


def encode_step(step: SharedStep) -> dict[str, bytes]:
    """A step's fields.

    They are `h` the header, `l` levels (float64), `p` probabilities (float32), `c` calls, `m` momentum's calls (int8) and `s`
    scores (float64).
    """
    p = step.predictions
    header = {
        "version": VERSION,
        "state": step.status.state.value,
        "message": packed(step.status.message),
        "step": step.step,
        "tick": step.tick,
        "items": [_item(item, flag) for item, flag in zip(step.items, step.predicted, strict=True)],
        "heads": len(step.scores) if p is None else p.calls.shape[1],
        "ms": [p.features_ms, p.model_ms] if p else [0.0, 0.0],
    }
    rows = [item.levels for item in step.items if isinstance(item, Row)]
    return {
        "h": json.dumps(header).encode(),
        "l": np.concatenate([np.zeros(0), *rows]).astype("<f8").tobytes(),
        "p": (p.probabilities if p else _NO_PROBABILITIES).astype("<f4").tobytes(),
        "c": (p.calls if p else _NO_CALLS).astype(np.int8).tobytes(),
        "m": (p.momentum if p else _NO_CALLS).astype(np.int8).tobytes(),
        "s": step.scores.astype("<f8").tobytes(),
    }


def decode_step(fields: Mapping[bytes, bytes]) -> SharedStep:
    """The inverse of `encode_step`.

    Raises:
        StepError: where the fields are no step of this version.
    """
    try:
        header: dict[str, Any] = json.loads(fields[b"h"])
        if header["version"] != VERSION:
            raise StepError(compose("the shared stream is of another version of this program"))
        levels = np.frombuffer(fields[b"l"], dtype="<f8").astype(np.float64)
        items, predicted, at = [], [], 0
        for values in header["items"]:
            item, flag, at = _read_item(values, levels, at)
            items.append(item)
            predicted.append(flag)
        heads = int(header["heads"])
        predictions = _read_predictions(fields, sum(predicted), heads, header["ms"]) if any(predicted) else None
        scores = np.frombuffer(fields[b"s"], dtype="<f8").astype(np.float64)
        return SharedStep(
            items=tuple(items),
            predicted=tuple(predicted),
            predictions=predictions,
            status=StatusChange(state=FeedState(header["state"]), message=unpacked(header["message"])),
            step=int(header["step"]),
            tick=float(header["tick"]),
            scores=scores.reshape(heads, -1) if len(scores) else np.zeros((0, 0)),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, StepError):
            raise
        raise StepError(compose("the shared stream holds an entry that is no step")) from error


def _read_predictions(fields: Mapping[bytes, bytes], count: int, heads: int, ms: Sequence[float]) -> Predictions:
    def calls(name: bytes) -> NDArray[np.int8]:
        return np.frombuffer(fields[name], dtype=np.int8).reshape(count, heads)

    return Predictions(
        probabilities=np.frombuffer(fields[b"p"], dtype="<f4").astype(np.float32).reshape(count, heads, 3),
        calls=calls(b"c"),
        momentum=calls(b"m"),
        features_ms=float(ms[0]),
        model_ms=float(ms[1]),
    )


def _item(item: GridItem, predicted: bool) -> list[Any]:
    if isinstance(item, Row):
        return ["row", item.timestamp, item.received_ns, item.formed_ns, item.provisional, len(item.levels), predicted]
    if isinstance(item, Trade):
        return ["trade", item.exchange_ms, item.price, item.size, item.side]
    return ["confirmed", item.until_ms] if isinstance(item, Confirmed) else ["gap", item.kind, item.at_ms]


def _read_item(values: Sequence[Any], levels: FloatArray, at: int) -> tuple[GridItem, bool, int]:
    kind, *rest = values
    if kind == "row":
        timestamp, received_ns, formed_ns, provisional, count, predicted = rest
        if at + count > len(levels):
            raise StepError(compose("the shared stream holds an entry that is no step"))
        return Row(timestamp, levels[at : at + count], received_ns, formed_ns, provisional), predicted, at + count
    if kind == "trade":
        when, price, size, side = rest
        return Trade(exchange_ms=when, price=price, size=size, side=side), False, at
    return (Confirmed(rest[0]) if kind == "confirmed" else Gap(*rest)), False, at


def parts(batch: Iterable[GridItem | SharedEvent]) -> Iterable[list[GridItem] | SharedEvent]:
    """A batch cut at what came from or concerns other processes: runs of this process's own items, and those events."""
    run: list[GridItem] = []
    for item in batch:
        if isinstance(item, SharedEvent):
            if run:
                yield run
            run = []
            yield item
        else:
            run.append(item)
    if run:
        yield run


REDIS_VARIABLE: Final = "OBSERVATORY_REDIS"
"""Environment variable: address of the Redis server by which processes share live feeds; none: each follows its own."""
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
KEPT_ENTRIES: Final = 6_000
"""Entries a stream keeps, about twenty minutes: what a reader that comes late, or was away, can still read."""
IDLE_MS: Final = 3_600_000
"""After so long without an entry Redis drops a stream."""
AGAIN_S: Final = 0.5
"""Between attempts to reach Redis."""
TOLD_S: Final = 30.0
"""Seconds for which a reader says that it missed something."""

ACQUIRE: Final = """
if redis.call('EXISTS', KEYS[1]) == 1 then return false end
local token = redis.call('INCR', KEYS[2]) .. ':' .. ARGV[1]
redis.call('SET', KEYS[1], token, 'NX', 'PX', ARGV[2])
return token
"""
RENEW: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
RELEASE: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""
APPEND: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local number = redis.call('INCR', KEYS[2])
local id = redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', 'n', number, unpack(ARGV, 5))
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return {id, number}
"""

log = logging.getLogger(__name__)


def shared_by() -> str | None:
    """Redis' address by the environment; None where feeds are not shared."""
    return os.environ.get(REDIS_VARIABLE, "").strip() or None


@dataclass(frozen=True, kw_only=True)
class Clients:
    """Connections to one Redis: one for threads that write, and one for the loop; each call fails rather than be sent twice."""

    threads: Redis
    loop: AsyncRedis


def connect(url: str) -> Clients:
    """Clients of the server at this address, not connected yet.

    Raises:
        FeedFailed: where the package is missing, or the address is none of Redis'.
    """
    try:
        from redis import Redis
        from redis.asyncio import Redis as AsyncRedis
        from redis.asyncio.retry import Retry as AsyncRetry
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as error:
        raise FeedFailed(
            "{variable} is set, and the package redis is missing: pip install redis", variable=REDIS_VARIABLE
        ) from error
    limits: dict[str, Any] = {"socket_timeout": TIMEOUT_S, "socket_connect_timeout": TIMEOUT_S, "protocol": 2}
    try:
        return Clients(
            threads=Redis.from_url(url, retry=Retry(NoBackoff(), 0), **limits),
            loop=AsyncRedis.from_url(url, retry=AsyncRetry(NoBackoff(), 0), **limits),
        )
    except ValueError as error:
        raise FeedFailed(
            "{variable} is no address of a Redis server, such as redis://localhost:6379/0", variable=REDIS_VARIABLE
        ) from error


class SharedMarket:
    """One market's lease and stream in Redis; what they raise is redis' own where it cannot be reached.

    The lease is a key that expires and holds a token, a number that rises with each holder. A holder that was paused longer than
    its lease finds another's token there, and what it still tries to write is refused where it is written, by the script that
    writes (fencing; Kleppmann, "How to do distributed locking", 2016). Entries are numbered, so that a reader notices gaps.
    """

    def __init__(self, clients: Clients, name: str, *, lease_ms: int = LEASE_MS, kept: int = KEPT_ENTRIES) -> None:
        # the braces keep a market's keys on one node of a cluster
        self._lease, self._tokens, self._numbers, self.stream = (
            f"observatory:{{{name}}}:{what}" for what in ("lease", "tokens", "numbers", "stream")
        )
        self._lease_ms, self._kept = lease_ms, kept
        self._acquire, self._renew, self._release = (clients.loop.register_script(text) for text in (ACQUIRE, RENEW, RELEASE))
        self._append = clients.threads.register_script(APPEND)

    async def acquire(self) -> str | None:
        """A token of one's own, higher than all before; None while another holds the lease."""
        token = await self._acquire(keys=[self._lease, self._tokens], args=[secrets.token_hex(8), self._lease_ms])
        return None if token is None else token.decode()

    async def renew(self, token: str) -> bool:
        """Hold the lease for longer; False where it is no longer one's own."""
        return bool(await self._renew(keys=[self._lease], args=[token, self._lease_ms]))

    async def release(self, token: str) -> None:
        """Leave the lease to others at once."""
        await self._release(keys=[self._lease], args=[token])

    def append(self, token: str, fields: Mapping[str, bytes]) -> tuple[str, int] | None:
        """The new entry's id and number, from any thread; None where the token is no longer the leader's, and nothing written."""
        pairs: list[Any] = [part for pair in fields.items() for part in pair]
        args = [token, self._lease_ms, self._kept, IDLE_MS, *pairs]
        written = self._append(keys=[self._lease, self._numbers, self.stream], args=args)
        return None if written is None else (written[0].decode(), int(written[1]))


class SharedFeed:
    """A live feed shared with other processes; see `core.market.feeds.protocol.Feed`.

    Args:
        inner: followed while this process leads.
        predictor: of the session; processes with another checkpoint share another stream.
        clients: of the Redis server, made in `events`.
        lease_ms: after so long without a sign of it a leader is taken for dead.

    Attributes:
        leads: whether this process leads now. taken_over: how often it has begun to. missed: entries that were trimmed before it
            read them. entries: read so far.
    """

    def __init__(self, inner: Feed, predictor: Predictor, clients: Callable[[], Clients], *, lease_ms: int = LEASE_MS) -> None:
        self.inner, self.key, self.market = inner, inner.key, inner.market
        self.clock: Literal["wall", "event"] = inner.clock
        self.tick = 0.0  # as the leader knows it
        self.leads, self.taken_over, self.missed, self.entries = False, 0, 0, 0
        self._name = f"{self.key}:{fingerprint(predictor)}"
        self._make_clients, self._lease_ms = clients, lease_ms
        self._status = StatusChange(state=FeedState.CONNECTING)
        self._last_id, self._number = "0", 0  # of the newest entry read or written; its number, 0 where unknown
        self._shared: SharedMarket | None = None
        self._refused, self._appending = False, threading.Lock()
        self._told_until: float | None = None

    # -- in the background loop -------------------------------------------------------------------------------------

    async def events(self) -> AsyncIterator[FeedEvent]:
        """See `protocol.Feed.events`.

        Raises:
            FeedFailed: as `inner`, and where Redis' address cannot be used or other processes run another version.
        """
        from redis.exceptions import RedisError

        yield StatusChange(state=FeedState.CONNECTING)
        if isinstance(self.inner, LiveFeed):  # importing ccxt takes a second, which a lease would not outlast on a busy machine
            await asyncio.to_thread(ccxt_modules)
        clients = self._make_clients()
        lease = self._shared = SharedMarket(clients, self._name, lease_ms=self._lease_ms)
        token: str | None = None
        try:
            while True:
                try:
                    token = await lease.acquire()
                    async with aclosing(self._read(clients.loop, lease.stream, block_ms=None if token else BLOCK_MS)) as read:
                        async for event in read:
                            yield event
                    held = token is not None and await lease.renew(token)
                    if is_cancelled():  # a client that waits with a time limit may swallow it
                        raise asyncio.CancelledError
                    if token is not None and held:
                        async with aclosing(self._lead(lease, token)) as led:
                            async for event in led:
                                yield event
                        await lease.release(token)  # where it was given up, not lost
                except RedisError as error:
                    log.warning("the shared stream of %s: %s", self.key, type(error).__name__)
                    yield Leading(None)
                    message = sentence(compose("Redis, by which servers share this market, cannot be reached; trying again"))
                    self._status = StatusChange(state=FeedState.RECONNECTING, message=message)
                    yield self._status
                    await asyncio.sleep(AGAIN_S)
        except StepError as error:
            raise FeedFailed(sentence(str(error))) from error
        finally:
            self.leads = False
            try:
                if token is not None:
                    await lease.release(token)
            except RedisError:
                log.info("the lease of %s runs out by itself", self.key)
            finally:
                await clients.loop.aclose()
                clients.threads.close()

    async def _read(self, client: AsyncRedis, stream: str, *, block_ms: int | None) -> AsyncGenerator[FeedEvent]:
        """Yields the events written since the last entry: all of them where `block_ms` is None, else waiting for them so long."""
        while True:
            answer: Any = await client.xread({stream: self._last_id}, count=AT_ONCE, block=block_ms)
            entries = answer[0][1] if answer else []
            for identity, fields in entries:
                for event in self._taken(identity.decode(), fields):
                    yield event
            if block_ms is not None or not entries:
                return

    def _taken(self, identity: str, fields: dict[bytes, bytes]) -> Iterator[FeedEvent]:
        step, number = decode_step(fields), int(fields[b"n"])
        skipped = number - self._number - 1 if self._number else 0
        self._last_id, self._number, self.entries = identity, number, self.entries + 1
        if skipped:
            self.missed += max(skipped, 0)
            self._told_until = time.monotonic() + TOLD_S
            log.warning("%s: %d entries were trimmed before they were read", self.key, skipped)
            yield GAP
            message = compose("While this server was away, {count} updates of this market went by unread", count=skipped)
            yield StatusChange(state=step.status.state, message=sentence(message))
        elif step.status != self._status or (self._told_until is not None and time.monotonic() > self._told_until):
            self._told_until = None
            yield step.status
        self._status, self.tick = step.status, step.tick or self.tick
        yield step

    async def _lead(self, lease: SharedMarket, token: str) -> AsyncGenerator[FeedEvent]:
        self._refused, self.leads = False, True
        self.taken_over += 1
        log.info("this process leads %s", self.key)
        queue: asyncio.Queue[FeedEvent | Exception | None] = asyncio.Queue(maxsize=256)
        tasks = [asyncio.create_task(self._follow_inner(queue)), asyncio.create_task(self._hold(lease, token, queue))]
        try:
            yield Leading(token)
            yield StatusChange(state=FeedState.CONNECTING, gap=True)
            while True:
                event = await queue.get()
                if event is None:
                    break
                if isinstance(event, Exception):
                    raise event
                if isinstance(event, StatusChange):
                    self._status = replace(event, gap=False, resync=False)
                    await asyncio.to_thread(self._append, token, SharedStep(**_EMPTY, status=self._status))
                yield event
            log.warning("this process leads %s no longer", self.key)
            yield Leading(None)
        finally:
            self.leads = False
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(self._await_append)  # what is read next begins after it

    async def _follow_inner(self, queue: asyncio.Queue[FeedEvent | Exception | None]) -> None:
        events: Any = self.inner.events()
        try:
            async for event in events:
                await queue.put(event)
            ended = compose("The feed has ended")
            await queue.put(FeedFailed(sentence(ended)))
        except Exception as error:
            await queue.put(error)
        finally:
            await events.aclose()

    async def _hold(self, lease: SharedMarket, token: str, queue: asyncio.Queue[FeedEvent | Exception | None]) -> None:
        """Renew the lease; None goes into the queue once it is lost, and what Redis raised where it cannot be reached."""
        try:
            while not self._refused and await lease.renew(token):
                await asyncio.sleep(self._lease_ms / RENEWALS / 1e3)
            await queue.put(None)
        except Exception as error:
            await queue.put(error)

    # -- in the session's worker thread -----------------------------------------------------------------------------

    def share(
        self,
        token: str,
        items: Sequence[GridItem],
        predicted: Sequence[bool],
        predictions: Predictions | None,
        *,
        step: int,
        scores: Any,
    ) -> bool:
        """Write a batch down for the others; False where this process leads no more, and the batch is nobody's."""
        values = {"items": tuple(items), "predicted": tuple(predicted), "predictions": predictions, "step": step}
        self.tick = self.inner.tick or self.tick
        return self._append(token, SharedStep(**values, scores=scores, status=self._status, tick=self.tick))  # type: ignore[arg-type]

    def _append(self, token: str, step: SharedStep) -> bool:
        from redis.exceptions import RedisError

        assert self._shared is not None
        with self._appending:
            try:
                written = None if self._refused else self._shared.append(token, encode_step(step))
            except RedisError as error:
                log.warning("the shared stream of %s: %s", self.key, type(error).__name__)
                written = None
            if written is None:
                self._refused = True
                return False
            self._last_id, self._number = written
            return True

    def _await_append(self) -> None:
        with self._appending:
            self._refused = True


_EMPTY: Final[dict[str, Any]] = {"items": (), "predicted": (), "predictions": None}


def fingerprint(predictor: Predictor) -> str:
    """Names a checkpoint by its card, which holds its weights' hash."""
    return hashlib.sha256(json.dumps(predictor.card, sort_keys=True, default=str).encode()).hexdigest()[:12]


def shared(feed: Feed, predictor: Predictor) -> Feed:
    """The feed, shared with other processes where the environment says so."""
    url = shared_by()
    return feed if url is None else SharedFeed(feed, predictor, lambda: connect(url))
