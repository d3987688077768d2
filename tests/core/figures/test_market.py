"""The live page's figures: what they draw against the arrays they were given."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import pytest

from core.figures import market as figures
from core.figures.style import ASK, BID, COLOURS
from core.figures.wire import split
from core.scores import reliability
from tests.core.market.helpers import EXCERPTS, random_book, real_rows

ROWS = real_rows(3)
TIMES, LEVELS = ROWS.timestamps, ROWS.levels
TRADES = np.array([[TIMES[5], 100.0, 2.0, 1.0], [TIMES[6], 101.0, 8.0, -1.0], [TIMES[9], 99.0, 0.5, 0.0]])
CALL_TIMES, CALLS = TIMES[[10, 20, 30, 40]], np.array([0, 1, 2, 2])
BINS = reliability([0.35, 0.36, 0.81, 1.0], [True, False, True, True])
CONFUSION = np.array([[6, 3, 1], [0, 0, 0], [2, 2, 0]])

DRAWN: dict[str, Callable[[], go.Figure]] = {
    "liquidity": lambda: figures.liquidity_figure(TIMES, LEVELS, trades=TRADES, call_times=CALL_TIMES, calls=CALLS),
    "no liquidity yet": lambda: figures.liquidity_figure(TIMES[:0], LEVELS[:0]),
    "one row": lambda: figures.liquidity_figure(TIMES[:1], LEVELS[:1]),
    "ladder": lambda: figures.ladder_figure(LEVELS[0]),
    "depth": lambda: figures.depth_figure(LEVELS[0]),
    "probabilities": lambda: figures.probabilities_figure(TIMES[:2], np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])),
    "horizons": lambda: figures.horizons_figure(["10", "20"], np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]), chosen=1),
    "confusion": lambda: figures.confusion_figure(CONFUSION),
    "reliability": lambda: figures.reliability_figure({"TLOB": BINS}),
}


def trace(figure: go.Figure, name: str) -> go.Scatter:
    (found,) = [one for one in figure.data if one.name == name]
    return found


@pytest.mark.usefixtures("upper_case_translator")
@pytest.mark.parametrize("name", list(DRAWN))
def test_every_figure_travels_and_speaks_the_readers_language(name: str) -> None:
    figure = DRAWN[name]()
    parts = split(figure)
    assert all(json.loads(part.body) is not None for part in (*parts.traces, parts.layout))
    words = [figure.layout.xaxis.title.text, figure.layout.yaxis.title.text, *(one.name for one in figure.data if one.name)]
    assert words
    assert [word for word in words if word != word.upper()] == []


# -- liquidity ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXCERPTS, ids=lambda p: p.stem)
def test_liquidity_bins_hold_what_a_loop_puts_there(path: object) -> None:
    rows = real_rows(EXCERPTS.index(path))[:60]  # type: ignore[arg-type]
    heat = figures.bin_liquidity(rows.timestamps, rows.levels)
    step = heat.prices[1] - heat.prices[0]
    resting = np.zeros(heat.shade.shape)
    outside = 0
    for t, row in enumerate(rows.levels):
        for level in range(10):
            for price, size in ((row[4 * level], row[4 * level + 1]), (row[4 * level + 2], row[4 * level + 3])):
                bin_ = int(np.argmin(np.abs(heat.prices - price)))
                if abs(heat.prices[bin_] - price) <= step / 2 * (1 + 1e-6):
                    resting[bin_, t] += size
                else:
                    outside += 1
    assert outside <= 0.05 * 20 * len(rows)  # a few outliers may be cut off
    assert np.array_equal(heat.shade > 0, resting > 0)
    assert len(heat.prices) <= figures.MAX_PRICE_BINS + 2
    order = np.argsort(resting[resting > 0])
    assert (np.diff(heat.shade[resting > 0][order].astype(int)) >= 0).all()  # more rests there, darker it is
    assert heat.shade.max() == 255
    assert heat.shade[resting > 0].min() == 1


def test_long_stretches_are_thinned_and_keep_the_newest_row() -> None:
    rows = random_book(2_000, 3)
    heat = figures.bin_liquidity(rows.timestamps, rows.levels)
    assert len(heat.times) == heat.shade.shape[1] <= figures.MAX_TIME_BINS
    assert heat.times[-1] == rows.timestamps[-1]
    assert len(set(np.diff(heat.times))) == 1


def test_best_prices_and_mid_are_drawn_as_they_are() -> None:
    figure = DRAWN["liquidity"]()
    assert np.array_equal(trace(figure, "Best ask").y, LEVELS[:, 0])
    assert np.array_equal(trace(figure, "Best bid").y, LEVELS[:, 2])
    assert np.array_equal(trace(figure, "Mid").y, ROWS.mid)
    assert all(np.array_equal(trace(figure, name).x, TIMES) for name in ("Best ask", "Best bid", "Mid"))


def test_calls_stand_on_the_mid_of_their_time() -> None:
    figure = DRAWN["liquidity"]()
    up, down = trace(figure, "Calls up"), trace(figure, "Calls down")
    assert up.x.tolist() == TIMES[[30, 40]].tolist()
    assert up.y.tolist() == ROWS.mid[[30, 40]].tolist()
    assert down.x.tolist() == TIMES[[10]].tolist()
    assert (up.marker.color, down.marker.color) == (COLOURS["UP"], COLOURS["DOWN"])


def test_trades_show_side_and_size_and_only_the_newest() -> None:
    dots = trace(DRAWN["liquidity"](), "Trades")
    assert dots.marker.color.tolist() == [BID, ASK, COLOURS["STATIONARY"]]
    assert dots.customdata.tolist() == [2.0, 8.0, 0.5]
    assert np.argsort(dots.marker.size).tolist() == [2, 0, 1]
    many = np.tile(TRADES[:1], (1_000, 1))
    many[:, 1] = np.arange(1_000)
    figure = figures.liquidity_figure(TIMES, LEVELS, trades=many)
    assert trace(figure, "Trades").y.tolist() == list(range(400, 1_000))


# -- one row --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXCERPTS, ids=lambda p: p.stem)
def test_every_level_of_the_ladder_has_a_bar_of_its_own(path: object) -> None:
    for row in real_rows(EXCERPTS.index(path)).levels[::50]:  # type: ignore[arg-type]
        (bars,) = figures.ladder_figure(row).data
        assert len(set(bars.y)) == 20
        prices = [*row[0::4][::-1], *row[2::4]]
        assert [float(label) for label in bars.y] == pytest.approx(prices, rel=1e-9)
        assert bars.x.tolist() == [*row[1::4][::-1], *row[3::4]]


def test_a_side_with_finer_steps_keeps_its_bars_apart() -> None:
    """Asks a unit apart, bids a hundredth: labels as coarse as the asks would fall together."""
    row = np.ones(40)
    row[0::4], row[2::4] = 101.0 + np.arange(10), 100.0 - 0.01 * np.arange(10)
    (bars,) = figures.ladder_figure(row).data
    assert len(set(bars.y)) == 20
    assert figures.quote(row).digits == 3


def test_depth_adds_up_from_the_best_price() -> None:
    row = LEVELS[7]
    figure = figures.depth_figure(row)
    for name, first in (("Asks", 0), ("Bids", 2)):
        line = trace(figure, name)
        assert line.x.tolist() == row[first::4].tolist()
        assert line.y.tolist() == pytest.approx([sum(row[first + 1 :: 4][: i + 1]) for i in range(10)])


@pytest.mark.parametrize(("tick", "digits"), [(0.01, 3), (0.5, 2), (1.0, 1), (0.0001, 5), (25.0, 1)])
def test_a_quote_has_one_digit_more_than_a_price(tick: float, digits: int) -> None:
    row = random_book(1, 0, tick=tick, start=1_000 * tick).levels[0]
    found = figures.quote(row)
    assert found.digits == digits
    assert found.mid == pytest.approx((row[0] + row[2]) / 2)
    assert found.spread_bps == pytest.approx((row[0] - row[2]) / found.mid * 1e4)


# -- probabilities and scores ---------------------------------------------------------------------------------------------


def test_probabilities_are_stacked_in_class_order() -> None:
    figure = DRAWN["probabilities"]()
    assert [one.name for one in figure.data] == ["Down", "Stationary", "Up"]
    assert np.sum([one.y for one in figure.data], axis=0) == pytest.approx([1, 1])
    assert [one.line.color for one in figure.data] == [COLOURS[k] for k in ("DOWN", "STATIONARY", "UP")]


def test_the_chosen_horizon_stands_out() -> None:
    figure = DRAWN["horizons"]()
    for k, bars in enumerate(figure.data):
        assert bars.x.tolist() == pytest.approx([[0.2, 0.5, 0.3][k], [0.1, 0.1, 0.8][k]])
        assert bars.marker.opacity[1] == 1 > bars.marker.opacity[0]
    everyone = figures.horizons_figure(["10"], np.array([[0.2, 0.5, 0.3]]), chosen=None)
    assert everyone.data[0].marker.opacity == (1.0,)


def test_confusion_shows_counts_and_shares_of_what_happened() -> None:
    (heat,) = DRAWN["confusion"]().data
    assert heat.z.tolist() == [[0.6, 0.3, 0.1], [0, 0, 0], [0.5, 0.5, 0]]  # a class that never happened is no division by zero
    assert heat.text[0][0] == "6<br>60%"
    assert heat.x == heat.y == ("Down", "Stationary", "Up")


def test_reliability_leaves_empty_bins_out() -> None:
    line = trace(DRAWN["reliability"](), "TLOB")
    assert line.x.tolist() == pytest.approx([0.355, 0.81, 1.0])
    assert line.y.tolist() == pytest.approx([0.5, 1.0, 1.0])
    assert line.customdata.tolist() == [2, 1, 1]
    assert len(trace(figures.reliability_figure({"TLOB": reliability([], [])}), "TLOB").x) == 0


def test_likeliest_class_and_calls_are_drawn_under_their_own_names() -> None:
    figure = figures.reliability_figure({"LIKELIEST": BINS, "CALLED": reliability([0.1, 0.2], [True, True])})
    assert trace(figure, "LIKELIEST").y.tolist() == pytest.approx([0.5, 1.0, 1.0])
    assert trace(figure, "CALLED").x.tolist() == pytest.approx([0.1, 0.2])
    assert len({one.line.color for one in figure.data}) == 3
    assert figure.layout.showlegend and not DRAWN["reliability"]().layout.showlegend
