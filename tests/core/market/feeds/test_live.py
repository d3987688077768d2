"""The live feed with ccxt's real client, against a local server that replays what Binance sent."""

import asyncio
import gc
import logging
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import numpy as np
import psutil
import pytest

from core.market.book import OrderBookSnapshot, interleave
from core.market.events import Trade
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.failures import Backoff
from core.market.feeds.live import MAX_DOUBTS, LiveFeed
from core.market.feeds.market_judge import Timeouts
from core.market.feeds.protocol import FeedEvent, FeedFailed, FeedState, StatusChange
from core.market.feeds.situations import Situation
from tests.core.market.feeds.binance_server import BinanceServer, fixture
from tests.core.market.feeds.virtual_time import virtually

BTC, ETH, PERPETUAL = "spot_btcusdt_20240808", "spot_ethusdt_20240808", "usdm_btcusdt_20240718"
QUICK = Backoff(first_s=0.02, cap_s=0.05)
LIMIT_S = 60


def feed_of(server: BinanceServer, **options: Any) -> LiveFeed:
    options.setdefault("backoff", QUICK)
    return LiveFeed("binance", options.pop("symbol", server.wire.symbol), configure=server.configure, **options)


class Reader:
    """Reads a feed's events and keeps what went by."""

    def __init__(self, events: AsyncIterator[FeedEvent]) -> None:
        self.events = events
        self.seen: list[FeedEvent] = []

    async def until(self, wanted: Callable[[FeedEvent], bool]) -> FeedEvent:
        async for event in self.events:
            self.seen.append(event)
            if wanted(event):
                return event
        raise AssertionError("the feed ended")

    async def book(self) -> OrderBookSnapshot:
        event = await self.until(lambda event: isinstance(event, OrderBookSnapshot))
        assert isinstance(event, OrderBookSnapshot)
        return event

    async def book_at(self, sequence: int) -> OrderBookSnapshot:
        event = await self.until(lambda event: isinstance(event, OrderBookSnapshot) and (event.sequence or 0) >= sequence)
        assert isinstance(event, OrderBookSnapshot)
        assert event.sequence == sequence
        return event

    @property
    def statuses(self) -> list[StatusChange]:
        return [event for event in self.seen if isinstance(event, StatusChange)]


@asynccontextmanager
async def following(
    name: str, *, server_options: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[tuple[BinanceServer, Reader]]:
    server = BinanceServer(fixture(name), **(server_options or {}))
    async with server, aclosing(feed_of(server, **options).events()) as events:
        yield server, Reader(events)


@pytest.fixture(autouse=True)
def _asyncio_has_nothing_to_complain_of(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No exception that nobody fetched, no task destroyed while pending."""
    yield
    gc.collect()
    records = [*caplog.get_records("call"), *caplog.get_records("teardown")]
    assert [record.getMessage() for record in records if record.name == "asyncio" and record.levelno >= logging.WARNING] == []


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    virtually(scenario())


def best(book: OrderBookSnapshot) -> tuple[float, ...]:
    return tuple(book.levels[:4].tolist())


def assert_equal_to_server(book: OrderBookSnapshot, server: BinanceServer) -> None:
    asks, bids = server.top(10)
    np.testing.assert_array_equal(book.levels, interleave(np.array(asks), np.array(bids)))


def assert_all_levels_equal_to_server(book: OrderBookSnapshot, server: BinanceServer) -> None:
    asks, bids = (np.array(side) for side in server.top(len(book.whole) // 4))
    assert len(asks) > 500
    np.testing.assert_array_equal(book.whole, np.concatenate([asks, bids], axis=1).reshape(-1))


@pytest.mark.parametrize(("name", "fewest"), [(BTC, 200), (ETH, 120), (PERPETUAL, 45)])
def test_the_book_equals_the_recorded_best_prices_at_every_update_both_have(name: str, fewest: int) -> None:
    compared = 0

    async def scenario() -> None:
        nonlocal compared
        async with following(name, trades=False) as (server, reader):
            book = await reader.book()
            depths = sum(message["e"] == "depthUpdate" and message["u"] > server.last_id for message in server.wire.after)
            for count in range(depths):
                message = await server.send_depth()
                if message["u"] <= (book.sequence or 0):
                    continue
                book = await reader.book_at(message["u"])
                ticker = server.wire.tickers.get(message["u"])
                if ticker is not None:
                    assert best(book) == tuple(float(ticker[key]) for key in "aAbB")
                    compared += 1
                if count % 25 == 0:
                    assert_equal_to_server(book, server)
                    assert_all_levels_equal_to_server(book, server)
            assert server.snapshots == 1
            assert [status.state for status in reader.statuses] == [FeedState.CONNECTING, FeedState.LIVE]

    run(scenario)
    assert compared >= fewest  # else the comparison is hollow
    print(f"{name}: {compared} update ids compared")


def test_a_book_is_a_copy_with_the_exchanges_time_and_number() -> None:
    async def scenario() -> None:
        async with following(ETH) as (server, reader):
            first = await reader.book()
            kept = first.levels.copy()
            for _ in range(20):
                message = await server.send_depth()
            last = await reader.book_at(message["u"])
            assert last.exchange_ms == message["E"]
            assert not np.array_equal(last.levels, kept)
            np.testing.assert_array_equal(first.levels, kept)

    run(scenario)


@pytest.mark.parametrize(("name", "tick"), [(BTC, 0.01), (PERPETUAL, 0.1)])
def test_the_step_of_price_is_the_venues_own(name: str, tick: float) -> None:
    async def scenario() -> None:
        async with BinanceServer(fixture(name)) as server:
            feed = feed_of(server)
            assert feed.tick == 0.0
            async with aclosing(feed.events()) as events:
                await Reader(events).book()
                assert feed.tick == tick

    run(scenario)


def test_trades_are_streamed_with_their_aggressor() -> None:
    async def scenario() -> None:
        async with following(BTC) as (server, reader):
            await reader.book()
            while not any("@trade" in stream for streams in server.sockets.values() for stream in streams):
                await asyncio.sleep(0.01)
            sent = await server.send_next()
            while sent["e"] != "trade":
                sent = await server.send_next()
            trade = await reader.until(lambda event: isinstance(event, Trade))
            side = "sell" if sent["m"] else "buy"  # m: the buyer was the maker
            assert trade == Trade(price=float(sent["p"]), size=float(sent["q"]), side=side, exchange_ms=sent["T"])

    run(scenario)


def test_a_dropped_socket_recovers_by_a_fresh_snapshot() -> None:
    async def scenario() -> None:
        async with following(BTC) as (server, reader):
            await reader.book()
            await reader.book_at((await server.send_depth())["u"])
            await server.drop()
            server.lose(30)  # the world goes on
            broken = await reader.until(lambda event: isinstance(event, StatusChange))
            assert isinstance(broken, StatusChange)
            assert broken.state is FeedState.RECONNECTING
            assert broken.gap
            assert "Binance" in broken.message
            book = await reader.book()
            assert reader.statuses[-1] == StatusChange(state=FeedState.LIVE)
            assert book.sequence == server.last_id
            assert_equal_to_server(book, server)
            assert server.snapshots == 2
            book = await reader.book_at((await server.send_depth())["u"])
            assert_equal_to_server(book, server)

    run(scenario)


@pytest.mark.parametrize("name", [BTC, PERPETUAL])
def test_a_gap_in_the_sequence_recovers_by_a_fresh_snapshot(name: str) -> None:
    async def scenario() -> None:
        async with following(name) as (server, reader):
            await reader.book()
            for _ in range(3):
                await reader.book_at((await server.send_depth())["u"])
            server.lose(1)
            await server.send_depth()
            broken = await reader.until(lambda event: not isinstance(event, Trade))
            assert broken == StatusChange(
                state=FeedState.RECONNECTING,
                message="An update of Binance went missing; connecting again.",
                gap=True,
                resync=True,
            )
            book = await reader.book()
            assert_equal_to_server(book, server)
            assert server.snapshots == 2

    run(scenario)


def test_a_market_that_leaves_its_snapshot_gets_a_fresh_one_before_a_level_is_wrong() -> None:
    async def scenario() -> None:
        async with following(BTC, server_options={"snapshot_cap": 60}) as (server, reader):
            server.next = 1  # past the recorded snapshot of 1,000 levels: answer from the server's own book, cut to 60
            server._apply(server.wire.after[0])
            await reader.book()
            for _ in range(300):
                message = await server.send_depth()
                book = await reader.book()
                while (book.sequence or 0) < message["u"]:
                    book = await reader.book()
                assert_equal_to_server(book, server)
            assert server.snapshots > 1
            lost = [status for status in reader.statuses if status.state is FeedState.RECONNECTING]
            assert len(lost) == server.snapshots - 1
            assert all(status.gap and "moved past the levels" in status.message for status in lost)

    run(scenario)


def test_polling_gives_the_same_books() -> None:
    async def scenario() -> None:
        async with following(ETH, transport="poll") as (server, reader):
            server.next = 1
            server._apply(server.wire.after[0])
            book = await reader.book()
            assert_equal_to_server(book, server)
            server.lose(10)
            book = await reader.book_at(server.last_id)
            assert_equal_to_server(book, server)
            assert not any("@depth" in stream for streams in server.sockets.values() for stream in streams)

    run(scenario)


@pytest.mark.parametrize("transport", ["auto", "poll"])
def test_a_place_the_venue_does_not_serve_is_final(transport: str) -> None:
    async def scenario() -> None:
        async with following(ETH, server_options={"failing": 451}, transport=transport) as (_, reader):
            with pytest.raises(FeedFailed, match="Binance does not serve the place this machine is in"):
                await reader.book()

    run(scenario)


@pytest.mark.parametrize(
    ("symbol", "sentence"),
    [
        ("BTC/USDX", "Binance has no market 'BTC/USDX': the nearest are BTC/USDT"),
        ("btcusdt", "Binance has no market 'btcusdt': the nearest are BTC/USDT"),
        ("ETH/USDX:USDT", "Binance has no market 'ETH/USDX:USDT': the nearest are ETH/USDT:USDT"),
    ],
)
def test_a_bad_symbol_fails_at_once_and_names_the_nearest(symbol: str, sentence: str) -> None:
    async def scenario() -> None:
        async with following(BTC, symbol=symbol) as (server, reader):
            with pytest.raises(FeedFailed, match=sentence):
                await reader.book()
            assert server.snapshots == 0
            assert [status.state for status in reader.statuses] == [FeedState.CONNECTING]

    run(scenario)


def test_an_exchange_that_goes_away_is_waited_for_until_it_is_back() -> None:
    async def scenario() -> None:
        async with following(ETH) as (server, reader):
            await reader.book()
            await server.close_port()
            await server.drop()
            for _ in range(3):
                broken = await reader.until(lambda event: isinstance(event, StatusChange))
                assert isinstance(broken, StatusChange)
                assert broken.state is FeedState.RECONNECTING
            assert broken.message == "Binance refuses the connection; connecting again."
            await server.open_port()
            assert_equal_to_server(await reader.book(), server)

    run(scenario)


def test_no_network_is_said_and_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*address: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def scenario() -> None:
        async with BinanceServer(fixture(ETH)) as server:

            def configure(exchange: Any) -> None:
                server.configure(exchange)
                exchange.urls["api"]["public"] = "http://exchange.invalid/api/v3"

            feed = LiveFeed("binance", "ETH/USDT", configure=configure, backoff=QUICK)
            async with aclosing(feed.events()) as events:
                reader = Reader(events)
                for _ in range(MAX_DOUBTS + 3):  # more often than a doubtful failure would be put up with
                    await reader.until(lambda event: isinstance(event, StatusChange) and event.gap)
            messages = {status.message for status in reader.statuses if status.state is FeedState.RECONNECTING}
            assert messages == {"No network: the address of Binance could not be looked up; connecting again."}

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    run(scenario)


def test_a_socket_that_died_in_silence_is_noticed() -> None:
    async def scenario() -> None:
        async with following(ETH, timeouts=Timeouts(quiet_s=0.1)) as (server, reader):
            await reader.book()
            await reader.book_at((await server.send_depth())["u"])
            before = server.best()
            while server.best()[::2] == before[::2]:
                server.lose(1)
            broken = await reader.until(lambda event: isinstance(event, StatusChange))
            assert broken == StatusChange(
                state=FeedState.RECONNECTING,
                message="Binance stopped sending while its book moved on; connecting again.",
                gap=True,
            )
            assert_equal_to_server(await reader.book(), server)

    run(scenario)


def test_a_book_too_short_to_use_is_a_state_that_passes() -> None:
    async def scenario() -> None:
        options = {"transport": "poll", "timeouts": Timeouts(unusable_s=0.0)}
        async with following(ETH, server_options={"snapshot_cap": 7}, **options) as (server, reader):
            server.next = 1
            said = await reader.until(lambda event: "few levels (7) since" in getattr(event, "message", ""))
            assert isinstance(said, StatusChange)
            assert (said.state, said.gap) == (FeedState.LIVE, False)
            while server.snapshots < 2 * MAX_DOUBTS:
                await asyncio.sleep(0.01)
            server.snapshot_cap = 5000
            assert_equal_to_server(await reader.book(), server)
            assert [one.kind for one in reader.statuses[-1].situations] == [Situation.ASKED]

    run(scenario)


def test_a_peer_that_no_longer_answers_does_not_hold_up_the_end() -> None:
    async def scenario() -> None:
        before = asyncio.all_tasks()
        async with following(ETH) as (server, reader):
            await reader.book()
            server.freeze()  # nor does it answer a closing handshake, for which aiohttp would wait ten seconds
            async with asyncio.timeout(8):
                await reader.events.aclose()  # type: ignore[attr-defined]
        assert asyncio.all_tasks() == before

    run(scenario)


def test_nothing_is_left_behind_after_a_stop() -> None:
    process = psutil.Process()

    def connections() -> set[tuple[int, Any, Any]]:
        return {(one.fd, one.laddr, one.raddr) for one in process.net_connections() if one.status != psutil.CONN_NONE}

    threads_before, connections_before, files_before = set(threading.enumerate()), connections(), process.num_fds()
    loop = BackgroundLoop("test")
    got_a_book = threading.Event()

    async def watch() -> None:
        async with following(BTC) as (server, reader):
            await reader.book()
            got_a_book.set()
            while True:
                await server.send_next()
                await asyncio.sleep(0.001)

    future = loop.submit(watch())
    assert got_a_book.wait(LIMIT_S)
    assert len(connections()) > len(connections_before)
    loop.stop()
    assert future.cancelled() or isinstance(future.exception(), asyncio.CancelledError)
    assert set(threading.enumerate()) == threads_before
    assert connections() == connections_before
    assert process.num_fds() <= files_before
