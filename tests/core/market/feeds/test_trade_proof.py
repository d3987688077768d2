"""Each trade once, over cuts, at the feed: so the recording, the tape and volume delta have it once."""

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from core.market.events import Trade, TradesBreak
from core.market.feeds import trade_proof
from core.market.feeds.failures import Backoff
from core.market.feeds.live import LiveFeed
from core.market.feeds.market_judge import Timeouts
from core.market.feeds.protocol import FeedState, StatusChange
from core.market.feeds.situations import Situation
from core.market.feeds.trade_proof import TradeProof
from core.market.recorder import EventRecorder
from core.market.session import MarketSession
from core.market.store.writer import SegmentWriter
from tests.core.market.feeds.trading_servers import Sold, Trading, TradingGemini, TradingKraken
from tests.core.market.feeds.virtual_time import virtually
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
    assert (
        len(
            TradeProof().new_trades(
                [raw(time_ms=1_700_000_000_000, id="1700000000000"), raw(time_ms=1_700_000_000_000, id=1_700_000_000_000)]
            )
        )
        == 2
    )


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


class Followed:
    """A feed that a session predicts from and a recorder writes."""

    def __init__(self, server: Trading, folder: Path) -> None:
        predictor = tiny_predictor(folder, real_rows(4), (("forward", 5),), config=tiny_config(1, steps=8))
        timeouts = Timeouts(trades_s=0.1)
        feed = LiveFeed(server.exchange, server.symbol, configure=server.configure, timeouts=timeouts)
        self.session = MarketSession(feed, predictor)
        self.writer = SegmentWriter(folder / "recordings", feed.market, key=feed.key)
        self.recorder = EventRecorder(self.writer, wall=True)
        self.seen: list[Any] = []
        self.session.record(self.recorder, ())
        self.session.listeners.append(self.seen.append)
        self.server, self.folder = server, folder
        self.tasks = [asyncio.create_task(work) for work in (self.session.run(), self._step(), self._write())]

    async def _write(self) -> None:
        while True:
            await self.recorder.keep_up(0.25)

    async def _step(self) -> None:
        while True:
            await self.server.send(self.server.step(range(5)))
            await asyncio.sleep(0.05)

    @property
    def trades(self) -> list[tuple[Any, ...]]:
        return [(one.exchange_ms, one.price, one.size, one.side) for one in self.seen if isinstance(one, Trade)]

    async def until(self, wanted: Any) -> None:
        async with asyncio.timeout(40):
            while not wanted():
                await asyncio.sleep(0.02)

    async def until_live(self, times: int) -> None:
        """Until the feed has been live so often, and its trades are followed."""
        states = lambda: [one.state for one in self.seen if isinstance(one, StatusChange)]  # noqa: E731
        await self.until(lambda: states().count(FeedState.LIVE) >= times)

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.recorder.stop()
        self.writer.close()

    def recorded(self, kind: str) -> list[dict[str, Any]]:
        files = sorted((self.folder / "recordings").rglob(f"{kind}_*.parquet"))
        return [row for file in files for row in pq.read_table(file).to_pylist()]


async def over_three_cuts(server: Trading, folder: Path, *, ids: bool) -> None:
    rng, count = np.random.default_rng(7), 0

    def some(many: int) -> list[Sold]:
        nonlocal count
        now, made = int(time.time() * 1e3), []
        for _ in range(many):
            count += 1
            made.append(Sold(now, 100.5, float(rng.integers(1, 4)), SIDES[int(rng.integers(2))], count if ids else None))
        return made

    async with server:
        server.remember()
        await server.trade(*some(5), loud=False)
        followed = Followed(server, folder)
        await followed.until(lambda: len(followed.trades) >= 5)
        for cut in range(3):
            for _ in range(4):
                await server.trade(*some(3))
                await asyncio.sleep(0.02)
            await followed.until(lambda: len(followed.trades) >= count)
            server.cut()
            await server.trade(*some(6), loud=False)  # nobody listens; the next connection is sent them
            await followed.until(lambda: len(followed.trades) >= count)
            await followed.until(lambda cut=cut: sum(isinstance(one, TradesBreak) for one in followed.seen) == cut + 1)
        await asyncio.sleep(0.5)
        view = followed.session.view(4_800)
        await followed.end()

    expected = Counter(one.numbers for one in server.traded)
    assert sum(expected.values()) == count == 59
    assert Counter(followed.trades) == expected
    sides = {1: "buy", -1: "sell"}
    recorded = Counter((one["timestamp"], one["price"], one["size"], sides[one["side"]]) for one in followed.recorded("trades"))
    assert recorded == expected
    first = view.timestamps[0] - 250
    shown = [one for one in server.traded if one.time_ms is not None and one.time_ms > first]
    assert sum(view.trades[:, 2] * view.trades[:, 3]) == sum(one.size * (1 if one.side == "buy" else -1) for one in shown)
    breaks = [(one.from_ms, one.until_ms) for one in followed.seen if isinstance(one, TradesBreak)]
    assert len(breaks) == 3 and all(since <= until for since, until in breaks)
    assert view.breaks.tolist() == [[float(since), float(until)] for since, until in breaks if until >= view.timestamps[0]]
    assert [(one["timestamp"], one["until"]) for one in followed.recorded("events") if one["kind"] == "trades"] == breaks


@pytest.mark.parametrize(("make", "ids"), [(TradingKraken, True), (TradingGemini, False)])
def test_each_trade_is_there_once_over_three_cuts(make: type[Trading], ids: bool, tmp_path: Path) -> None:
    virtually(over_three_cuts(make(), tmp_path, ids=ids))


def test_trades_without_a_time_are_said_with_their_count(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with TradingKraken() as server:
            server.remember()
            followed = Followed(server, tmp_path)
            await followed.until_live(1)
            await asyncio.sleep(0.5)
            await server.trade(Sold(None, 100.5, 1.0, "buy", 1), Sold(None, 100.5, 2.0, "buy", 2))
            await server.trade(Sold(int(time.time() * 1e3), 100.5, 3.0, "buy", 3))
            await followed.until(lambda: "2 trades without a time since" in followed.session.status_now()[1])
            (state,) = followed.session.situations()
            assert (state.kind, state.amount) == (Situation.UNTIMED, 2)
            assert [one[2] for one in followed.trades] == [3.0]
            await followed.end()

    virtually(scenario())


def test_a_burst_of_ten_thousand_trades_loses_none_and_delays_no_row(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with TradingKraken() as server:
            server.again = 0
            server.remember()
            followed = Followed(server, tmp_path)
            await followed.until_live(1)
            await followed.until(lambda: followed.writer.rows >= 4)
            now = int(time.time() * 1e3)
            await server.trade(*(Sold(now, 100.5, 1.0, "buy", number) for number in range(10_000)))
            await followed.until(lambda: len(followed.trades) >= 10_000)
            before = followed.writer.rows
            await followed.until(lambda: followed.writer.rows >= before + 4)
            assert len(followed.trades) == 10_000
            await followed.until(lambda: followed.session.view().trades[:, 2].sum() == 10_000)
            await followed.end()
            assert len(followed.recorded("trades")) == 10_000

    virtually(scenario())


def test_a_cut_right_after_a_trade_makes_no_second_one() -> None:
    async def scenario() -> None:
        server, seen = TradingKraken(), list[Trade]()
        async with server:
            quick = Backoff(first_s=0.02, cap_s=0.05)
            feed = LiveFeed(
                server.exchange, server.symbol, configure=server.configure, backoff=quick, timeouts=Timeouts(trades_s=0.05)
            )

            async def follow() -> None:
                async for event in feed.events():
                    if isinstance(event, Trade):
                        seen.append(event)

            task = asyncio.create_task(follow())
            start = int(time.time() * 1e3)
            async with asyncio.timeout(60):  # the client may have to be imported first
                while not server.sockets:
                    await asyncio.sleep(0.01)
            for cut in range(30):
                count = len(server.traded) + 2
                await server.trade(*(Sold(start + count, 100.5, 1.0 + number, "buy") for number in range(2)))
                for _ in range(cut % 10):
                    await asyncio.sleep(0.0005)
                server.cut()
                async with asyncio.timeout(20):
                    while len(seen) < count:
                        await asyncio.sleep(0.01)
            await asyncio.sleep(0.5)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert Counter((one.exchange_ms, one.size) for one in seen) == Counter((one.time_ms, one.size) for one in server.traded)

    virtually(scenario())
