"""Each trade once, over cuts, at the feed: so the recording, the tape and volume delta have it once."""

import asyncio
from collections import Counter
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.market.events import Trade, TradesBreak
from core.market.feeds import trade_proof
from core.market.feeds.clock import CLOCK
from core.market.feeds.failures import Backoff
from core.market.feeds.market_judge import Timeouts
from core.market.feeds.situations import Situation
from core.market.feeds.trade_proof import TradeProof
from tests.core.market.feeds import virtual_market
from tests.core.market.feeds.replay_server import Sold, Trading, TradingGemini, TradingKraken
from tests.core.market.feeds.virtual_market import Market
from tests.core.market.helpers import real_rows, tiny_config, tiny_predictor

SIDES = ("buy", "sell")


def raw(time_ms: int | None = 5, price: Any = 100.0, size: Any = 1.0, side: str | None = "buy", id: Any = None) -> dict[str, Any]:
    return {"timestamp": time_ms, "price": price, "amount": size, "side": side, "id": id}


def test_two_equal_trades_of_one_message_are_two_and_come_again_as_two() -> None:
    proof = TradeProof()
    assert len(proof.new_trades([raw(), raw()])) == 2
    proof.cut(0)
    assert proof.new_trades([raw(), raw()]) == []
    proof.cut(0)
    assert len(proof.new_trades([raw(), raw(), raw()])) == 1  # the third happened while nobody listened


@pytest.mark.parametrize("together", [1, 7, 50])
@pytest.mark.parametrize("ids", [None, int, str])
def test_a_replay_that_covers_a_part_drops_that_part(together: int, ids: type | None) -> None:
    """Whether a venue sends a message a trade, as Binance does, or several; with ids, texts as Bybit's, or without."""
    proof = TradeProof()
    trades = [raw(time_ms=at, size=at % 3 + 1.0, id=ids and ids(700 + at)) for at in range(1, 50)]

    def new(sent: list[dict[str, Any]]) -> list[int]:
        messages = [sent[first : first + together] for first in range(0, len(sent), together)]
        return [trade.exchange_ms for message in messages for trade in proof.new_trades(message)]

    assert new(trades[:30]) == list(range(1, 31))
    proof.cut(0)
    assert new(trades[20:40]) == list(range(31, 41))
    proof.cut(0)
    assert new(trades[35:]) == list(range(41, 50))


@pytest.mark.parametrize("again", [12, "12", 12.0, " 12"])
def test_an_id_is_the_same_whatever_its_type(again: Any) -> None:
    proof = TradeProof()
    assert len(proof.new_trades([raw(id=12), raw(id=again)])) == 1
    proof.cut(0)
    assert proof.new_trades([raw(id=again)]) == []


def test_an_id_that_is_the_time_is_none() -> None:
    trades = [raw(time_ms=1_700_000_000_000, id=one) for one in ("1700000000000", 1_700_000_000_000)]
    assert len(TradeProof().new_trades(trades)) == 2


def test_ids_that_count_a_side_each_or_begin_anew_are_other_trades() -> None:
    proof = TradeProof()
    trades = [raw(id=1, side="buy"), raw(id=1, side="sell"), raw(id=1, time_ms=6), raw(id=1, price=99.0)]
    assert len(proof.new_trades(trades)) == 4


def test_an_id_that_is_missing_at_times_makes_no_second_trade() -> None:
    proof = TradeProof()
    assert len(proof.new_trades([raw(id=1), raw(id=None), raw(id=2)])) == 3
    proof.cut(0)
    assert proof.new_trades([raw(id=None), raw(id=2), raw(id=None)]) == []
    proof.cut(0)
    assert len(proof.new_trades([raw(id=1), raw(id=2), raw(id=3), raw(id=4)])) == 1  # one of them is the one without an id


def test_trades_of_a_message_come_in_the_order_of_their_times() -> None:
    assert [one.exchange_ms for one in TradeProof().new_trades([raw(time_ms=at) for at in (9, 3, 7)])] == [3, 7, 9]


def test_trades_without_a_time_or_a_price_are_counted_once() -> None:
    proof = TradeProof()
    message = [raw(time_ms=None), raw(time_ms=0), raw(price=float("nan")), raw(size=0.0), raw(size=None)]
    for _ in range(3):
        assert proof.new_trades(message) == []
        assert (proof.untimed, proof.odd) == (2, 3)
        proof.cut(0)


def test_memory_is_bounded_and_a_burst_of_equal_trades_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trade_proof, "MEMORY", 1_000)
    proof = TradeProof()
    assert len(proof.new_trades([raw() for _ in range(10_000)])) == 10_000
    assert len(proof.new_trades([raw(time_ms=at, id=at) for at in range(1, 10_001)])) == 10_000
    kept = sum(len(known.ids) + len(known.loose) for known in proof._known.values())
    assert kept == proof._size == 1_000
    proof.cut(0)
    assert proof.new_trades([raw(time_ms=at, id=at) for at in range(9_900, 10_001)]) == []


# -- with the real ccxt -------------------------------------------------------------------------------------------------


def trades(market: Market) -> list[tuple[Any, ...]]:
    return [(one.exchange_ms, one.price, one.size, one.side) for _, one in market.events if isinstance(one, Trade)]


def followed(server: Trading, folder: Path) -> AbstractAsyncContextManager[Market]:
    """As `virtual_market.followed`, with trades and a model that answers."""
    predictor = tiny_predictor(folder, real_rows(4), (("forward", 5),), config=tiny_config(1, steps=8))
    return virtual_market.followed(server, folder / "recordings", predictor=predictor, timeouts=Timeouts(trades_s=0.1))


@pytest.mark.parametrize(("make", "ids"), [(TradingKraken, True), (TradingGemini, False)])
async def test_each_trade_is_there_once_over_three_cuts(make: type[Trading], ids: bool, tmp_path: Path) -> None:
    rng, count, server = np.random.default_rng(7), 0, make()

    def some(many: int) -> list[Sold]:
        nonlocal count
        now, made = CLOCK.now_ms(), []
        for _ in range(many):
            count += 1
            made.append(Sold(now, 100.5, float(rng.integers(1, 4)), SIDES[int(rng.integers(2))], count if ids else None))
        return made

    def breaks(market: Market) -> list[TradesBreak]:
        return [one for _, one in market.events if isinstance(one, TradesBreak)]

    async with followed(server, tmp_path) as market:
        await server.trade(*some(5), loud=False)
        await market.until(lambda: len(trades(market)) >= 5)
        for cut in range(3):
            for _ in range(4):
                await server.trade(*some(3))
                await asyncio.sleep(0.02)
            await market.until(lambda: len(trades(market)) >= count)
            server.cut()
            await server.trade(*some(6), loud=False)  # nobody listens; the next connection is sent them
            await market.until(lambda: len(trades(market)) >= count)
            await market.until(lambda cut=cut: len(breaks(market)) == cut + 1)
        await asyncio.sleep(0.5)
    view = market.session.view(4_800)
    expected = Counter(one.numbers for one in server.traded)
    assert sum(expected.values()) == count == 59
    assert Counter(trades(market)) == expected
    kept, sides = market.table("trades"), {1: "buy", -1: "sell"}
    assert Counter((one["timestamp"], one["price"], one["size"], sides[one["side"]]) for one in kept) == expected
    first = view.timestamps[0] - 250
    shown = [one for one in server.traded if one.time_ms is not None and one.time_ms > first]
    assert sum(view.trades[:, 2] * view.trades[:, 3]) == sum(one.size * (1 if one.side == "buy" else -1) for one in shown)
    times = [(one.from_ms, one.until_ms) for one in breaks(market)]
    assert len(times) == 3 and all(since <= until for since, until in times)
    assert view.breaks.tolist() == [[float(since), float(until)] for since, until in times if until >= view.timestamps[0]]
    assert [(one["timestamp"], one["until"]) for one in market.table("events") if one["kind"] == "trades"] == times


async def test_trades_without_a_time_are_said_with_their_count(tmp_path: Path) -> None:
    server = TradingKraken()
    async with followed(server, tmp_path) as market:
        await market.until_recorded(2)
        await server.trade(Sold(None, 100.5, 1.0, "buy", 1), Sold(None, 100.5, 2.0, "buy", 2))
        await server.trade(Sold(CLOCK.now_ms(), 100.5, 3.0, "buy", 3))
        await market.until(lambda: "trades without a time (2) since" in market.session.status_now()[1])
        (state,) = market.session.situations()
        assert (state.kind, state.amount) == (Situation.UNTIMED, 2)
        assert [one[2] for one in trades(market)] == [3.0]


async def test_a_burst_of_ten_thousand_trades_loses_none_and_delays_no_row(tmp_path: Path) -> None:
    server = TradingKraken()
    server.again = 0
    async with followed(server, tmp_path) as market:
        await market.until_recorded(4)
        await server.trade(*(Sold(CLOCK.now_ms(), 100.5, 1.0, "buy", number) for number in range(10_000)))
        await market.until(lambda: len(trades(market)) >= 10_000)
        await market.until_recorded(4)
        assert len(trades(market)) == 10_000
        await market.until(lambda: market.session.view().trades[:, 2].sum() == 10_000)
    assert len(market.table("trades")) == 10_000


async def test_a_cut_right_after_a_trade_makes_no_second_one(tmp_path: Path) -> None:
    server = TradingKraken()
    options = {"backoff": Backoff(first_s=0.02, cap_s=0.05), "timeouts": Timeouts(trades_s=0.05)}
    async with virtual_market.followed(server, tmp_path, **options) as market:
        await market.until(lambda: bool(server.sockets))
        start = CLOCK.now_ms()
        for cut in range(30):
            count = len(server.traded) + 2
            await server.trade(*(Sold(start + count, 100.5, 1.0 + number, "buy") for number in range(2)))
            for _ in range(cut % 10):
                await asyncio.sleep(0.0005)
            server.cut()
            await market.until(lambda count=count: len(trades(market)) >= count)
        await asyncio.sleep(0.5)
    assert Counter(one[::2] for one in trades(market)) == Counter((one.time_ms, one.size) for one in server.traded)
