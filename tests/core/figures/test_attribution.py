"""Attribution figures: each number by its right name, none lost on the way to the book."""

from __future__ import annotations

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.figures import attribution as figures
from core.figures import wire
from core.figures.attribution import DECADES, Shading
from core.market.book import FEATURES
from core.market.features import MID, input_names, price_columns

STEPS = 24
SECONDS = np.arange(1 - STEPS, 1) * 0.25


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(STEPS, 40)).astype(np.float32)


def book(seed: int = 0, tick: float = 0.5) -> np.ndarray:
    """Levels a tick apart on a mid that wanders by whole ticks."""
    rng = np.random.default_rng(seed)
    mid = 100 + tick * np.cumsum(rng.integers(-1, 2, STEPS))
    levels = np.empty((STEPS, 40))
    for level in range(10):
        levels[:, 4 * level], levels[:, 4 * level + 2] = mid + (level + 1) * tick, mid - level * tick
        levels[:, 4 * level + 1 : 4 * level + 4 : 2] = rng.uniform(1, 5, (STEPS, 2))
    return levels


def test_the_ladder_runs_from_the_farthest_ask_to_the_farthest_bid():
    prices = [FEATURES[column] for column in figures.PRICES]
    assert prices[:2] == ["ASK_P10", "ASK_P9"]
    assert prices[9:11] == ["ASK_P1", "BID_P1"]
    assert prices[-1] == "BID_P10"
    assert [name.replace("_P", "_V") for name in prices] == [FEATURES[column] for column in figures.SIZES]
    assert sorted([*figures.PRICES, *figures.SIZES]) == list(range(40))


@pytest.mark.parametrize("compressed", [True, False])
def test_every_input_stands_by_its_name(values, compressed):
    figure = figures.inputs_figure(values, SECONDS, compressed=compressed)
    heat = [trace for trace in figure.data if trace.type == "heatmap"]
    bars = [trace for trace in figure.data if trace.type == "bar"]
    seen = {}
    for trace in heat:
        for row, name in enumerate(trace.y):
            seen[name] = trace.customdata[row]
            assert (np.sign(trace.z[row]) == np.sign(trace.customdata[row])).all()
    assert set(seen) == set(FEATURES)
    for column, name in enumerate(FEATURES):
        np.testing.assert_array_equal(seen[name], values[:, column])
    sums = {name: total for trace in bars for name, total in zip(trace.y, trace.x, strict=True)}
    np.testing.assert_allclose([sums[name] for name in FEATURES], values.sum(axis=0), rtol=1e-5)


def test_inputs_beside_the_book_stand_under_their_own_names():
    names = input_names("flow")
    values = np.random.default_rng(1).normal(size=(STEPS, len(names))).astype(np.float32)
    seen = {}
    for trace in figures.inputs_figure(values, SECONDS, names=names).data:
        if trace.type == "heatmap":
            seen |= dict(zip(trace.y, trace.customdata, strict=True))
    assert list(seen) == [*(FEATURES[column] for column in [*figures.SIZES, *figures.PRICES]), *names[40:]]
    for column, name in enumerate(names):
        np.testing.assert_array_equal(seen[name], values[:, column])


def test_inputs_beside_the_book_are_drawn_at_the_price_they_tell_of():
    names, levels = input_names("flow"), book()
    mid = (levels[:, 0] + levels[:, 2]) / 2
    where = {
        "ASK_REMOVED": levels[:, 0],
        "BID_ADDED": levels[:, 2],
        "ASK_MOVE2": levels[:, 4],
        "DRIFT_50": mid,
        "BID_V3": levels[:, 10],
    }
    for name, price in where.items():
        values = np.zeros((STEPS, len(names)))
        values[:, names.index(name)] = 1.0
        prices, sums, step = figures.spread_over_prices(values, levels, price_columns("flow"))
        rows, steps = np.nonzero(np.nan_to_num(sums))
        assert list(steps[np.argsort(steps)]) == list(range(STEPS))
        assert (np.abs(prices[rows] - price[steps]) <= step / 2 + 1e-9).all(), name


def test_moments_add_up_to_the_whole(values):
    bars, line = figures.moments_figure(values, SECONDS).data
    np.testing.assert_allclose(bars.y, values.sum(axis=1), atol=1e-5)
    assert line.y[-1] == pytest.approx(values.sum(dtype=np.float64))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20), st.booleans())
def test_shading_is_odd_rising_and_ends_at_one(numbers, compressed):
    numbers = np.array(sorted(numbers))
    shading = Shading.of(numbers, compressed=compressed)
    colours = shading.colour(numbers)
    assert (np.diff(colours) >= -1e-7).all()
    np.testing.assert_allclose(shading.colour(-numbers), -colours)
    assert np.abs(colours).max() <= 1.000001
    assert abs(float(shading.colour(np.array([shading.end]))[0]) - 1) < 1e-6


def test_compressed_colours_follow_the_formula_and_the_bar_names_attributions():
    shading = Shading(end=2.0, compressed=True)
    got = float(shading.colour(np.array([0.02]))[0])
    assert got == pytest.approx(np.log1p(1) / np.log1p(10**DECADES), rel=1e-5)  # a hundredth of the end
    bar = shading.bar("Attribution", "{:.3g}".format)
    assert bar["ticktext"] == ["-2", "-0.2", "0", "+0.2", "+2"]
    np.testing.assert_allclose(shading.colour(np.array([-2, -0.2, 0, 0.2, 2])), bar["tickvals"])


def test_all_attributions_reach_the_book_at_the_price_where_their_level_stood(values):
    levels = book()
    prices, sums, step = figures.spread_over_prices(values, levels)
    assert step == pytest.approx(0.5)
    naive = {}
    for row in range(STEPS):
        for column in range(0, 40, 2):  # a price, and its size after it
            key = (row, round(levels[row, column] * 2))
            naive[key] = naive.get(key, 0.0) + float(values[row, column]) + float(values[row, column + 1])
    for row in range(STEPS):
        for at, price in enumerate(prices):
            expected = naive.get((row, round(price * 2)))
            assert np.isnan(sums[at, row]) if expected is None else sums[at, row] == pytest.approx(expected, abs=1e-5)


def test_what_tells_of_the_mid_is_put_there(values):
    levels = book()
    at_prices = [MID if column in (8, 10) else place for column, place in enumerate(figures.BOOK_PRICES)]
    prices, sums, step = figures.spread_over_prices(values, levels, at_prices)
    plain = figures.spread_over_prices(values, levels)[1]
    for row in range(STEPS):
        mid = np.round(((levels[row, 0] + levels[row, 2]) / 2 - prices[0]) / step)
        moved = np.zeros(len(prices))
        for column in (8, 10):
            moved[int(mid)] += values[row, column]
            moved[int(np.round((levels[row, column] - prices[0]) / step))] -= values[row, column]
        np.testing.assert_allclose(np.nan_to_num(sums[:, row]), np.nan_to_num(plain[:, row]) + moved, atol=1e-5)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.floats(0.0001, 3))
def test_nothing_is_lost_however_fine_the_ticks(seed, tick):
    rng = np.random.default_rng(seed)
    levels = book(seed, tick)
    levels[:, ::4] *= 1 + rng.uniform(0, 0.2)  # a wide spread: coarser bins
    values = rng.normal(size=(STEPS, 40))
    prices, sums, _ = figures.spread_over_prices(values, levels)
    assert np.nansum(sums) == pytest.approx(values.sum())
    assert len(prices) <= figures.MAX_PRICE_BINS + 1
    assert prices[0] <= levels[:, ::2].min() + 1e-9


def test_the_book_shows_the_best_prices_over_the_cells(values):
    levels = book()
    figure = figures.book_figure(values, levels, SECONDS)
    traces = {trace.name: trace for trace in figure.data}
    np.testing.assert_array_equal(traces["Best ask"].y, levels[:, 0])
    np.testing.assert_array_equal(traces["Best bid"].y, levels[:, 2])
    cells = figure.data[0]
    assert np.nansum(cells.customdata) == pytest.approx(values.sum(), abs=1e-3)
    assert np.isnan(cells.z).any()


def test_they_travel_as_bytes(values):
    for figure in (figures.inputs_figure(values, SECONDS), figures.book_figure(values, book(), SECONDS)):
        message, _ = wire.frame(wire.split(figure), {}, {})
        assert all("bdata" in part["value"]["z"] for part in orjson.loads(message)["traces"] if "z" in part["value"])


def test_no_attribution_at_all_is_no_error():
    nothing = np.zeros((STEPS, 40), dtype=np.float32)
    figure = figures.inputs_figure(nothing, SECONDS)
    assert np.isfinite(figure.data[0].z).all()
