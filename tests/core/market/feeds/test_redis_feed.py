"""Processes that share a feed through Redis: one leads, the others show the same, and nothing is written by two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import fakeredis
import numpy as np
import pytest

from core.market.book import BookRows
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.protocol import Clock, FeedEvent, FeedState, StatusChange, Trade
from core.market.feeds.redis_feed import EntryError, SharedFeed, SharedMarket, connect, decode, encode, shared_by
from core.market.grid import Confirmed, Gap, Row
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.market.session_view import Status
from core.messages import Message, compose, sentence
from tests.core.market.feeds_for_tests import ScriptedFeed, books, replaying, wait_until
from tests.core.market.helpers import real_rows

ROWS = real_rows(4)
FIRST, LATER = ROWS[:120], BookRows(timestamps=ROWS.timestamps[120:240] + 60_000, levels=ROWS.levels[120:240])


class Replica:
    """One process's session of a shared feed, whose venue sends these rows to whoever leads."""

    def __init__(
        self,
        server: fakeredis.FakeServer,
        predictor: Predictor,
        loop: BackgroundLoop,
        rows: BookRows,
        clock: Clock = "event",
    ) -> None:
        self.loop = loop
        self.venue = ScriptedFeed(replaying(rows), key="live/testville/ABC/USD", clock=clock)
        self.feed = SharedFeed(self.venue, predictor, lambda: fakeredis.FakeAsyncRedis(server=server))
        self.session = MarketSession(self.feed, predictor)
        self.future: Future[None] | None = None

    def start(self) -> Replica:
        self.future = self.loop.submit(self.session.run())
        return self

    def stop(self) -> None:
        assert self.future is not None
        self.future.cancel()
        wait_until(lambda: not self.feed.leads)
        wait_until(lambda: not self.session._run_lock.locked())

    def shows(self, *parts: BookRows) -> bool:
        view = self.session.view(10_000)
        expected = np.concatenate([part.timestamps for part in parts])
        return np.array_equal(view.timestamps, expected)


def key_of(replica: Replica, what: str) -> str:
    return f"observatory:{{{replica.feed.name}}}:{what}"


def redis_of(server: fakeredis.FakeServer) -> fakeredis.FakeRedis:
    return fakeredis.FakeRedis(server=server)


@pytest.fixture
def server() -> fakeredis.FakeServer:
    return fakeredis.FakeServer()


@pytest.fixture
def replica(server: fakeredis.FakeServer, predictor: Predictor, loop: BackgroundLoop) -> Callable[[BookRows], Replica]:
    return lambda rows: Replica(server, predictor, loop, rows)


Make = Callable[[BookRows], Replica]


def assert_same(one: MarketSession, other: MarketSession) -> None:
    """The same rows, and the same predictions of them, as near as batches of other sizes compute them."""
    a, b = one.view(10_000), other.view(10_000)
    assert np.array_equal(a.timestamps, b.timestamps) and np.array_equal(a.levels, b.levels) and len(a.predictions)
    for name in ("timestamp", "mid", "momentum", "truth"):
        assert np.array_equal(a.predictions[name], b.predictions[name])
    np.testing.assert_allclose(a.predictions["probabilities"], b.predictions["probabilities"], atol=1e-5)


def test_an_entry_is_read_as_it_was_written() -> None:
    rows = real_rows(0)
    deep = np.concatenate([rows.levels[0], rows.levels[1][:8]])
    message = sentence(compose("{reason}; trying again in {seconds:.0f} s", reason=compose("no answer"), seconds=2.5))
    status = StatusChange(state=FeedState.RECONNECTING, message=message)
    events: list[FeedEvent] = [
        Gap("clock", 5, "why"),
        Row(1_000, deep, 5, 6, True),
        Trade(price=0.1 + 0.2, size=3.0, side=None, exchange_ms=7),
        books(rows[:1])[0],  # stays with the leader
        Confirmed(999),
        Row(1_250, rows.levels[1], 7, 8, False),
        status,
    ]
    fields = {key.encode(): value for key, value in encode(events, status, 0.01).items()}
    items, then, tick = decode(fields)
    assert items[0] == Gap("clock", 5, "why", ours=False) and [items[2], items[3]] == [events[2], events[4]] and len(items) == 5
    for was, now in ((events[1], items[1]), (events[5], items[4])):
        assert isinstance(was, Row) and isinstance(now, Row)
        assert np.array_equal(was.levels, now.levels) and was._replace(levels=now.levels) == now
    assert then == status and isinstance(then.message, Message) and tick == 0.01
    assert then.message.values["clause"].template == "{reason}; trying again in {seconds:.0f} s"
    for broken in (
        {b"h": b"{}"},
        {**fields, b"l": fields[b"l"][:-8]},
        {**fields, b"h": fields[b"h"].replace(b"Trade", b"Traed")},
    ):
        with pytest.raises(EntryError):
            decode(broken)


def test_who_lost_the_lease_writes_nothing(server: fakeredis.FakeServer) -> None:
    async def scenario() -> None:
        client = redis_of(server)
        stale, holder = (SharedMarket(fakeredis.FakeAsyncRedis(server=server), "m") for _ in range(2))
        assert await holder.append({"h": b"0"}) is None  # who never held it
        assert await stale.acquire() and not await holder.acquire()
        assert await stale.append({"h": b"1"}) is not None
        client.delete("observatory:{m}:lease")  # it ran out while its holder was paused
        assert await stale.append({"h": b"2"}) is None
        assert await holder.acquire()
        assert await stale.append({"h": b"3"}) is None and not await stale.renew()
        await stale.release()
        assert await holder.renew()
        written = await holder.append({"h": b"4"})
        assert written is not None and written[1] == 2
        entries: Any = client.xrange(holder.stream)
        assert [fields[b"h"] for _, fields in entries] == [b"1", b"4"]

    asyncio.run(scenario())


@pytest.mark.parametrize("call", ["acquire", "renew", "append", "read"])
def test_who_is_cancelled_ends_even_where_the_client_swallows_it(call: str, server: fakeredis.FakeServer) -> None:
    async def scenario() -> None:
        client = fakeredis.FakeAsyncRedis(server=server)
        market, waits = SharedMarket(client, "m"), asyncio.Event()
        await market.acquire()
        if call == "acquire":
            await market.release()
        plain = client.execute_command

        async def swallowing(*args: Any, **options: Any) -> Any:  # as `asyncio.wait_for` of Python 3.11 does
            if not waits.is_set():
                waits.set()
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(60)
            return await plain(*args, **options)

        client.execute_command = swallowing
        calls: dict[str, Callable[[], Any]] = {
            "acquire": market.acquire,
            "renew": market.renew,
            "append": lambda: market.append({"h": b"1"}),
            "read": lambda: market.read("0", block_ms=1),
        }
        task = asyncio.ensure_future(calls[call]())
        await waits.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())


def test_one_follows_the_venue_and_the_other_shows_the_same(replica: Make) -> None:
    leader = replica(FIRST).start()
    wait_until(lambda: leader.shows(FIRST))
    reader = replica(LATER).start()
    wait_until(lambda: reader.shows(FIRST))
    assert_same(leader.session, reader.session)
    assert leader.feed.leads and not reader.feed.leads and reader.venue.opened == 0
    assert leader.session.latencies.predictions == reader.session.latencies.predictions > 0
    assert reader.session.step == leader.session.step and reader.session.status_now() == leader.session.status_now()
    more = Trade(price=1.0, size=2.0, side="buy", exchange_ms=int(FIRST.timestamps[-1]))
    leader.venue.send(more, StatusChange(state=FeedState.PAUSED, message="Paused."))
    wait_until(lambda: reader.session.status_now() == (Status.PAUSED, "Paused."))
    wait_until(lambda: len(reader.session.view().trades) == 1)


def test_a_reader_takes_over_from_a_leader_that_died(replica: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    leader, reader = replica(FIRST).start(), replica(LATER)
    wait_until(lambda: leader.shows(FIRST))
    reader.start()
    wait_until(lambda: reader.shows(FIRST))

    async def died(*_: object) -> None:
        """A process that is killed gives nothing back."""

    monkeypatch.setattr(SharedMarket, "release", died)
    leader.stop()
    wait_until(lambda: reader.shows(FIRST, LATER))
    window = reader.session.predictor.window
    assert reader.session.latencies.predictions == len(FIRST) + len(LATER) - 2 * (window - 1)
    assert len(reader.session.view(10_000).predictions) == len(FIRST) + len(LATER) - 2 * (window - 1)
    assert reader.session.gaps == leader.session.gaps + 1
    # who comes back reads what went by
    monkeypatch.undo()
    leader.start()
    wait_until(lambda: leader.shows(FIRST, LATER))
    assert_same(reader.session, leader.session)


def test_a_leader_that_was_paused_forgets_what_it_could_not_write(replica: Make, server: fakeredis.FakeServer) -> None:
    leader = replica(FIRST).start()
    wait_until(lambda: leader.shows(FIRST))
    redis_of(server).set(key_of(leader, "lease"), "9:another")  # as if it had been away for longer than its lease
    leader.venue.send(*books(LATER[:50]))
    wait_until(lambda: not leader.feed.leads)
    assert leader.shows(FIRST)
    leader.stop()
    assert leader.session.status_now()[0] is not Status.FAILED
    redis_of(server).delete(key_of(leader, "lease"))
    other = replica(LATER).start()
    wait_until(lambda: other.shows(FIRST, LATER))  # none of what was refused


def test_a_reader_says_what_it_missed(replica: Make, server: fakeredis.FakeServer) -> None:
    leader, reader = replica(FIRST).start(), replica(LATER)
    wait_until(lambda: leader.shows(FIRST))
    reader.start()
    wait_until(lambda: reader.shows(FIRST))
    reader.stop()
    states: list[FeedEvent] = [StatusChange(state=FeedState.PAUSED, message=f"{i}.") for i in range(5)]
    before = redis_of(server).xlen(key_of(leader, "stream"))
    leader.venue.send(*states)
    wait_until(lambda: redis_of(server).xlen(key_of(leader, "stream")) == before + 5)
    redis_of(server).xtrim(key_of(leader, "stream"), maxlen=1, approximate=False)
    gaps = reader.session.gaps
    reader.start()
    wait_until(lambda: reader.feed.missed == 4)
    wait_until(lambda: reader.session.gaps == gaps + 1)
    assert reader.session.status_now() == (
        Status.PAUSED,
        "While this server was away, 4 updates of this market went by unread.",
    )


def test_while_redis_is_away_the_page_says_so(replica: Make, server: fakeredis.FakeServer) -> None:
    server.connected = False
    alone = replica(FIRST).start()
    wait_until(lambda: alone.session.status_now()[0] is Status.RECONNECTING)
    assert alone.session.status_now()[1].startswith("Redis, by which servers share this market, cannot be reached")
    server.connected = True
    wait_until(lambda: alone.shows(FIRST))


def test_the_setting_names_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OBSERVATORY_REDIS", raising=False)
    assert shared_by() is None
    monkeypatch.setenv("OBSERVATORY_REDIS", " redis://localhost:1/0 ")
    assert shared_by() == "redis://localhost:1/0"
    with pytest.raises(Exception, match="is no address of a Redis server"):
        connect("http://localhost")


def test_rows_by_the_clock_are_shared_once_confirmed(
    server: fakeredis.FakeServer, predictor: Predictor, loop: BackgroundLoop
) -> None:
    leader, reader = (Replica(server, predictor, loop, FIRST, clock="wall") for _ in range(2))
    now = StatusChange(state=FeedState.LIVE)
    leader.venue.script = [now, *books(FIRST[:1])]
    leader.start()
    wait_until(lambda: leader.session.step >= 3)
    reader.start()
    wait_until(lambda: reader.session.step >= 3)
    assert reader.session.view().provisional > 0 and reader.venue.opened == 0
    leader.venue.send(*books(FIRST[1:2]))
    wait_until(lambda: len(reader.session.view().timestamps) > reader.session.view().provisional)
    gaps = reader.session.gaps
    leader.venue.send(StatusChange(state=FeedState.RECONNECTING, gap=True))
    wait_until(lambda: reader.session.gaps == gaps + 1)
    wait_until(lambda: reader.session.status_now()[0] is Status.RECONNECTING)
    assert reader.session.view().provisional == leader.session.view().provisional == 0
    a, b = leader.session.view(), reader.session.view()
    assert np.array_equal(a.timestamps, b.timestamps) and np.array_equal(a.levels, b.levels) and len(a.timestamps)
