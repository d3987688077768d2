"""A session of books with more than ten levels a side: the model reads ten, the recorder gets all of them."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.market.bands import Bands, Ladder, bands_of
from core.market.book import OrderBookSnapshot
from core.market.events import Trade
from core.market.feeds.protocol import FeedEvent
from core.market.feeds.recording import RecordingFeed
from core.market.predictor import Predictor
from core.market.recorder import record
from core.market.session import KEPT_ROWS
from core.market.store.depth_files import RecordedDepth
from tests.core.market.feeds_for_tests import PlayedOnce, ScriptedFeed, finished, replaying
from tests.core.market.helpers import Silent, confirmed, real_rows

ROWS = real_rows(4)[:120]


def deep_of(number: int) -> np.ndarray:
    """Deeper levels of a row: as many as its number, ninety at most."""
    return 1_000.0 * number + np.arange(4.0 * min(number, 90))


def deepened() -> list[FeedEvent]:
    numbers = iter(range(len(ROWS)))
    return [
        replace(event, deep=deep_of(next(numbers))) if isinstance(event, OrderBookSnapshot) else event
        for event in replaying(ROWS)
    ]


def test_predictions_and_scores_are_those_of_the_ten_levels(predictor: Predictor) -> None:
    deep, plain = finished(predictor, deepened()), finished(predictor, replaying(ROWS))
    np.testing.assert_array_equal(deep.view().levels, ROWS.levels)
    np.testing.assert_allclose(deep.view().predictions["probabilities"], plain.view().predictions["probabilities"], atol=1e-6)
    np.testing.assert_array_equal(confirmed(deep)[["timestamp", "mid"]], confirmed(plain)[["timestamp", "mid"]])


def test_their_bands_are_recorded_and_played(tmp_path: Path) -> None:
    """Of a book that reaches past the hundred levels that are recorded one by one; a hole and a minute begin whole."""
    events = [
        replace(event, bands=bands_at(i)) for i, event in enumerate(replaying(ROWS)[1:]) if isinstance(event, OrderBookSnapshot)
    ]
    (path,) = asyncio.run(record(ScriptedFeed([replaying(ROWS)[0], *events], ends=True), tmp_path, Silent()))
    depth = RecordedDepth([path])
    for i, timestamp in enumerate(ROWS.timestamps):
        got = depth.at(int(timestamp))
        assert got is not None and got.keys.tolist() == bands_at(i).keys.tolist() and got.ladder == bands_at(i).ladder
    feed = PlayedOnce(path, market="ABC/USDT", speed=None)
    played = [event for event in asyncio.run(all_of(feed)) if isinstance(event, OrderBookSnapshot)]
    assert [event.bands.sizes.tolist() for event in played if event.bands] == [
        bands_at(i).sizes.tolist() for i in range(len(ROWS))
    ]


def bands_at(number: int) -> Bands:
    levels = np.array([[100.0 + 0.1 * k, 1.0 + (k + number) % 3] for k in range(1, 200)])
    return bands_of(levels, levels * [-1, 1] + [200.0, 0], Ladder(0.2, 1.0))


async def all_of(feed: RecordingFeed) -> list[FeedEvent]:
    return [event async for event in feed.events()]


def test_no_trade_of_a_kept_row_is_dropped(predictor: Predictor) -> None:
    """Thirty a row: 3,600."""
    script: list[FeedEvent] = []
    for event in replaying(ROWS):
        when = event.exchange_ms if isinstance(event, OrderBookSnapshot) else 0
        script += [Trade(price=1.0, size=1.0, side="buy", exchange_ms=when - at) for at in range(240, 0, -8) if when]
        script.append(event)
    session = finished(predictor, script)
    assert len(session.view().trades) == 30 * len(ROWS)
    assert len(session.view(10).trades) == 30 * 10
    assert len(ROWS) < KEPT_ROWS
