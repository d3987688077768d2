"""Attribution figures: each number by its right name, none lost on the way to the book."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.figures import attribution as figures
from core.figures.attribution import DECADES, Shading
from core.market.book import FEATURES
from core.market.features import input_names

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


def test_every_input_stands_by_its_name(values):
    figure = figures.inputs_figure(values, SECONDS)
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


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20))
def test_shading_is_odd_rising_and_ends_at_one(numbers):
    numbers = np.array(sorted(numbers))
    shading = Shading.of(numbers)
    colours = shading.colour(numbers)
    assert (np.diff(colours) >= -1e-7).all()
    np.testing.assert_allclose(shading.colour(-numbers), -colours)
    assert np.abs(colours).max() <= 1.000001
    assert abs(float(shading.colour(np.array([shading.end]))[0]) - 1) < 1e-6


def test_compressed_colours_follow_the_formula_and_the_bar_names_attributions():
    shading = Shading(end=2.0)
    got = float(shading.colour(np.array([0.02]))[0])
    assert got == pytest.approx(np.log1p(1) / np.log1p(10**DECADES), rel=1e-5)  # a hundredth of the end
    bar = shading.bar("Attribution", "{:.3g}".format)
    assert bar["ticktext"] == ["-2", "-0.2", "0", "+0.2", "+2"]
    np.testing.assert_allclose(shading.colour(np.array([-2, -0.2, 0, 0.2, 2])), bar["tickvals"])


def test_no_attribution_at_all_is_no_error():
    nothing = np.zeros((STEPS, 40), dtype=np.float32)
    figure = figures.inputs_figure(nothing, SECONDS)
    assert np.isfinite(figure.data[0].z).all()
