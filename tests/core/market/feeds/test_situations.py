"""A state of the market is not its end: 75 s of each, on three protocols, with the real ccxt, in virtual time."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.market.book import OrderBookSnapshot
from core.market.feeds.clock import CLOCK
from core.market.feeds.situations import LagMeter, Since, Situation, Situations, lag_situation, said_of, situation_of, span_of
from tests.core.market.feeds.delta_server import (
    BinanceDeltaServer,
    BybitServer,
    DeltaServer,
    HtxServer,
    KrakenServer,
    UnnumberedBybitServer,
)
from tests.core.market.feeds.replay_server import Sold, TradingKraken
from tests.core.market.feeds.virtual_market import followed

LASTS_S, BACK_S = 75.0, 5.0
SERVERS = (BinanceDeltaServer, BybitServer, KrakenServer)


def lock(server: DeltaServer) -> None:
    server.bids[min(server.asks)] = 500


def cross(server: DeltaServer) -> None:
    server.bids[min(server.asks) + 3] = 500


def leave_five(server: DeltaServer) -> None:
    for side, sign in ((server.asks, 1), (server.bids, -1)):
        for price in sorted(side, key=lambda price: sign * price)[5:]:
            del side[price]


STATES: dict[Situation, tuple[Callable[[Any], object], str]] = {
    Situation.LOCKED: (lock, "locked since"),
    Situation.CROSSED: (cross, "crossed since"),
    Situation.NO_ASKS: (lambda server: server.asks.clear(), "no asks since"),
    Situation.NO_BIDS: (lambda server: server.bids.clear(), "no bids since"),
    Situation.EMPTY: (lambda server: (server.asks.clear(), server.bids.clear()), "empty since"),
    Situation.FEW: (leave_five, "few levels (5) since"),
}
"""How a book comes to be such a one, and what is said of it."""

EVERY = [
    (kind, SERVERS[(place + also) % len(SERVERS)], streams)
    for place, kind in enumerate(STATES)
    for also, streams in enumerate((True, True, False))
]
"""Each state by the stream of two protocols and by request of the third."""


@pytest.mark.parametrize(("kind", "make", "streams"), EVERY)
async def test_an_odd_book_is_said_with_its_beginning_and_lived_through(
    kind: Situation, make: type[DeltaServer], streams: bool, tmp_path: Path
) -> None:
    times: dict[str, float] = {}
    make_odd, words = STATES[kind]
    server = make()
    server.streams = streams
    async with followed(server, tmp_path) as market:
        await market.until_recorded()
        since = CLOCK.now_ms()
        await market.change(make_odd)
        await asyncio.sleep(4.0)
        (state,) = [one for one in market.situations if one.kind is not Situation.ASKED]
        assert (state.kind, state.amount) == (kind, 5 if kind is Situation.FEW else 0)
        assert -50 <= state.since_ms - since < 1_500
        assert words in market.said[-1] and "row" not in market.said[-1].replace("no rows", "")
        rows = market.count
        await asyncio.sleep(LASTS_S - 4.0)
        assert market.count == rows and not market.ended
        assert state in market.situations
        market.moves, times["over"] = True, market.now()
        await asyncio.sleep(BACK_S)
        assert not [one for one in market.situations if one.kind is not Situation.ASKED]
        await market.until_recorded(4)
    assert market.first_book(times["over"]) <= BACK_S
    assert [hole for hole in market.holes() if hole > 1.0] == [pytest.approx(LASTS_S, abs=2.0)]
    assert market.wrong(0.45 if streams else 1.5) == []
    assert not market.breaks


HALTS = [("cut", BinanceDeltaServer), ("from the start", BybitServer), ("polled", KrakenServer)]


@pytest.mark.parametrize(("way", "make"), [*(("stands", make) for make in SERVERS), *HALTS])
async def test_a_halt_is_said_and_the_feed_is_live_again_by_itself(make: type[DeltaServer], way: str, tmp_path: Path) -> None:
    server, times = make(), dict[str, float]()
    server.halted, server.streams = way == "from the start", way != "polled"
    async with followed(server, tmp_path) as market:
        if way != "from the start":
            await market.until_recorded()
        market.moves, server.halted, since = False, True, CLOCK.now_ms()
        if way == "cut":
            server.cut()
        await market.until(lambda: Situation.HALTED in market.kinds, 16.0)
        (state,) = [one for one in market.situations if one.kind is Situation.HALTED]
        assert 0 <= state.since_ms - since <= 16_000
        assert "halted since" in market.said[-1]
        await asyncio.sleep(4.0)  # in which what came before it may be confirmed
        rows = market.count
        await asyncio.sleep(LASTS_S - 4.0)
        assert market.count == rows and state in market.situations
        market.moves, server.halted, times["over"] = True, False, market.now()
        await asyncio.sleep(BACK_S)
        assert Situation.HALTED not in market.kinds
        await market.until_recorded(4)
    assert market.first_book(times["over"]) <= BACK_S
    if way != "from the start":
        assert max(market.holes()) == pytest.approx(LASTS_S, abs=BACK_S)


async def test_a_market_with_an_update_each_twenty_seconds_is_live_at_once_and_a_lost_update_is_noticed(tmp_path: Path) -> None:
    server, times = HtxServer(), dict[str, float]()
    async with followed(server, tmp_path) as market:
        market.moves, times["began"] = False, market.now()
        await market.until_recorded()
        for _ in range(2):
            await asyncio.sleep(20.0)
            await server.send(server.step(range(5)))
        assert market.breaks == [] and server.snapshots == 1
        server.step(range(5))  # lost
        await server.send(server.step(range(5)))
        await market.until(lambda: bool(market.breaks), 4.0)
        assert market.breaks == ["An update of HTX went missing; connecting again."]
        await market.until_recorded(4)
    assert market.first_book(times["began"]) < 2.0
    assert market.rows().timestamps.size > 150


async def test_a_list_that_calls_a_traded_market_halted_is_not_believed(tmp_path: Path) -> None:
    server = KrakenServer()
    server.halted = True
    async with followed(server, tmp_path) as market:
        await market.until_recorded()
        market.moves = False
        await asyncio.sleep(20.0)
        assert market.situations == ()
        assert market.count > 70


async def test_a_trade_shows_that_there_is_no_halt(tmp_path: Path) -> None:
    server = TradingKraken()
    async with followed(server, tmp_path) as market:
        await market.until_recorded()
        market.moves, server.halted = False, True
        await market.until(lambda: Situation.HALTED in market.kinds, 16.0)
        await server.trade(Sold(CLOCK.now_ms() - 60_000, 100.5, 1.0, "buy", 1))  # of before the halt
        await asyncio.sleep(5.0)
        assert Situation.HALTED in market.kinds
        await server.trade(Sold(CLOCK.now_ms(), 100.5, 1.0, "buy", 2))
        await asyncio.sleep(5.0)
        assert market.situations == ()
        await market.until_recorded(4)


async def test_a_count_that_changes_is_said_once_a_second(tmp_path: Path) -> None:
    async with followed(BybitServer(), tmp_path) as market:
        await market.until_recorded()
        await market.change(leave_five)
        await asyncio.sleep(5.0)
        said = len(market.said)
        for number in range(100):  # 5, 4, 5, 4 ... levels
            before, deepest = market.server.view(), max(market.server.asks)
            if number % 2:
                market.server.asks[deepest + 1] = 500
            else:
                del market.server.asks[deepest]
            await market.server.send(market.server.changed_since(before))
            await asyncio.sleep(0.05)
        assert len(market.said) <= said + 6


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (KrakenServer, "Kraken sends an empty list of markets."),
        (BinanceDeltaServer, "Binance no longer trades BTC/USDT: choose another market."),
        (BybitServer, "Bybit has no market 'BTC/USDT': choose one from its list."),
    ],
)
async def test_a_market_that_is_gone_ends_the_feed(make: type[DeltaServer], sentence: str, tmp_path: Path) -> None:
    server = make()
    async with followed(server, tmp_path) as market:
        await market.until_recorded()
        server.delisted, market.moves = True, False
        server.cut()
        await market.until(lambda: bool(market.ended), 120.0)
    assert market.ended == sentence


async def test_a_venue_that_refuses_for_a_while_is_asked_on_once_it_was_live(tmp_path: Path) -> None:
    server = BybitServer()
    async with followed(server, tmp_path) as market:
        await market.until_recorded()
        server.refuses_requests = server.refuses_sockets = 403
        server.cut()
        market.moves = False
        await asyncio.sleep(10 * LASTS_S)
        server.refuses_requests = server.refuses_sockets = None
        market.moves = True
        await market.until_recorded(4)
    assert not market.ended


@pytest.mark.parametrize("size", ["NaN", "-5", "1e308"])
async def test_numbers_that_no_market_has_are_a_state_too(size: str, tmp_path: Path) -> None:
    class Odd(BybitServer):
        odd = False

        def _book(self, depth: int) -> dict[str, Any]:
            book = super()._book(depth)
            book["a"][3][1] = size if self.odd else book["a"][3][1]
            return book

    server = Odd()
    async with followed(server, tmp_path) as market:
        await market.until_recorded()
        server.odd, market.moves = True, False
        server.cut()
        await asyncio.sleep(LASTS_S)
        assert Situation.BROKEN in market.kinds
        server.odd, market.moves = False, True
        await asyncio.sleep(BACK_S)
        await market.until_recorded(4)
    assert not market.ended


class WithoutRequests(UnnumberedBybitServer):
    """A venue like Derive: its stream has no numbers that say anything, and no book can be asked for."""

    def configure(self, exchange: Any) -> None:
        super().configure(exchange)
        exchange.has["fetchOrderBook"] = False


async def test_a_venue_without_any_check_confirms_nothing_and_says_so(tmp_path: Path) -> None:
    async with followed(WithoutRequests(), tmp_path) as market:
        await asyncio.sleep(30.0)
        (state,) = market.situations
        assert state.kind is Situation.UNCHECKED
        assert "not checked since" in market.said[-1] and "nothing confirms its rows" in market.said[-1]
        assert market.count == 0
        await market.change(lock)  # nor does it end by a state
        await asyncio.sleep(LASTS_S)
        assert Situation.LOCKED in market.kinds
        market.moves = True
        await asyncio.sleep(BACK_S)
        assert market.kinds == [Situation.UNCHECKED]
    assert not market.ended


async def test_comparisons_that_never_succeed_are_no_check(tmp_path: Path) -> None:
    class Silent(UnnumberedBybitServer):
        def _reply(self, path: str) -> Any:
            return {"retCode": 10_000, "retMsg": "busy", "result": {}} if "orderbook" in path else super()._reply(path)

    async with followed(Silent(), tmp_path) as market:
        await asyncio.sleep(25.0)
        assert market.kinds == [Situation.UNCHECKED]
        assert market.count == 0


async def test_a_feed_that_falls_back_to_asking_says_so(tmp_path: Path) -> None:
    class Other(UnnumberedBybitServer):
        """Its stream is never the book that it gives on request."""

        def _book(self, depth: int) -> dict[str, Any]:
            book = super()._book(depth)
            if depth == 200:
                book["a"][8][1] = "77.000"
            return book

    async with followed(Other(), tmp_path) as market:
        await market.until(lambda: Situation.ASKED in market.kinds, 120.0)
        assert "books by request since" in market.said[-1]
        await market.until_recorded(4)


# -- words --------------------------------------------------------------------------------------------------------------


def side(first: float, step: float, count: int, size: float = 1.0) -> list[list[float]]:
    return [[first + i * step, size] for i in range(count)]


@pytest.mark.parametrize(
    ("asks", "bids", "kind"),
    [
        (side(101, 1, 12), side(101, -1, 12), (Situation.LOCKED, 0)),
        (side(101, 1, 3), side(102, -1, 12), (Situation.CROSSED, 0)),
        ([], side(102, -1, 12), (Situation.NO_ASKS, 0)),
        (side(101, 1, 12), [], (Situation.NO_BIDS, 0)),
        (side(101, 1, 12, 0.0), side(100, -1, 12), (Situation.NO_ASKS, 0)),
        ([], [], (Situation.EMPTY, 0)),
        (side(101, 1, 12), side(100, -1, 9), (Situation.FEW, 9)),
        (side(101, 1, 12), [[math.nan, 1.0], *side(99, -1, 12)], (Situation.BROKEN, 0)),
        (side(101, 1, 12)[::-1], side(100, -1, 12), (Situation.BROKEN, 0)),
        (side(101, 1, 12), [["x", 1.0]], (Situation.BROKEN, 0)),
    ],
)
def test_a_book_of_which_no_row_can_be_made_has_a_name(asks: Any, bids: Any, kind: tuple[Situation, float]) -> None:
    assert situation_of({"asks": asks, "bids": bids}) == kind


def test_a_state_that_is_there_after_a_break_began_before_it_and_one_that_ended_begins_anew() -> None:
    states = Situations()
    states.begin(Situation.LOCKED, 1_000)
    states.begin(Situation.ASKED, 2_000)
    states.forget()
    assert [one.kind for one in states.now] == [Situation.ASKED]
    states.begin(Situation.LOCKED, 9_000)
    assert [(one.kind, one.since_ms) for one in states.now] == [(Situation.LOCKED, 1_000), (Situation.ASKED, 2_000)]
    states.begin(Situation.CROSSED, 10_000)
    states.begin(Situation.LOCKED, 11_000)
    assert states.now[-1] == Since(kind=Situation.LOCKED, since_ms=11_000)


@pytest.mark.parametrize(
    ("lag_ms", "words"),
    [
        (900.0, None),
        (-900.0, None),
        (1_234.0, "lagging 1.2 s since 22:13:20 UTC"),
        (-14_300.0, "clock ahead 14 s since 22:13:20 UTC"),
        (3.6e6, "lagging 1 h since 22:13:20 UTC"),
        (-3.6e6, "clock ahead 1 h since 22:13:20 UTC"),
        (-300_000.0, "clock ahead 5 min since 22:13:20 UTC"),
    ],
)
def test_a_lag_either_way_is_named(lag_ms: float, words: str | None) -> None:
    found = lag_situation(lag_ms, 1_700_000_000_000)
    assert (found and str(found.words())) == words


def test_the_lag_is_the_median_of_twenty_books_either_way() -> None:
    meter = LagMeter()

    def book(lag_ms: int, later_ms: int) -> OrderBookSnapshot:
        received_ms = CLOCK.now_ms() + later_ms
        return OrderBookSnapshot(levels=np.ones(40), exchange_ms=received_ms - lag_ms, received_ns=received_ms * 1_000_000)

    def measure(lag_ms: int) -> str | None:
        for i in range(20):
            meter.measure(book(lag_ms, i))
        assert meter.ms == pytest.approx(lag_ms, abs=1)
        assert ("by its books' own time, or one of the two clocks is wrong" in meter.sentence()) == (meter.state is not None)
        return meter.state and str(meter.state.short())

    assert meter.ms is None
    lags = (300, 2_400, -3_200, 3_600_400, 2_400)
    assert [measure(lag) for lag in lags] == [None, "lagging 2.4 s", "clock ahead 3.2 s", "lagging 1 h", "lagging 2.4 s"]
    meter.measure(book(9_000, 20))  # one book that is late moves no median
    assert meter.ms == pytest.approx(2_400, abs=1)
    for second in range(20):  # confirmed, not changed
        meter.measure(replace(book(0, 1_000 * second), exchange_ms=meter._exchange_ms))
    assert meter.ms == pytest.approx(2_400, abs=1)


def test_spans_and_sentences_are_whole() -> None:
    assert [str(span_of(seconds)) for seconds in (3, 9.94, 9.96, 300, 90_000)] == ["3.0 s", "9.9 s", "10 s", "5 min", "25 h"]
    one = [Since(kind=Situation.FEW, since_ms=0, amount=1.0), Since(kind=Situation.UNTIMED, since_ms=1_000, amount=1_200)]
    text = "X: few levels (1) since 00:00:00 UTC; trades without a time (1,200) since 00:00:01 UTC; no rows until that is over."
    assert said_of("X", one) == text
    assert said_of("X", []) == ""
    for kind in Situation:
        for amount in range(1, 10):
            assert "{" not in Since(kind=kind, since_ms=0, amount=amount).words()
