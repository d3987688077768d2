"""What nine venues really sent, served to the app's own feed: every book equals one kept by plain dictionaries."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.market.feeds.market_judge import Timeouts
from core.market.feeds.protocol import Status
from core.market.feeds.stream_checks import VENUES
from tests.core.market.feeds.delta_server import BybitServer, KrakenServer, VenueServer
from tests.core.market.feeds.replay_server import (
    BINANCE,
    BINANCE_USDM,
    BITFINEX,
    GEMINI,
    KRAKEN_FUTURES,
    KUCOIN,
    OKX,
    WIRES,
    Replay,
    Wire,
)
from tests.core.market.feeds.virtual_market import Market, cut, followed, lose, misprint, swap

PLAYED_S = 4.0


def name_of(one):
    return one.exchange if isinstance(one, Wire) else one.__name__


def strange(market: Market) -> int:
    """How many books of the feed the venue never had."""
    known = {levels.tobytes() for _, levels in market.server.history}
    return sum(levels.tobytes() not in known for levels in market.books)


@pytest.mark.parametrize("wire", WIRES, ids=name_of)
async def test_every_book_of_a_capture_is_the_venues(wire: Wire, tmp_path: Path) -> None:
    async with followed(Replay(wire), tmp_path) as market:
        market.pace_s = PLAYED_S / len(market.server)
        await market.until(lambda: not market.server.left)
        await market.until_equal()
    assert (strange(market), market.breaks) == (0, [])
    assert len(market.books) > 10


@pytest.mark.parametrize("wire", [BINANCE, BINANCE_USDM, BITFINEX, KRAKEN_FUTURES, OKX], ids=name_of)
async def test_a_lost_message_of_a_capture_is_noticed_by_its_number(wire: Wire, tmp_path: Path) -> None:
    async with followed(Replay(wire), tmp_path) as market:
        server = market.server
        await market.until(lambda: len(market.books) >= 8)
        market.moves = False
        await market.until_equal()
        assert market.breaks == []
        asked = server.asked
        await server.until_lasting()
        server.step()
        for _ in range(3):
            await server.send(server.step())
        await market.until(lambda: bool(market.breaks), 20.0)
        (broken,) = [one for one in market.statuses if one.state is Status.RECONNECTING]
        assert broken.gap and broken.resync and broken.message.endswith(" went missing; connecting again.")
        await market.until_equal()
        assert server.snapshots == 2
        assert server.asked <= asked + 2  # noticed by the message, not by asking
    assert strange(market) == 0


@pytest.mark.parametrize(("wire", "fault"), [(GEMINI, lose), (OKX, swap), (KUCOIN, misprint), (BITFINEX, cut)], ids=name_of)
async def test_no_fault_of_a_captured_venue_leaves_a_wrong_row_and_the_feed_is_live_again(
    wire: Wire, fault: Any, tmp_path: Path
) -> None:
    """A few lines of docs/faults.md."""
    async with followed(Replay(wire), tmp_path) as market:
        await market.until_recorded(16)
        await market.server.until_lasting()
        await fault(market.server)
        await asyncio.sleep(2.0)
        await market.until_recorded(16)
    assert market.wrong(1.0) == [] and market.statuses[-1].state is Status.LIVE


@pytest.mark.parametrize(
    ("make", "name", "value", "words"),
    [(lambda: Replay(GEMINI), "streams", False, "has given the same book for 2 s"), (BybitServer, "stamp_s", -5.0, "Lagging 5.")],
    ids=["still", "lagging"],
)
async def test_answers_that_stand_still_are_named_and_so_is_a_venue_that_lags(
    make: Callable[[], VenueServer], name: str, value: float, words: str, tmp_path: Path
) -> None:
    setattr(server := make(), name, value)
    async with followed(server, tmp_path, timeouts=Timeouts(still_s=2.0)) as market:
        await market.until(lambda: words in market.session.status_now()[1], 40.0)


def test_the_table_of_venues_says_what_was_tried() -> None:
    captured = {wire.exchange for wire in WIRES} | {"deribit"}  # too thin for rows: `test_stream_checks`
    captured |= {"binance", "binanceusdm"}  # `test_live`
    assert {name for name, check in VENUES.items() if check.tried == "captured"} == captured
    assert {name for name, check in VENUES.items() if check.tried == "made"} == {KrakenServer.exchange, BybitServer.exchange}
