import asyncio
import math
import time
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from core.market.book import LEVELS, MAX_LEVELS, BookError, OrderBookSnapshot, interleave
from core.market.events import Trade
from core.market.feeds import requested_books
from core.market.feeds.ccxt_books import KnownDepth, snapshot_of
from core.market.feeds.market_judge import MarketJudge
from core.market.feeds.trade_proof import TradeProof


def side(best: float, step: float, count: int) -> list[list[float]]:
    return [[best + step * rank, 1.0 + rank] for rank in range(count)]


def book(count: int = 12, *, bid: float = 100.0, ask: float = 101.0) -> dict[str, object]:
    return {"asks": side(ask, 0.5, count), "bids": side(bid, -0.5, count), "timestamp": 1_700_000_000_123, "nonce": 77}


def test_ten_levels_a_side_are_copied_with_time_and_number() -> None:
    raw = book()
    before = time.time_ns()
    snapshot = snapshot_of(raw)
    assert before <= snapshot.received_ns <= time.time_ns()
    assert (snapshot.exchange_ms, snapshot.sequence) == (1_700_000_000_123, 77)
    assert snapshot.levels[:8].tolist() == [101.0, 1.0, 100.0, 1.0, 101.5, 2.0, 99.5, 2.0]
    raw["asks"][0][1] = 99.0  # type: ignore[index]
    assert snapshot.levels[1] == 1.0


def test_up_to_a_thousand_levels_a_side_are_kept_as_deep_as_both_sides_reach() -> None:
    raw = book(1_050, bid=1_000.0, ask=1_001.0)
    snapshot = snapshot_of(raw)
    asks, bids = np.array(raw["asks"])[:MAX_LEVELS], np.array(raw["bids"])[:MAX_LEVELS]
    np.testing.assert_array_equal(snapshot.whole, np.concatenate([asks, bids], axis=1).reshape(-1))
    assert snapshot.levels.shape == (40,) and snapshot.deep.shape == (4 * (MAX_LEVELS - LEVELS),)
    assert snapshot_of({**raw, "bids": raw["bids"][:13]}).deep.shape == (12,)  # type: ignore[index]
    assert not len(snapshot_of(book(10)).deep)


def test_a_level_of_size_zero_is_no_level() -> None:
    raw = book(12)
    raw["asks"].insert(2, [101.75, 0.0])  # type: ignore[attr-defined]
    np.testing.assert_array_equal(snapshot_of(raw).whole, snapshot_of(book(12)).whole)


def test_a_fault_past_the_tenth_level_costs_only_the_deeper_levels() -> None:
    raw = book(50)
    raw["asks"][30][1] = -1.0  # type: ignore[index]
    snapshot = snapshot_of(raw)
    np.testing.assert_array_equal(snapshot.levels, snapshot_of(book(10)).levels)
    assert not len(snapshot.deep)


def test_levels_that_the_snapshot_left_out_are_not_kept() -> None:
    reach = KnownDepth()
    reach.learn(book(20), 20)  # asks to 110.5, bids to 90.5
    moved = snapshot_of(book(60, bid=98.0, ask=103.0))  # sixteen asks and as many bids are known
    kept = reach.without_unknown(moved)
    assert (kept.whole[-4], kept.whole[-2]) == (110.5, 90.5) and len(kept.whole) == 4 * 16
    assert KnownDepth().without_unknown(moved) is moved


def test_a_third_number_a_level_is_left_out_and_a_missing_time_is_the_receive_time() -> None:
    raw = book()
    raw["asks"] = [[*level, 3] for level in raw["asks"]]  # type: ignore[union-attr]
    raw["timestamp"] = raw["nonce"] = None
    snapshot = snapshot_of(raw)
    assert snapshot.exchange_ms == snapshot.received_ns // 1_000_000
    assert snapshot.sequence is None
    np.testing.assert_array_equal(snapshot.levels, snapshot_of(book()).levels)


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (book(9), "9 asks and 9 bids: 10 a side are needed"),
        (book(0), "0 asks and 0 bids"),
        (book(bid=101.0), "is locked: the best ask equals the best bid"),
        (book(bid=101.5), "is crossed: the best ask is not above"),
        ({**book(), "asks": side(101, 0.5, 12)[::-1]}, "unsorted"),
        ({**book(), "bids": [[99.0, None]] * 12}, "not a price and a size|missing or infinite"),
        ({**book(), "bids": [["x", 1]] * 12}, "not a price and a size"),
    ],
)
def test_a_book_that_is_no_use_is_refused_with_a_reason(raw: dict[str, object], sentence: str) -> None:
    with pytest.raises(BookError, match=sentence):
        snapshot_of(raw)


def test_trades() -> None:
    whole = {"price": 100.5, "amount": 2, "timestamp": 5, "side": "sell", "id": "1"}
    assert TradeProof().new_trades([whole]) == [Trade(price=100.5, size=2.0, side="sell", exchange_ms=5)]
    assert TradeProof().new_trades([{**whole, "side": None}]) == [Trade(price=100.5, size=2.0, side=None, exchange_ms=5)]
    assert TradeProof().new_trades({**whole, key: None} for key in ("price", "amount", "timestamp")) == []


def at(ask: float, bid: float) -> OrderBookSnapshot:
    """A book whose tenth levels lie at these prices."""
    asks, bids = np.array(side(ask - 4.5, 0.5, 10)), np.array(side(bid + 4.5, -0.5, 10))
    return OrderBookSnapshot(levels=interleave(asks, bids), exchange_ms=0, received_ns=0)


def test_everything_is_within_reach_until_a_snapshot_is_learnt() -> None:
    assert KnownDepth().covers(at(1e6, 1.0).levels)


def test_what_a_snapshot_left_out_is_out_of_reach() -> None:
    reach = KnownDepth()
    reach.learn(book(20), 20)  # asks to 110.5, bids to 90.5
    assert reach.covers(at(110.5, 90.5).levels)
    assert not reach.covers(at(111.0, 95.0).levels)
    assert not reach.covers(at(106.0, 90.0).levels)
    reach.learn(book(100), 100)  # asks to 150.5
    assert reach.covers(at(111.0, 90.0).levels)


def test_a_snapshot_that_was_not_cut_off_reaches_everywhere() -> None:
    reach = KnownDepth()
    reach.learn(book(20), 20)
    reach.learn(book(13), 20)
    assert reach.covers(at(math.nextafter(1e9, 2e9), 1.0).levels)
    reach.learn(book(20), 5000)  # fewer than asked for, yet round: the venue's own limit
    assert not reach.covers(at(111.0, 95.0).levels)


def test_what_falls_off_the_end_of_a_full_side_is_out_of_reach() -> None:
    reach = KnownDepth()
    reach.learn(book(20), 20)
    reach.narrow({"asks": side(101, 0.5, 19), "bids": side(104, -0.5, 20)}, 20)  # the best bid rose: bids end at 94.5
    assert reach.covers(at(110.5, 94.5).levels)
    assert not reach.covers(at(110.5, 94.0).levels)
    reach.narrow({"asks": side(101, 0.5, 20), "bids": side(100, -0.5, 20)}, 20)  # what is forgotten does not come back
    assert not reach.covers(at(110.5, 94.0).levels)
    reach.narrow({"asks": side(101, 0.1, 20), "bids": side(100, -0.1, 20)}, None)
    assert reach.covers(at(110.5, 94.5).levels)


@pytest.mark.parametrize(("limit_ms", "pace_s"), [(1_000, 1.0), (50, 0.25)])
def test_a_venue_is_asked_no_faster_than_its_limit(limit_ms: float, pace_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor than a row is taken. Asking takes no time here: the whole pace is waited for."""
    waits: list[float] = []

    async def nothing(*_: object) -> None:
        return None

    async def asked(*_: object) -> dict[str, object]:
        return book()

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise TimeoutError

    situations = SimpleNamespace(begin=lambda *_: None, end=lambda *_: None)
    exchange = SimpleNamespace(has={"fetchOrderBook": True}, rateLimit=limit_ms, id="testville")
    never, memory = SimpleNamespace(still_s=math.inf), SimpleNamespace(situations=situations)
    judge = SimpleNamespace(exchange=exchange, symbol="A/B", memory=memory, unusable=None, timeouts=never)
    judge.heed_list = judge.judge_book = judge.tell = nothing
    monkeypatch.setattr(requested_books, "time", SimpleNamespace(monotonic=lambda: 5.0))
    monkeypatch.setattr(requested_books.asyncio, "sleep", wait)
    with pytest.raises(TimeoutError):
        asyncio.run(requested_books.RequestedBooks(cast(MarketJudge, judge), asked).poll())
    assert waits == [pace_s] * 3
