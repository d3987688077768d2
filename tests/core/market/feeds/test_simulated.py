import asyncio
from contextlib import aclosing

import numpy as np
import pytest

from core.market.book import OrderBookSnapshot
from core.market.events import Trade
from core.market.feeds.protocol import FeedEvent, FeedState, StatusChange
from core.market.feeds.simulated import MarketProcess, MarketSettings, SimulatedFeed
from tests.core.market.feeds.virtual_time import VirtualLoop, run_virtually


async def books(events, count: int) -> list[OrderBookSnapshot]:
    found: list[OrderBookSnapshot] = []
    while len(found) < count:
        event: FeedEvent = await anext(events)
        if isinstance(event, OrderBookSnapshot):
            found.append(event)
    return found


async def test_it_is_the_market_process_in_time() -> None:
    loop = asyncio.get_running_loop()
    feed = SimulatedFeed(11, speed=2.0, start_ms=1_000)
    market, began = MarketProcess(11), loop.time()
    async with aclosing(feed.events()) as events:
        assert await anext(events) == StatusChange(state=FeedState.SIMULATING)
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
    async def scenario(loop: VirtualLoop) -> list[np.ndarray]:
        feed = SimulatedFeed(5, speed=None)
        async with aclosing(feed.events()) as events:
            first = await books(events, 10)
            feed.adjust(MarketSettings(spread_ticks=4, pressure=0.5))
            second = await books(events, 30)
        spreads = [round((book.levels[0] - book.levels[2]) * 100) for book in (*first, *second)]
        assert spreads == [1] * 10 + [4] * 30
        return [book.levels for book in (*first, *second)]

    np.testing.assert_array_equal(run_virtually(scenario), run_virtually(scenario))


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
