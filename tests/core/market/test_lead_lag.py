"""Lead and lag against pandas' correlations and against markets whose delay is known."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from core.market.book import STEP_MS, BookRows, read_rows
from core.market.lead_lag import FEWEST, lead_lag
from core.market.store.index import FOLDER
from core.messages import BadValue
from tests.core.market.helpers import random_book, with_hole

N = 3_000


def market(moves: np.ndarray) -> BookRows:
    """A book whose mid makes these moves, one a step."""
    rows = random_book(len(moves), 3)
    mid = 100.0 * np.exp(np.cumsum(moves))
    levels = rows.levels.copy()
    levels[:, 0], levels[:, 2] = mid + 0.01, mid - 0.01
    return BookRows(timestamps=rows.timestamps, levels=levels)


@pytest.fixture(scope="module")
def moves() -> np.ndarray:
    return np.random.default_rng(5).normal(size=N) * 1e-4


@pytest.mark.parametrize("delay", [0, 3, -7])
def test_a_market_that_follows_is_found_at_its_delay(moves: np.ndarray, delay: int) -> None:
    noise = np.random.default_rng(6).normal(size=N) * 1e-4
    told = lead_lag(market(moves), market(np.roll(moves, delay) + noise))
    assert told.best == told.best_low == told.best_high == delay * STEP_MS / 1e3
    if delay:
        assert (told.ratio_low > 1) if delay > 0 else (told.ratio_high < 1)


def test_correlations_are_pandas(moves: np.ndarray) -> None:
    """Over a gap, too, across which nothing is joined."""
    first, second = with_hole(market(moves), 900, 40), market(np.roll(moves, 2) + moves[::-1])
    told = lead_lag(first, second)
    axis = np.arange(second.timestamps[0], second.timestamps[-1] + 1, STEP_MS)
    a, b = (pd.Series(np.log(rows.mid), index=rows.timestamps).reindex(axis).diff() for rows in (first, second))
    for delay, correlation in zip(range(-20, 21), told.correlation, strict=True):
        assert correlation == pytest.approx(a.corr(b.shift(-delay)), abs=1e-9)


def test_markets_without_a_relation_have_intervals_around_nothing(moves: np.ndarray) -> None:
    other = np.random.default_rng(8).normal(size=N) * 1e-4
    told = lead_lag(market(moves), market(other))
    assert told.ratio_low < 1 < told.ratio_high and told.best_high - told.best_low > 5
    assert np.mean((told.low < 0) & (told.high > 0)) > 0.7


def test_too_little_and_standing_markets_are_refused(moves: np.ndarray) -> None:
    rows = market(moves)
    later = BookRows(timestamps=rows.timestamps + N * STEP_MS - 100 * STEP_MS, levels=rows.levels)
    with pytest.raises(BadValue, match=rf"^the two recordings share 99 steps: {FEWEST} are needed$"):
        lead_lag(rows, later)
    with pytest.raises(BadValue, match="does not move"):
        lead_lag(rows, market(np.zeros(N)))


def test_the_bundled_perpetual_leads_its_spot_market() -> None:
    spot, perpetual = (read_rows(FOLDER / f"binance_{kind}_ethusdt_2024-08-08.parquet") for kind in ("spot", "perpetual"))
    told, back = lead_lag(spot, perpetual), lead_lag(perpetual, spot)
    assert told.ratio_high < 1 < back.ratio_low and told.best == back.best == 0
    np.testing.assert_allclose(told.correlation, back.correlation[::-1], atol=1e-9)


def test_recordings_of_other_times_take_no_memory_of_the_time_between() -> None:
    rows = random_book(500, 3)
    years_later = BookRows(timestamps=rows.timestamps + 10**12, levels=rows.levels)
    tracemalloc.start()
    with pytest.raises(BadValue, match="share 0 steps"):
        lead_lag(rows, years_later)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    torn = BookRows(timestamps=np.append(rows.timestamps[:-1], rows.timestamps[0] + 10**12), levels=rows.levels)
    with pytest.raises(BadValue, match="at most 2000000 are compared"):
        lead_lag(torn, torn)
