"""No fault of a venue leaves a wrong row (D27): recorded with the real ccxt, compared with the venue's own book."""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.market.book import BookRows, OrderBookSnapshot
from core.market.feeds.clock import CLOCK
from core.market.feeds.failures import Backoff
from core.market.feeds.live import LiveFeed
from core.market.feeds.market_judge import FeedMemory, MarketJudge, Timeouts
from core.market.feeds.protocol import FeedState
from core.market.feeds.requested_books import Asks, RequestedBooks
from core.market.recorder import RecordingProgress, record
from core.market.store.rows import read_market
from tests.core.market.feeds.binance_server import BinanceServer, fixture
from tests.core.market.feeds.delta_server import BinanceDeltaServer, BybitServer, DeltaServer, KrakenServer, UnnumberedBybitServer
from tests.core.market.feeds.fault_outcomes import wrong_rows
from tests.core.market.feeds.virtual_time import virtually
from tests.core.market.helpers import Silent

QUICK = Backoff(first_s=0.02, cap_s=0.05, long_cap_s=0.05)
LATE_S = 0.45  # as `fault_outcomes` has it, closer


class Recorded:
    """A live feed being recorded."""

    def __init__(self, feed: LiveFeed, folder: Path) -> None:
        self.folder = folder
        self.seen: list[RecordingProgress] = []
        self.task = asyncio.create_task(record(feed, folder, Silent(), on_progress=self.seen.append))

    async def until(self, wanted: Callable[[RecordingProgress], bool]) -> None:
        """Until the recording's progress is so; earlier reports do not count."""
        start = len(self.seen)
        async with asyncio.timeout(25):
            while not any(wanted(progress) for progress in self.seen[start:]):
                await asyncio.sleep(0.01)
                if self.task.done():
                    self.task.result()

    async def more(self, rows: int) -> None:
        """Until so many more rows are confirmed."""
        have = self.seen[-1].rows if self.seen else 0
        await self.until(lambda progress: progress.rows >= have + rows)

    async def end(self) -> BookRows:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
        return read_market(sorted(self.folder.rglob("rows_*.parquet")))


async def forever(action: Callable[[], Awaitable[object]], pause_s: float = 0.02) -> None:
    while True:
        await action()
        await asyncio.sleep(pause_s)


async def during(action: Callable[[], Awaitable[object]], scenario: Coroutine[Any, Any, None]) -> None:
    """Repeat an action while a scenario runs."""
    task = asyncio.create_task(forever(action))
    try:
        await scenario
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


# -- Binance ----------------------------------------------------------------------------------------------------------


async def truncated(server: BinanceServer) -> None:
    await server.send_text(json.dumps(server.next_depth())[:-40])


async def no_json(server: BinanceServer) -> None:
    server.next_depth()
    await server.send_text("\x00<html>Bad gateway</html>")


async def missing_field(server: BinanceServer) -> None:
    await server.send_text(json.dumps({**server.next_depth(), "a": [[]]}))


async def size_of(server: BinanceServer, size: Any) -> None:
    message = server.next_depth()
    price = sorted(server.asks, key=float)[0]
    await server.send_text(json.dumps({**message, "a": [*message["a"], [price, size]]}))


async def reordered(server: BinanceServer) -> None:
    first, second = server.next_depth(), server.next_depth()
    await server.send_text(json.dumps(second))
    await server.send_text(json.dumps(first))


@pytest.mark.parametrize(
    "fault",
    [
        truncated,
        no_json,
        missing_field,
        lambda server: size_of(server, "NaN"),
        lambda server: size_of(server, math.nan),
        lambda server: size_of(server, "1e308"),
        reordered,
    ],
    ids=["truncated", "no JSON", "a level without numbers", "size 'NaN'", "size NaN", "size 1e308", "reordered"],
)
def test_a_bad_message_leaves_no_wrong_row(fault: Callable[[BinanceServer], Awaitable[None]], tmp_path: Path) -> None:
    async def scenario() -> None:
        async with BinanceServer(fixture("spot_ethusdt_20240808")) as server:
            recorded = Recorded(LiveFeed("binance", "ETH/USDT", configure=server.configure, trades=False), tmp_path)
            await asyncio.wait_for(server.subscribed.wait(), 30)
            server.start_history()

            await during(server.send_depth, recorded.more(4))
            await fault(server)
            await asyncio.sleep(0.6)  # two rows, before the next message puts some of these faults right
            await during(server.send_depth, recorded.more(4))
            rows = await recorded.end()
            assert not wrong_rows(rows.timestamps, rows.levels, server.history, LATE_S).any()
            assert len(rows) >= 8
            assert not any("html" in progress.message for progress in recorded.seen)

    virtually(scenario())


def test_with_heartbeats_alone_the_old_book_is_not_carried_as_live(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with BinanceServer(fixture("spot_ethusdt_20240808")) as server:
            recorded = Recorded(LiveFeed("binance", "ETH/USDT", configure=server.configure, trades=False), tmp_path)
            await asyncio.wait_for(server.subscribed.wait(), 30)
            server.start_history()
            await during(server.send_depth, recorded.more(4))
            before = recorded.seen[-1].rows

            async def heartbeat() -> None:
                server.next_depth()
                await server.ping()

            async def deaf() -> None:
                await recorded.until(lambda progress: progress.state is FeedState.RECONNECTING)

            await during(heartbeat, deaf())
            assert recorded.seen[-1].rows <= before + 1
            await during(server.send_depth, recorded.more(4))
            rows = await recorded.end()
            assert not wrong_rows(rows.timestamps, rows.levels, server.history, LATE_S).any()

    virtually(scenario())


def test_a_market_that_stands_still_is_confirmed_by_asking(tmp_path: Path) -> None:
    """Ten quiet seconds of a real market, heartbeats alone, and every row of them right."""

    async def scenario() -> None:
        async with BinanceServer(fixture("spot_ethusdt_20240808")) as server:
            recorded = Recorded(LiveFeed("binance", "ETH/USDT", configure=server.configure, trades=False), tmp_path)
            await asyncio.wait_for(server.subscribed.wait(), 30)
            server.start_history()
            await server.send_depth()
            await recorded.until(lambda progress: progress.state is FeedState.LIVE)
            await during(server.ping, recorded.more(20))
            rows = await recorded.end()
            assert not wrong_rows(rows.timestamps, rows.levels, server.history, LATE_S).any()
            assert (np.diff(rows.timestamps) == 250).all()

    virtually(scenario())


@pytest.mark.parametrize("garbled", ["{", '{"symbols": []}', '{"symbols": [{"symbol": "ETHUSDT"}]}', "null", "<html>busy</html>"])
def test_a_garbled_list_of_markets_is_asked_for_again(garbled: str) -> None:
    async def scenario() -> None:
        async with BinanceServer(fixture("spot_ethusdt_20240808"), lists=[garbled] * 3) as server:
            feed = LiveFeed("binance", "ETH/USDT", configure=server.configure, backoff=QUICK)
            events = feed.events()
            async for event in events:
                if getattr(event, "state", None) is FeedState.LIVE:
                    break
                assert "html" not in getattr(event, "message", "")
            await events.aclose()  # type: ignore[attr-defined]

    virtually(scenario())


@pytest.mark.parametrize("way", ["handshake", "failing"])
def test_retry_after_is_honoured(way: str) -> None:
    async def scenario() -> None:
        server = BinanceServer(fixture("spot_ethusdt_20240808"), retry_after="2")
        setattr(server, way, 429)
        async with server:
            feed = LiveFeed("binance", "ETH/USDT", configure=server.configure, backoff=QUICK, trades=False)
            events = feed.events()
            while len(server.refusals) < 2:
                event = await anext(events)  # type: ignore[call-overload]
            assert event.message == "Binance asks for fewer requests; trying again in 2 s."
            assert server.refusals[-1] - server.refusals[0] >= 1.9
            await events.aclose()  # type: ignore[attr-defined]

    virtually(scenario())


# -- venues that ccxt does not check ------------------------------------------------------------------------------------


SEVENTH = range(6, 7)
"""Where the faults happen; elsewhere in the book go on the messages after them, which do not put it right."""


async def lose(server: DeltaServer) -> None:
    server.step(SEVENTH)


async def swap(server: DeltaServer) -> None:
    first, second = server.step(SEVENTH), server.step(SEVENTH)
    await server.send(second)
    await server.send(first)


async def cut(server: DeltaServer) -> None:
    await server.send(server.step(SEVENTH)[:-30])


@pytest.mark.parametrize("make", [KrakenServer, BybitServer, UnnumberedBybitServer])
@pytest.mark.parametrize("fault", [lose, swap, cut])
def test_a_lost_or_reordered_update_leaves_no_wrong_row(make: type[DeltaServer], fault: Any, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with make() as server:
            feed = LiveFeed(server.exchange, server.symbol, configure=server.configure, trades=False)
            recorded = Recorded(feed, tmp_path)

            async def faulty() -> None:
                await recorded.more(4)
                assert server.snapshots == 1  # no fault, no fresh snapshot
                await fault(server)
                await recorded.until(lambda progress: progress.state is FeedState.RECONNECTING)
                await recorded.more(4)

            async def send_step() -> None:
                await server.send(server.step(range(5)))

            await during(send_step, faulty())
            rows = await recorded.end()
            assert not wrong_rows(rows.timestamps, rows.levels, server.history, LATE_S).any()
            assert len(rows) >= 8
            if make is not UnnumberedBybitServer:
                assert server.asked <= 3  # checked by checksum or number, not by asking

    virtually(scenario())


def test_the_first_message_does_not_confirm_a_book_asked_for_before_it(tmp_path: Path) -> None:
    async def one(make: type[DeltaServer]) -> None:
        async with make() as server:
            server.remember()
            server.answers_after_s = 3.0
            timeouts = Timeouts(quiet_s=1.0, again_s=5.0)
            feed = LiveFeed(server.exchange, server.symbol, configure=server.configure, trades=False, timeouts=timeouts)
            recorded = Recorded(feed, tmp_path / server.exchange)

            async def send_step() -> None:
                await server.send(server.step(range(5)))

            await during(send_step, recorded.more(6))
            rows = await recorded.end()
            assert server.asked >= 1  # before the first message
            assert not wrong_rows(rows.timestamps, rows.levels, server.history, LATE_S).any()

    async def scenario() -> None:
        await asyncio.gather(*map(one, (BinanceDeltaServer, KrakenServer, BybitServer)))

    virtually(scenario())


def test_a_book_asked_for_before_the_first_message_holds_from_its_arrival() -> None:
    class Slow:
        id, name, has, made_ns = "slow", "Slow", {"fetchOrderBook": True}, 0

        async def fetch_order_book(self, symbol: str, limit: int | None = None) -> dict[str, Any]:
            await asyncio.sleep(0.05)
            self.made_ns = CLOCK.now_ns()
            return {"asks": [[20.0 + i, 1.0] for i in range(10)], "bids": [[10.0 - i / 2, 1.0] for i in range(10)]}

    async def scenario() -> None:
        judge = MarketJudge(exchange := Slow(), "A/B", timeouts=Timeouts(), memory=FeedMemory(), confirms=lambda: False)
        await RequestedBooks(judge, exchange.fetch_order_book).ask(1.0, Asks())
        book = judge.queue.get_nowait()
        assert isinstance(book, OrderBookSnapshot)
        assert book.received_ns >= exchange.made_ns  # a row before then would show a book that the venue did not have yet

    virtually(scenario())
