"""What nine venues really sent, served to the app's own feed: every book equals one kept by plain dictionaries."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.market.book import OrderBookSnapshot
from core.market.feeds.live import LiveFeed
from core.market.feeds.market_judge import Timeouts
from core.market.feeds.protocol import FeedState, StatusChange
from core.market.feeds.stream_checks import VENUES
from core.market.session import MarketSession
from tests.core.market.feeds.delta_server import BinanceDeltaServer, BybitServer, KrakenServer, VenueServer
from tests.core.market.feeds.fault_outcomes import Outcome, try_fault
from tests.core.market.feeds.replay_server import (
    REPLAYS,
    BitfinexReplay,
    GeminiReplay,
    KrakenFuturesReplay,
    KucoinReplay,
    OkxReplay,
    Replay,
)
from tests.core.market.feeds.venue_faults import BY_NAME
from tests.core.market.feeds.virtual_time import virtually
from tests.core.market.helpers import real_rows, tiny_config, tiny_predictor

PLAYED_S = 4.0


class Follower:
    """A feed of a replayed venue, and what came of it."""

    def __init__(self, server: Replay) -> None:
        self.server, self.books, self.breaks = server, [np.zeros(0)], 0
        server.remember()
        feed = LiveFeed(server.exchange, server.symbol, configure=server.configure, trades=False)
        self.task = asyncio.create_task(self._follow(feed))

    async def _follow(self, feed: LiveFeed) -> None:
        async for event in feed.events():
            if isinstance(event, OrderBookSnapshot):
                self.books.append(event.levels)
            self.breaks += isinstance(event, StatusChange) and event.state is FeedState.RECONNECTING

    async def until_equal(self, patience_s: float = 20.0) -> None:
        """Until the newest book is the venue's."""
        async with asyncio.timeout(patience_s):
            while not np.array_equal(self.books[-1], self.server.top()):
                await asyncio.sleep(0.05)
                if self.task.done():
                    self.task.result()

    async def end(self) -> int:
        """Stop; returns how many books the venue never had."""
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
        known = {levels.tobytes() for _, levels in self.server.history}
        return sum(levels.tobytes() not in known for levels in self.books[1:])


async def play(server: Replay, messages: int) -> None:
    began, ahead = time.monotonic(), server.sockets
    while not ahead and time.monotonic() < began + 40:
        await asyncio.sleep(0.05)
    for _ in range(messages):
        await server.send(server.step())
        await asyncio.sleep(PLAYED_S / messages)


def test_every_book_of_a_capture_is_the_venues() -> None:
    async def one(make: type[Replay]) -> None:
        async with make() as server:
            follower = Follower(server)
            await play(server, len(server))
            await follower.until_equal()
            assert (await follower.end(), follower.breaks) == (0, 0), make.exchange
            assert len(follower.books) > 10, make.exchange

    async def all_of_them() -> None:
        await asyncio.gather(*map(one, REPLAYS))

    virtually(all_of_them())


@pytest.mark.parametrize("make", [BitfinexReplay, KrakenFuturesReplay, OkxReplay])
def test_a_lost_message_of_a_capture_is_noticed_by_its_number_or_checksum(make: type[Replay]) -> None:
    async def scenario() -> None:
        async with make() as server:
            follower = Follower(server)
            await play(server, 40)
            await follower.until_equal()
            assert follower.breaks == 0
            asked = server.asked
            await server.until_lasting()
            server.step()
            for _ in range(3):
                await server.send(server.step())
            async with asyncio.timeout(20):
                while follower.breaks == 0:
                    await asyncio.sleep(0.02)
            await follower.until_equal()
            assert server.snapshots == 2
            assert server.asked <= asked + 2  # noticed by the message, not by asking
            assert await follower.end() == 0

    virtually(scenario())


CAPTURED = {GeminiReplay: "gap", OkxReplay: "reorder", KucoinReplay: "size NaN", BitfinexReplay: "truncated message"}
MADE = (
    (KrakenServer, "reset"),
    (BybitServer, "crossed for 2 s"),
    (BinanceDeltaServer, "empty side for 2 s"),
    (KrakenServer, "delisted"),
)


@pytest.mark.parametrize(("lines", "patience_s"), [(tuple(CAPTURED.items()), 2.0), (MADE, 1.0)], ids=["captured", "made up"])
def test_no_fault_of_a_venue_leaves_a_wrong_row_and_the_feed_is_live_again(tmp_path: Path, lines: Any, patience_s: float) -> None:
    """A few lines of docs/faults.md."""
    predictor = tiny_predictor(tmp_path, real_rows(4), (("forward", 5),), config=tiny_config(1, steps=8))

    async def all_of_them() -> list[Outcome]:
        tries = (try_fault(make, BY_NAME[name], predictor, tmp_path / name, patience_s=patience_s) for make, name in lines)
        return await asyncio.gather(*tries)

    for outcome in virtually(all_of_them()):
        assert outcome.sound, outcome
        if BY_NAME[outcome.fault].ends:
            assert outcome.said[-1].startswith("failed: "), outcome
        else:
            assert (
                outcome.live_s is not None and outcome.rows >= 16 and outcome.said[-1].partition(":")[0] in ("warming", "live")
            ), outcome


def test_answers_that_stand_still_are_named_and_so_is_a_venue_that_lags(tmp_path: Path) -> None:
    predictor = tiny_predictor(tmp_path, real_rows(4), (("forward", 5),), config=tiny_config(1, steps=8))

    async def told(server: VenueServer, words: str, **options: Any) -> None:
        """Until the page says so."""
        feed = LiveFeed(server.exchange, server.symbol, configure=server.configure, trades=False, **options)
        session = MarketSession(feed, predictor)
        task = asyncio.create_task(session.run())
        async with asyncio.timeout(40):
            while words not in session.status_now()[1]:
                await server.send(server.step() if server.sockets else "")
                await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def scenario() -> None:
        async with GeminiReplay() as still, BybitServer() as late:
            late.stamp_s = -5.0
            timeouts = Timeouts(still_s=2.0)
            await asyncio.gather(
                told(still, "has given the same book for 2 s", transport="poll", timeouts=timeouts), told(late, "Lagging by 5.")
            )

    virtually(scenario())


def test_the_table_of_venues_says_what_was_tried() -> None:
    captured = {make.exchange for make in REPLAYS} | {"deribit"}  # too thin for rows: `test_stream_checks`
    captured |= {"binance", "binanceusdm"}  # `test_live`
    assert {name for name, check in VENUES.items() if check.tried == "captured"} == captured
    assert {name for name, check in VENUES.items() if check.tried == "made"} == {KrakenServer.exchange, BybitServer.exchange}
