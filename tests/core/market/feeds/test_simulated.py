import asyncio
from contextlib import aclosing
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.market.book import OrderBookSnapshot, first_fault
from core.market.events import Trade
from core.market.feeds.protocol import FeedEvent, Status, StatusChange
from core.market.feeds.simulated import LOT, MarketProcess, MarketSettings, SimulatedFeed
from tests.core.market.feeds.virtual_time import virtually


async def books(events, count: int) -> list[OrderBookSnapshot]:
    found: list[OrderBookSnapshot] = []
    while len(found) < count:
        event: FeedEvent = await anext(events)
        if isinstance(event, OrderBookSnapshot):
            found.append(event)
    return found


async def test_it_is_the_market_process_in_time() -> None:
    loop = asyncio.get_running_loop()
    feed = SimulatedFeed(11, start_ms=1_000)
    feed.set_speed(2.0)
    market, began = MarketProcess(11), loop.time()
    async with aclosing(feed.events()) as events:
        assert await anext(events) == StatusChange(state=Status.SIMULATING)
        trades = 0
        for step in range(100):
            expected = market.step(MarketSettings())
            for price, size, side in expected.trades:
                assert await anext(events) == Trade(price=price, size=size, side=side, exchange_ms=1_000 + 250 * step)
                trades += 1
            book = await anext(events)
            assert isinstance(book, OrderBookSnapshot)
            np.testing.assert_array_equal(book.levels, expected.levels)
            assert book.exchange_ms == 1_000 + 250 * step
            assert loop.time() - began == pytest.approx(0.125 * (step + 1))
        assert trades > 10
    assert (feed.key, feed.market, feed.clock) == ("simulated/11", "simulated", "event")


def test_a_change_holds_from_the_next_step_on_and_repeats_exactly() -> None:
    async def scenario() -> list[np.ndarray]:
        feed = SimulatedFeed(5)
        feed.set_speed(None)
        async with aclosing(feed.events()) as events:
            first = await books(events, 10)
            feed.adjust(MarketSettings(spread_ticks=4, pressure=0.5))
            second = await books(events, 30)
        spreads = [round((book.levels[0] - book.levels[2]) * 100) for book in (*first, *second)]
        assert spreads == [1] * 10 + [4] * 30
        return [book.levels for book in (*first, *second)]

    np.testing.assert_array_equal(virtually(scenario()), virtually(scenario()))


async def test_the_lead_comes_at_once_and_ends_now() -> None:
    loop = asyncio.get_running_loop()
    feed = SimulatedFeed(5, lead=128)
    async with aclosing(feed.events()) as events:
        began = loop.time()
        found = await books(events, 128)
        assert loop.time() == began
        assert found[0].exchange_ms % 250 == 0
        assert 0 <= found[-1].received_ns // 1_000_000 - found[-1].exchange_ms < 60_000
        await books(events, 1)
        assert loop.time() - began == pytest.approx(0.25)


# -- the market ---------------------------------------------------------------------------------------------------------


a_setting = st.builds(MarketSettings, volatility_bps=st.floats(0, 50), spread_ticks=st.integers(1, 20), pressure=st.floats(-1, 1))
histories = st.lists(st.tuples(a_setting, st.integers(1, 40)), min_size=1, max_size=8)
seeds = st.integers(0, 2**32 - 1)


def play(seed: int, history: list[tuple[MarketSettings, int]]):
    market = MarketProcess(seed)
    return [(now, market.step(now)) for now, steps in history for _ in range(steps)]


@settings(deadline=None, max_examples=50)
@given(seeds, histories)
def test_every_book_is_sound_trades_are_at_the_touch_and_a_seed_gives_one_market(
    seed: int, history: list[tuple[MarketSettings, int]]
) -> None:
    settings_now, steps = zip(*play(seed, history), strict=True)
    books = np.array([step.levels for step in steps])
    assert first_fault(books) is None  # ten levels, sorted, positive, not crossed
    for whole in (books[:, 0::2] * 100, books[:, 1::2] * LOT):  # ticks and lots
        np.testing.assert_allclose(whole, np.rint(whole), rtol=0, atol=1e-6)
    assert np.rint((books[:, 0] - books[:, 2]) * 100).tolist() == [now.spread_ticks for now in settings_now]
    for step in steps:
        for price, size, side in step.trades:
            best_price, best_size = step.levels[:2] if side == "buy" else step.levels[2:4]
            assert price == best_price
            assert 0 < size <= best_size
    _, again = zip(*play(seed, history), strict=True)
    np.testing.assert_array_equal([step.levels for step in again], books)
    assert [step.trades for step in again] == [step.trades for step in steps]


@cache
def undisturbed(seed: int) -> np.ndarray:
    """Books (2000, 40) of a market as it is set by default."""
    return np.array([step.levels for _, step in play(seed, [(MarketSettings(), 2_000)])])


def mids(steps) -> np.ndarray:
    return np.array([(step.levels[0] + step.levels[2]) / 2 for _, step in steps])


def test_pressure_makes_the_price_drift_and_the_sizes_lean() -> None:
    ends, leans = {}, {}
    for pressure in (-1.0, 0.0, 1.0):
        history = [(MarketSettings(pressure=pressure), 240)]
        runs = [play(seed, history) for seed in range(25)]
        ends[pressure] = np.array([np.log(mids(run)[-1] / 100) * 1e4 for run in runs])
        books = np.array([step.levels for run in runs for _, step in run[40:]])
        leans[pressure] = np.mean(np.log(books[:, 3:12:4].sum(axis=1) / books[:, 1:12:4].sum(axis=1)))  # three best of each
    assert ends[1.0].mean() - ends[0.0].mean() > 15  # 0.5 bps a second for a minute, less what the flow takes back
    assert ends[-1.0].mean() - ends[0.0].mean() < -15
    assert leans[1.0] > 0.5
    assert leans[-1.0] < -0.5
    assert abs(leans[0.0]) < 0.2


def test_volatility_is_what_it_is_set_to() -> None:
    for volatility in (5.0, 20.0):  # large against what the flow adds
        history = [(MarketSettings(volatility_bps=volatility), 100)]  # 25 seconds
        moves = [np.log(mids(play(seed, history))[-1] / 100) * 1e4 for seed in range(75)]
        assert np.std(moves) / 5 == pytest.approx(volatility, rel=0.2)


def test_sizes_lean_before_the_price_moves() -> None:
    """Without any pressure set, the book's imbalance predicts the next seconds."""
    correlations = []
    for seed in range(10):
        books = undisturbed(seed)
        lean = np.log(books[:, 3:12:4].sum(axis=1) / books[:, 1:12:4].sum(axis=1))
        mid = (books[:, 0] + books[:, 2]) / 2
        correlations.append(np.corrcoef(lean[:-40], mid[40:] - mid[:-40])[0, 1])
    assert np.mean(correlations) > 3 * np.std(correlations) / np.sqrt(len(correlations))


def test_queues_stay_on_their_prices_and_the_price_rests_now_and_then() -> None:
    books = undisturbed(3)
    assert 0.02 < np.mean(np.diff(books[:, 0] + books[:, 2]) != 0) < 0.5
    same = total = 0
    for before, after in pairwise(books):
        kept = dict(zip(before[2::4].tolist(), before[3::4].tolist(), strict=True))
        for price, size in zip(after[2::4].tolist(), after[3::4].tolist(), strict=True):
            if price in kept:
                total += 1
                same += kept[price] == size
    assert same / total > 0.6


@pytest.mark.parametrize(("key", "wrong"), [("volatility_bps", (-1, 51)), ("spread_ticks", (0, 21)), ("pressure", (1.1, np.nan))])
def test_settings_out_of_range_are_refused(key: str, wrong: tuple[float, ...]) -> None:
    for value in wrong:
        with pytest.raises(ValueError, match=f"{key} is .*: give a value from"):
            MarketSettings(**{key: value})


def test_the_price_turns_at_its_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it this market falls to 9.2 within 500 steps."""
    monkeypatch.setattr("core.market.feeds.simulated.START_PRICE", 10.05)
    assert 9.95 < mids(play(5, [(MarketSettings(volatility_bps=50, pressure=-1), 1_000)])).min() < 10.05
