"""The live feed with ccxt's real client, against a local server that replays what Binance sent."""

import asyncio
import gc
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psutil
import pytest

from core.market.book import OrderBookSnapshot
from core.market.events import Trade
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.failures import Backoff
from core.market.feeds.live import MAX_DOUBTS, LiveFeed
from core.market.feeds.protocol import FeedEvent, Status, StatusChange
from tests.core.market.feeds.delta_server import BinanceDeltaServer, KrakenServer, VenueServer
from tests.core.market.feeds.replay_server import BINANCE, BINANCE_ETH, BINANCE_USDM, Replay, Wire, captured
from tests.core.market.feeds.virtual_market import followed

T = TypeVar("T")
QUICK = Backoff(first_s=0.02, cap_s=0.05)
LIMIT_S = 60


@pytest.fixture(autouse=True)
def _asyncio_has_nothing_to_complain_of(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No exception that nobody fetched, no task destroyed while pending."""
    yield
    gc.collect()
    records = [*caplog.get_records("call"), *caplog.get_records("teardown")]
    assert [record.getMessage() for record in records if record.name == "asyncio" and record.levelno >= logging.WARNING] == []


class Reader:
    """Reads a feed's events, and keeps them."""

    def __init__(self, events: AsyncIterator[FeedEvent]) -> None:
        self.events, self.seen = events, list[FeedEvent]()

    async def next_of(self, kind: type[T]) -> T:
        """The next event of a kind."""
        while True:
            self.seen.append(event := await anext(self.events))
            if isinstance(event, kind):
                return event

    async def book_after(self, server: Replay) -> OrderBookSnapshot:
        """The book after the next message that changes it."""
        before = server.number
        while server.number == before:
            await server.send(server.step())
        book = await self.next_of(OrderBookSnapshot)
        while (book.sequence or 0) < server.number:
            book = await self.next_of(OrderBookSnapshot)
        assert book.sequence == server.number
        return book

    @property
    def statuses(self) -> list[StatusChange]:
        return [event for event in self.seen if isinstance(event, StatusChange)]


@asynccontextmanager
async def following(server: VenueServer) -> AsyncIterator[Reader]:
    feed = LiveFeed(server.exchange, server.symbol, backoff=QUICK)
    async with server, aclosing(feed.events()) as events:
        yield Reader(events)


def data_of(wire: Wire) -> list[dict[str, Any]]:
    """What Binance sent of a market."""
    return [message["data"] for _, text in captured(wire.capture) if "data" in (message := json.loads(text))]


@pytest.mark.parametrize(("wire", "least"), [(BINANCE, 200), (BINANCE_ETH, 120), (BINANCE_USDM, 45)], ids=["spot", "eth", "usdm"])
async def test_the_book_equals_the_recorded_best_prices_at_every_update_both_have(wire: Wire, least: int) -> None:
    """Each a copy with the venue's number and time."""
    tickers = {one["u"]: one for one in data_of(wire) if "B" in one}
    times = {one["u"]: one["E"] for one in data_of(wire) if one.get("e") == "depthUpdate"}
    server, compared = Replay(wire), 0
    async with following(server) as reader:
        first = await reader.next_of(OrderBookSnapshot)
        kept = first.levels.copy()
        for count in range(sum(number > server.number for number in times)):
            book = await reader.book_after(server)
            assert book.exchange_ms == times[server.number]
            if (ticker := tickers.get(server.number)) is not None:
                assert book.levels[:4].tolist() == [float(ticker[key]) for key in "aAbB"]
                compared += 1
            if count % 25 == 0:
                asks, bids = (np.array(side) for side in server.best(len(book.whole) // 4))
                assert len(asks) > 500
                np.testing.assert_array_equal(book.whole, np.concatenate([asks, bids], axis=1).reshape(-1))
        np.testing.assert_array_equal(first.levels, kept)
        assert [status.state for status in reader.statuses] == [Status.CONNECTING, Status.LIVE]
    assert compared >= least  # else the comparison is hollow


async def test_trades_are_streamed_with_their_aggressor() -> None:
    sent = [
        Trade(price=float(one["p"]), size=float(one["q"]), side="sell" if one["m"] else "buy", exchange_ms=one["T"])
        for one in data_of(BINANCE)
        if one.get("e") == "trade"
    ]  # m: the buyer was the maker
    server = Replay(BINANCE)
    server.trades = True
    async with following(server) as reader:
        await reader.next_of(OrderBookSnapshot)
        while len(server.sockets) < 2:
            await asyncio.sleep(0.01)
        for _ in range(100):
            await server.send(server.step())
        came = [await reader.next_of(Trade) for _ in range(5)]
        assert came == sent[sent.index(came[0]) :][:5] and {one.side for one in sent} == {"buy", "sell"}


async def test_a_market_that_leaves_its_snapshot_gets_a_fresh_one_before_a_level_is_wrong() -> None:
    server = Replay(BINANCE)
    server.gives = 60
    server.step()  # past the captured snapshot of 1,000 levels
    async with following(server) as reader:
        await reader.next_of(OrderBookSnapshot)
        for _ in range(300):
            book = await reader.book_after(server)
            np.testing.assert_array_equal(book.levels, server.top())
        lost = [status for status in reader.statuses if status.state is Status.RECONNECTING]
        assert lost and all(status.gap and "moved past the levels" in status.message for status in lost)


@pytest.mark.parametrize("streams", [True, False])
async def test_a_place_the_venue_does_not_serve_is_final(streams: bool, tmp_path: Path) -> None:
    server = Replay(BINANCE)
    server.refuses_requests, server.streams = 451, streams
    async with followed(server, tmp_path) as market:
        await market.until(lambda: bool(market.ended))
    assert market.ended.startswith("Binance does not serve the place this machine is in") and not market.breaks


@pytest.mark.parametrize("symbol", ["BTC/USDX", "btcusdt"])
async def test_a_bad_symbol_fails_at_once_and_names_the_nearest(symbol: str, tmp_path: Path) -> None:
    server = BinanceDeltaServer()
    server.symbol = symbol
    async with followed(server, tmp_path) as market:
        await market.until(lambda: bool(market.ended))
    assert market.ended == f"Binance has no market '{symbol}': the nearest are BTC/USDT."
    assert not server.asked and [status.state for status in market.statuses] == [Status.CONNECTING]


async def test_no_network_is_said_and_waited_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown(*address: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    class Away(KrakenServer):
        def configure(self, exchange: Any) -> None:
            super().configure(exchange)
            exchange.urls["api"]["public"] = "http://exchange.invalid"

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    async with followed(Away(), tmp_path, backoff=QUICK) as market:
        await market.until(lambda: len(market.breaks) > MAX_DOUBTS + 3)  # more often than a doubtful failure would be put up with
        assert set(market.breaks) == {"No network: the address of Kraken could not be looked up; connecting again."}


async def test_a_peer_that_no_longer_answers_does_not_hold_up_the_end() -> None:
    before = asyncio.all_tasks()
    server = Replay(BINANCE_ETH)
    async with following(server) as reader:
        await reader.next_of(OrderBookSnapshot)
        for peer in server.sockets:  # nor does it answer a closing handshake, for which aiohttp would wait ten seconds
            assert peer._req is not None and peer._req.transport is not None
            peer._req.transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(8):
            await reader.events.aclose()  # type: ignore[attr-defined]
    assert asyncio.all_tasks() == before


def test_nothing_is_left_behind_after_a_stop() -> None:
    process = psutil.Process()

    def connections() -> set[tuple[int, Any, Any]]:
        return {(one.fd, one.laddr, one.raddr) for one in process.net_connections() if one.status != psutil.CONN_NONE}

    threads_before, connections_before, files_before = set(threading.enumerate()), connections(), process.num_fds()
    loop = BackgroundLoop("test")
    got_a_book = threading.Event()

    async def watch() -> None:
        server = Replay(BINANCE)
        async with following(server) as reader:
            await reader.next_of(OrderBookSnapshot)
            got_a_book.set()
            while True:
                await server.send(server.step())
                await asyncio.sleep(0.001)

    future = loop.submit(watch())
    assert got_a_book.wait(LIMIT_S)
    assert len(connections()) > len(connections_before)
    loop.stop()
    assert future.cancelled() or isinstance(future.exception(), asyncio.CancelledError)
    assert set(threading.enumerate()) == threads_before
    assert connections() == connections_before
    assert process.num_fds() <= files_before
