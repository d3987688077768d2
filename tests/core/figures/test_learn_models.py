"""The lecture's figures hold the arrays they were given: axes named, signed colours centred, text marked for translation."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from core.figures.learn import norms as norm_figures
from core.figures.learn import optimisers as optimiser_figures
from core.figures.learn import transformer
from core.figures.matrix import Matrix, matrix_figure
from core.lecture import norms, optimisers

Z = np.array([[1.0, -2.0], [0.5, 0.0]])


pytestmark = pytest.mark.usefixtures("upper_case_translator")


def test_decoding_shows_nothing_of_later_steps() -> None:
    cross, causal = np.full((3, 4), 0.25), np.full((3, 3), 0.5)
    left, right = transformer.decoding_maps(cross, causal, source=list("a bc"), target=list("12■"), step=1)
    assert np.isnan(left.values[2]).all() and not np.isnan(left.values[:2]).any()
    assert np.isnan(right.values[0, 1:]).all() and not np.isnan(right.values[1, :2]).any()
    assert left.column_names == ["a", "␣", "b", "c"] and left.x_title == "TEXT READ (KEYS)"


def test_the_likeliest_symbols_come_first() -> None:
    figure = transformer.next_figure(np.array([0.1, 0.7, 0.2]), ["a", " ", "c"], chosen=1)
    assert list(figure.data[0].x) == ["␣", "c", "a"] and list(figure.data[0].y) == [0.7, 0.2, 0.1]


def every_figure() -> list[go.Figure]:
    x, curves = norms.all_curves()
    surface = optimisers.SURFACES["bowl"]
    rate = optimisers.constant(0.1)
    walks = {name: optimisers.surface_walks(surface, steps=5, rate=rate)[name] for name in optimisers.OPTIMISERS}
    names = {name: name for name in optimisers.OPTIMISERS}
    rates = optimisers.rates(total=10, peak=1.0, warmup=2, floor=0.1, factor=0.5, every=3)
    return [
        norm_figures.activation_figure(x, curves, chosen="gelu", at=1.0, value=0.84, slope=1.08),
        norm_figures.depth_figure([np.ones(3), np.arange(1.0, 4.0)], [np.ones(3)] * 2, layers=range(3), at=(2, 1.0, 2.0)),
        norm_figures.softmax_figure(*norms.softmax_pair(100.0)),
        optimiser_figures.surface_figure(
            *optimisers.height_map(surface, points=9), {n: w.points for n, w in walks.items()}, names=names,
            minima=surface.minima, step=3,
        ),
        optimiser_figures.losses_figure({n: w.losses for n, w in walks.items()}, names=names, step=2, title="t"),
        optimiser_figures.schedules_figure(rates, names={name: name for name in rates}, step=4, peak=1.0),
        norm_figures.signal_figure({"he": np.ones(3)}, names={"he": "He"}, chosen="he"),
        matrix_figure(Matrix(values=Z, name="x", top=2.0)),
        transformer.reading_figure(np.ones(2), np.array([1.0, -1.0]), ["a", "b"]),
    ]  # fmt: skip


def test_every_figure_is_valid_and_transparent() -> None:
    for figure in every_figure():
        assert figure.data and figure.layout.template.layout.paper_bgcolor == "rgba(0,0,0,0)"
        figure.to_json()


def test_a_walk_is_drawn_up_to_its_step() -> None:
    surface = optimisers.SURFACES["bowl"]
    walk = optimisers.surface_walks(surface, steps=5, rate=optimisers.constant(0.1))["sgd"]
    figure = optimiser_figures.surface_figure(
        *optimisers.height_map(surface, points=9), {"sgd": walk.points}, names={"sgd": "SGD"}, minima=surface.minima, step=2
    )
    np.testing.assert_array_equal(figure.data[1].x, walk.points[:3, 0])
