"""Figures of predictions and their scores: what they draw against the arrays they were given."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import pytest

from core.figures import market as figures
from core.scores import reliability
from tests.core.market.helpers import random_book

BINS = reliability([0.35, 0.36, 0.81, 1.0], [True, False, True, True])

DRAWN: dict[str, Callable[[], go.Figure]] = {
    "horizons": lambda: figures.horizons_figure(["10", "20"], np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])),
    "reliability": lambda: figures.reliability_figure({"TLOB": BINS}),
}


def trace(figure: go.Figure, name: str) -> go.Scatter:
    (scatter,) = [one for one in figure.data if one.name == name]
    return scatter


@pytest.mark.usefixtures("upper_case_translator")
@pytest.mark.parametrize("name", list(DRAWN))
def test_every_figure_travels_and_speaks_the_readers_language(name: str) -> None:
    figure = DRAWN[name]()
    assert json.loads(figure.to_json(validate=False))["data"]
    words = [figure.layout.xaxis.title.text, figure.layout.yaxis.title.text, *(one.name for one in figure.data if one.name)]
    assert words
    assert [word for word in words if word != word.upper()] == []


@pytest.mark.parametrize(("tick", "digits"), [(0.01, 3), (0.5, 2), (1.0, 1), (0.0001, 5), (25.0, 1)])
def test_a_quote_has_one_digit_more_than_a_price(tick: float, digits: int) -> None:
    row = random_book(1, 0, tick=tick, start=1_000 * tick).levels[0]
    assert figures.mid_and_digits(row) == (pytest.approx((row[0] + row[2]) / 2), digits)


def test_a_quote_is_as_fine_as_the_finer_side() -> None:
    """Asks a unit apart, bids a hundredth."""
    row = np.ones(40)
    row[0::4], row[2::4] = 101.0 + np.arange(10), 100.0 - 0.01 * np.arange(10)
    assert figures.mid_and_digits(row)[1] == 3


def test_a_quote_shows_its_half_tick_where_the_levels_of_a_side_are_further_apart() -> None:
    """Asks and bids a tenth apart each, on hundredths."""
    row = np.ones(40)
    row[0::4], row[2::4] = 100.16 + 0.1 * np.arange(10), 100.05 - 0.1 * np.arange(10)
    mid, digits = figures.mid_and_digits(row)
    assert f"{mid:.{digits}f}" == "100.105"


def test_each_horizon_has_its_bar() -> None:
    for k, bars in enumerate(DRAWN["horizons"]().data):
        assert bars.x.tolist() == pytest.approx([[0.2, 0.5, 0.3][k], [0.1, 0.1, 0.8][k]])


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


def test_more_forecasters_than_colours_are_all_drawn() -> None:
    names = [f"checkpoint {i}" for i in range(8)]
    drawn = [one.name for one in figures.reliability_figure(dict.fromkeys(names, BINS)).data]
    assert drawn[1:] == names
