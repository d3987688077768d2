"""Processes that share a feed through Redis: one leads, the others show the same, and nothing is written by two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import fakeredis
import numpy as np
import pytest

from core.market.book import BookRows, read_rows
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.protocol import FeedEvent, FeedState, StatusChange, Trade
from core.market.feeds.redis_feed import (
    Clients,
    SharedFeed,
    SharedMarket,
    SharedStep,
    StepError,
    connect,
    decode_step,
    encode_step,
    shared_by,
)
from core.market.grid import Confirmed, Gap, GridItem, Row
from core.market.predictor import Predictor
from core.market.recorder import EventRecorder
from core.market.session import MarketSession
from core.market.session_view import Status
from core.market.store.writer import SegmentWriter
from core.messages import Message, compose, sentence
from tests.core.market.feeds_for_tests import ScriptedFeed, books, replaying, wait_until
from tests.core.market.helpers import real_rows

ROWS = real_rows(4)
FIRST, LATER = ROWS[:120], BookRows(timestamps=ROWS.timestamps[120:240] + 60_000, levels=ROWS.levels[120:240])


class Replica:
    """One process's session of a shared feed, whose venue sends these rows to whoever leads."""

    def __init__(self, server: fakeredis.FakeServer, predictor: Predictor, loop: BackgroundLoop, rows: BookRows) -> None:
        self.loop = loop
        self.venue = ScriptedFeed(replaying(rows), key="live/testville/ABC/USD")
        self.feed = SharedFeed(self.venue, predictor, lambda: clients_of(server))
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
    return f"observatory:{{{replica.feed._name}}}:{what}"


def clients_of(server: fakeredis.FakeServer) -> Clients:
    return Clients(threads=fakeredis.FakeRedis(server=server), loop=fakeredis.FakeAsyncRedis(server=server))


@pytest.fixture
def server() -> fakeredis.FakeServer:
    return fakeredis.FakeServer()


@pytest.fixture
def replica(server: fakeredis.FakeServer, predictor: Predictor, loop: BackgroundLoop) -> Callable[[BookRows], Replica]:
    return lambda rows: Replica(server, predictor, loop, rows)


Make = Callable[[BookRows], Replica]


def assert_same(one: MarketSession, other: MarketSession) -> None:
    a, b = one.view(10_000), other.view(10_000)
    assert np.array_equal(a.timestamps, b.timestamps) and np.array_equal(a.levels, b.levels)
    assert a.predictions.tobytes() == b.predictions.tobytes() and len(a.predictions)
    for head in range(len(one.predictor.heads)):
        for rule, mine in one.scores(head).session.items():
            assert mine.confusion.tolist() == other.scores(head).session[rule].confusion.tolist()


def test_a_step_is_read_as_it_was_written(predictor: Predictor) -> None:
    rows = real_rows(0)
    predictions = predictor.predict(rows.levels[None, : predictor.window], predictor.markets["pooled"])
    deep = np.concatenate([rows.levels[0], rows.levels[1][:8]])
    items = (
        Gap("clock", 5),
        Row(1_000, deep, 5, 6, True),
        Trade(price=0.1 + 0.2, size=3.0, side=None, exchange_ms=7),
        Confirmed(999),
        Row(1_250, rows.levels[1], 7, 8, False),
    )
    message = sentence(compose("{reason}; trying again in {seconds:.0f} s", reason=compose("no answer"), seconds=2.5))
    step = SharedStep(
        items=items,
        predicted=(False, False, False, False, True),
        predictions=predictions,
        status=StatusChange(state=FeedState.RECONNECTING, message=message),
        step=17,
        tick=0.01,
        scores=np.array([[1.0, np.nan]] * len(predictor.heads)),
    )
    read = decode_step({key.encode(): value for key, value in encode_step(step).items()})
    assert read.items[0] == items[0] and read.items[2:4] == items[2:4] and read.predicted == step.predicted
    for was, found in ((items[1], read.items[1]), (items[4], read.items[4])):
        assert isinstance(was, Row) and isinstance(found, Row)
        assert (
            np.array_equal(was.levels, found.levels) and was.timestamp == found.timestamp and was.provisional == found.provisional
        )
    assert read.predictions is not None
    for name in ("probabilities", "calls", "momentum"):
        assert np.array_equal(getattr(read.predictions, name), getattr(predictions, name))
    assert read.status == step.status and isinstance(read.status.message, Message)
    assert read.status.message.values["clause"].template == "{reason}; trying again in {seconds:.0f} s"
    assert (read.step, read.tick) == (17, 0.01) and np.array_equal(read.scores, step.scores, equal_nan=True)
    with pytest.raises(StepError):
        decode_step({b"h": b"{}"})


def test_who_lost_the_lease_writes_nothing(server: fakeredis.FakeServer) -> None:
    async def scenario() -> None:
        clients = clients_of(server)
        lease = stream = SharedMarket(clients, "m")
        stale = await lease.acquire()
        assert stale is not None and await lease.acquire() is None
        assert stream.append(stale, {"h": b"1"}) is not None
        clients.threads.delete("observatory:{m}:lease")  # it ran out while its holder was paused
        assert stream.append(stale, {"h": b"2"}) is None
        holder = await lease.acquire()
        assert holder is not None and int(holder.split(":")[0]) > int(stale.split(":")[0])
        assert stream.append(stale, {"h": b"3"}) is None and not await lease.renew(stale)
        await lease.release(stale)
        assert await lease.renew(holder)
        written = stream.append(holder, {"h": b"4"})
        assert written is not None and written[1] == 2
        entries: Any = clients.threads.xrange(stream.stream)
        assert [fields[b"h"] for _, fields in entries] == [b"1", b"4"]

    asyncio.run(scenario())


def test_one_predicts_and_the_other_shows_the_same(replica: Make) -> None:
    leader = replica(FIRST).start()
    wait_until(lambda: leader.shows(FIRST))
    reader = replica(LATER).start()
    wait_until(lambda: reader.shows(FIRST))
    assert_same(leader.session, reader.session)
    assert leader.feed.leads and not reader.feed.leads and reader.venue.opened == 0
    assert leader.session.latencies.predictions and reader.session.latencies.predictions == 0
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
    assert reader.session.latencies.predictions == len(LATER) - window + 1
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
    clients_of(server).threads.set(key_of(leader, "lease"), "9:another")  # as if it had been away for longer than its lease
    leader.venue.send(*books(LATER[:50]))
    wait_until(lambda: not leader.feed.leads)
    assert leader.shows(FIRST)
    leader.stop()
    clients_of(server).threads.delete(key_of(leader, "lease"))
    other = replica(LATER).start()
    wait_until(lambda: other.shows(FIRST, LATER))  # none of what was refused


def test_a_reader_says_what_it_missed(replica: Make, server: fakeredis.FakeServer) -> None:
    leader, reader = replica(FIRST).start(), replica(LATER)
    wait_until(lambda: leader.shows(FIRST))
    reader.start()
    wait_until(lambda: reader.shows(FIRST))
    reader.stop()
    states: list[FeedEvent] = [StatusChange(state=FeedState.PAUSED, message=f"{i}.") for i in range(5)]
    before = clients_of(server).threads.xlen(key_of(leader, "stream"))
    leader.venue.send(*states)
    wait_until(lambda: clients_of(server).threads.xlen(key_of(leader, "stream")) == before + 5)
    clients_of(server).threads.xtrim(key_of(leader, "stream"), maxlen=1, approximate=False)
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


def test_a_reader_records_the_rows_that_were_confirmed(tmp_path: Path) -> None:
    rows = real_rows(4)[:6]
    trade = Trade(price=1.0, size=2.0, side="sell", exchange_ms=int(rows.timestamps[0]))

    def step(*items: GridItem) -> SharedStep:
        return SharedStep(
            items=items, predicted=(False,) * len(items), predictions=None, status=StatusChange(state=FeedState.LIVE)
        )

    queued = [Row(int(t), levels, 1, 2, True) for t, levels in zip(rows.timestamps, rows.levels, strict=True)]
    with SegmentWriter(tmp_path, "ABC/USD", key="live/testville/ABC/USD", saves=False) as writer:
        recorder = EventRecorder(writer, wall=True)
        recorder.take(step(trade, *queued[:3]))
        recorder.take(step(Confirmed(queued[1].timestamp)))
        recorder.take(step(Gap(), *queued[4:]))  # the third was never confirmed
        recorder.take(step(Confirmed(queued[5].timestamp)))
        recorder.stop()
    found = [read_rows(path) for path in writer.files]
    assert np.concatenate([one.timestamps for one in found]).tolist() == rows.timestamps[[0, 1, 4, 5]].tolist()
