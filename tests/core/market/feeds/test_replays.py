"""What nine venues really sent, served to the app's own feed: every book equals one kept by plain dictionaries."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.market.feeds.live import LiveFeed
from core.market.feeds.market_judge import Timeouts
from core.market.feeds.protocol import FeedState
from core.market.feeds.stream_checks import VENUES
from core.market.session import MarketSession
from tests.core.market.feeds.delta_server import BybitServer, KrakenServer, VenueServer
from tests.core.market.feeds.replay_server import (
    REPLAYS,
    BitfinexReplay,
    GeminiReplay,
    KrakenFuturesReplay,
    KucoinReplay,
    OkxReplay,
    Replay,
)
from tests.core.market.feeds.virtual_market import Market, cut, followed, lose, misprint, swap
from tests.core.market.feeds.virtual_time import virtually
from tests.core.market.helpers import real_rows, tiny_config, tiny_predictor

PLAYED_S = 4.0


def strange(market: Market) -> int:
    """How many books of the feed the venue never had."""
    known = {levels.tobytes() for _, levels in market.server.history}
    return sum(levels.tobytes() not in known for levels in market.books)


async def until_equal(market: Market) -> None:
    """Until the newest book is the venue's."""
    await market.until(lambda: bool(market.books) and np.array_equal(market.books[-1], market.server.top()))


@pytest.mark.parametrize("make", REPLAYS)
def test_every_book_of_a_capture_is_the_venues(make: type[Replay], tmp_path: Path) -> None:
    async def scenario(market: Market) -> None:
        market.pace_s = PLAYED_S / len(market.server)
        await market.until(lambda: not market.server.left)
        await until_equal(market)

    market = followed(make(), tmp_path, scenario)
    assert (strange(market), market.breaks) == (0, [])
    assert len(market.books) > 10


@pytest.mark.parametrize("make", [BitfinexReplay, KrakenFuturesReplay, OkxReplay])
def test_a_lost_message_of_a_capture_is_noticed_by_its_number_or_checksum(make: type[Replay], tmp_path: Path) -> None:
    async def scenario(market: Market) -> None:
        server = market.server
        await market.until(lambda: len(market.books) >= 8)
        market.moves = False
        await until_equal(market)
        assert market.breaks == []
        asked = server.asked
        await server.until_lasting()
        server.step()
        for _ in range(3):
            await server.send(server.step())
        await market.until(lambda: bool(market.breaks), 20.0)
        await until_equal(market)
        assert server.snapshots == 2
        assert server.asked <= asked + 2  # noticed by the message, not by asking

    assert strange(followed(make(), tmp_path, scenario)) == 0


@pytest.mark.parametrize(
    ("make", "fault"), [(GeminiReplay, lose), (OkxReplay, swap), (KucoinReplay, misprint), (BitfinexReplay, cut)]
)
def test_no_fault_of_a_captured_venue_leaves_a_wrong_row_and_the_feed_is_live_again(
    make: type[Replay], fault: Any, tmp_path: Path
) -> None:
    """A few lines of docs/faults.md."""

    async def scenario(market: Market) -> None:
        await market.until_recorded(16)
        await market.server.until_lasting()
        await fault(market.server)
        await asyncio.sleep(2.0)
        await market.until_recorded(16)

    market = followed(make(), tmp_path, scenario)
    assert market.wrong(1.0) == [] and market.statuses[-1].state is FeedState.LIVE


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
                told(still, "has given the same book for 2 s", transport="poll", timeouts=timeouts), told(late, "Lagging 5.")
            )

    virtually(scenario())


def test_the_table_of_venues_says_what_was_tried() -> None:
    captured = {make.exchange for make in REPLAYS} | {"deribit"}  # too thin for rows: `test_stream_checks`
    captured |= {"binance", "binanceusdm"}  # `test_live`
    assert {name for name, check in VENUES.items() if check.tried == "captured"} == captured
    assert {name for name, check in VENUES.items() if check.tried == "made"} == {KrakenServer.exchange, BybitServer.exchange}
