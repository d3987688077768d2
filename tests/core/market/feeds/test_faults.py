"""No fault of a venue leaves a wrong row (D27): recorded with the real ccxt, compared with the venue's own book."""

import asyncio
import contextlib
import json
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from core.market.book import OrderBookSnapshot
from core.market.feeds.clock import CLOCK
from core.market.feeds.failures import Backoff
from core.market.feeds.market_judge import FeedMemory, MarketJudge, Timeouts
from core.market.feeds.protocol import Status
from core.market.feeds.requested_books import Asks, RequestedBooks
from tests.core.market.feeds.delta_server import BinanceDeltaServer, BybitServer, DeltaServer, KrakenServer, UnnumberedBybitServer
from tests.core.market.feeds.replay_server import BINANCE_ETH, Replay
from tests.core.market.feeds.virtual_market import cut, drop, followed, lose, misprint, swap

QUICK = Backoff(first_s=0.02, cap_s=0.05, long_cap_s=0.05)


# -- Binance ----------------------------------------------------------------------------------------------------------


async def no_json(server: Replay) -> None:
    server.step()
    await server.send("\x00<html>Bad gateway</html>")


async def missing_field(server: Replay) -> None:
    message = json.loads(server.step())
    message["data"]["a"] = [[]]
    await server.send(json.dumps(message))


@pytest.mark.parametrize(
    "fault",
    [
        cut,
        no_json,
        missing_field,
        misprint,
        lambda server: server.send(server.misprint(math.nan)),
        lambda server: server.send(server.misprint("1e308")),
        swap,
    ],
    ids=["truncated", "no JSON", "a level without numbers", "size 'NaN'", "size NaN", "size 1e308", "reordered"],
)
async def test_a_bad_message_leaves_no_wrong_row(fault: Callable[[Any], Awaitable[None]], tmp_path: Path) -> None:
    async with followed(Replay(BINANCE_ETH), tmp_path) as market:
        await market.until_recorded(4)
        market.moves = False
        await fault(market.server)
        await asyncio.sleep(0.6)  # two rows, before the next message puts some of these faults right
        market.moves = True
        await market.until_recorded(4)
    assert market.wrong() == [] and market.count >= 8
    assert not any("html" in said for said in market.said)


async def ping(server: Replay) -> None:
    """Send a heartbeat, and wait a little."""
    for socket in list(server.sockets):
        with contextlib.suppress(ConnectionError):
            await socket.ping()
    await asyncio.sleep(0.1)


async def test_with_heartbeats_alone_the_old_book_is_not_carried_as_live(tmp_path: Path) -> None:
    async with followed(Replay(BINANCE_ETH), tmp_path) as market:
        await market.until_recorded(4)
        market.moves, before = False, market.count
        while not market.breaks:
            market.server.step()
            await ping(market.server)
        assert market.count <= before + 1
        assert market.breaks == ["Binance stopped sending while its book moved on; connecting again."]
        market.moves = True
        await market.until_recorded(4)
    assert market.wrong() == []


async def test_a_market_that_stands_still_is_confirmed_by_asking(tmp_path: Path) -> None:
    """Ten quiet seconds of a real market, heartbeats alone, and every row of them right."""
    async with followed(Replay(BINANCE_ETH), tmp_path) as market:
        await market.until_recorded(4)
        market.moves, before = False, market.count
        while market.count < before + 20:
            await ping(market.server)
    assert market.wrong() == [] and (np.diff(market.rows().timestamps) == 250).all()


@pytest.mark.parametrize("garbled", ["{", '{"symbols": []}', '{"symbols": [{"symbol": "ETHUSDT"}]}', "null", "<html>busy</html>"])
async def test_a_garbled_list_of_markets_is_asked_for_again(garbled: str, tmp_path: Path) -> None:
    class Busy(BinanceDeltaServer):
        left = 3

        def _reply(self, path: str) -> Any:
            self.left -= path.endswith("exchangeInfo")
            return super()._reply(path) if self.left < 0 else web.Response(text=garbled, content_type="application/json")

    async with followed(Busy(), tmp_path, backoff=QUICK) as market:
        await market.until_recorded(1)
    assert market.breaks and not any("html" in said for said in market.said)


@pytest.mark.parametrize("refused", ["refuses_requests", "refuses_sockets"])
async def test_retry_after_is_honoured(refused: str, tmp_path: Path) -> None:
    server = BinanceDeltaServer()
    server.retry_after = "2"
    setattr(server, refused, 429)
    async with followed(server, tmp_path, backoff=QUICK) as market:
        await market.until(lambda: len(market.breaks) == 2)
    assert market.breaks == ["Binance asks for fewer requests; trying again in 2 s."] * 2
    first, second = [when for when, one in market.events if getattr(one, "state", None) is Status.RECONNECTING]
    assert second - first >= 1.9


# -- venues that ccxt does not check ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [KrakenServer, BybitServer, UnnumberedBybitServer])
@pytest.mark.parametrize("fault", [lose, swap, cut, drop])
async def test_a_lost_or_reordered_update_leaves_no_wrong_row(make: type[DeltaServer], fault: Any, tmp_path: Path) -> None:
    server = make()
    async with followed(server, tmp_path) as market:
        await market.until_recorded(4)
        assert server.snapshots == 1  # no fault, no fresh snapshot
        await fault(server)
        await market.until(lambda: bool(market.breaks))
        await market.until_recorded(4)
    assert market.wrong() == [] and market.count >= 8
    if make is not UnnumberedBybitServer:
        assert server.asked <= 3  # checked by checksum or number, not by asking


@pytest.mark.parametrize("make", [BinanceDeltaServer, KrakenServer, BybitServer])
async def test_the_first_message_does_not_confirm_a_book_asked_for_before_it(make: type[DeltaServer], tmp_path: Path) -> None:
    server = make()
    server.answers_after_s = 3.0
    timeouts = Timeouts(quiet_s=1.0, again_s=5.0)
    async with followed(server, tmp_path, timeouts=timeouts) as market:
        await market.until_recorded(6)
    assert server.asked >= 1  # before the first message
    assert market.wrong() == []
    assert market.feed.tick == 0.1  # the venue's own step of price


async def test_a_book_asked_for_before_the_first_message_holds_from_its_arrival() -> None:
    class Slow:
        id, name, has, made_ns = "slow", "Slow", {"fetchOrderBook": True}, 0

        async def fetch_order_book(self, symbol: str, limit: int | None = None) -> dict[str, Any]:
            await asyncio.sleep(0.05)
            self.made_ns = CLOCK.now_ns()
            return {"asks": [[20.0 + i, 1.0] for i in range(10)], "bids": [[10.0 - i / 2, 1.0] for i in range(10)]}

    judge = MarketJudge(exchange := Slow(), "A/B", timeouts=Timeouts(), memory=FeedMemory(), confirms=lambda: False)
    await RequestedBooks(judge, exchange.fetch_order_book).ask(1.0, Asks())
    book = judge.queue.get_nowait()
    assert isinstance(book, OrderBookSnapshot)
    assert book.received_ns >= exchange.made_ns  # a row before then would show a book that the venue did not have yet
