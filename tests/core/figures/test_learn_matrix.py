"""Matrices with their numbers, and the other figures of the first four lecture pages: what is drawn is what was given."""

from __future__ import annotations

import numpy as np
import pytest

from core.figures.learn import attention_steps, positions, recurrent
from core.figures.learn.recurrent import Band
from core.figures.matrix import Matrix, largest_size, matrices_figure, matrix_figure

VALUES = np.array([[1.0, -2.5, -np.inf], [0.0, 0.25, 0.004]])


def test_a_matrix_is_drawn_with_its_numbers_and_from_the_top() -> None:
    outlined = ((1, 1, 0, 2),)
    figure = matrix_figure(Matrix(values=VALUES, rows=["a", "b"], columns=["x", "y", "z"], name="M", outlined=outlined))
    heat, numbers = figure.data
    assert [
        one if "customdata" not in one else f"{value:.2f}"
        for one, value in zip(numbers.texttemplate, numbers.customdata, strict=True)
    ] == ["1.00", "-2.50", "−∞", "0.00", "0.25", "0.00"]
    assert numbers.texttemplate[0] == "%{customdata:.2f}"
    assert list(numbers.x) == [0, 1, 2, 0, 1, 2] and list(numbers.y) == [0, 0, 0, 1, 1, 1]
    assert np.isnan(heat.z[0][2]) and heat.z[0][1] == -2.5
    assert heat.zmin == -2.5 and heat.zmax == 2.5  # diverging, centred on zero
    assert list(figure.layout.yaxis.range) == [1.5, -0.5] and list(figure.layout.yaxis.ticktext) == ["a", "b"]
    assert (figure.layout.shapes[0].y0, figure.layout.shapes[0].y1) == (0.5, 1.5)


def test_a_large_matrix_has_a_colour_bar_instead_of_numbers() -> None:
    names = [str(index) for index in range(40)]
    figure = matrix_figure(Matrix(values=np.eye(40), rows=names, columns=names, name="M", signed=False, top=1.0), height=300)
    assert len(figure.data) == 1 and figure.data[0].showscale and figure.data[0].zmin == 0
    assert figure.layout.height == 300 and len(figure.layout.xaxis.tickvals) <= 40


def test_a_matrix_of_zeros_has_a_scale() -> None:
    heat = matrix_figure(Matrix(values=np.zeros((2, 2)), rows=["a", "b"], columns=["x", "y"], name="M")).data[0]
    assert heat.zmax == 1 and heat.zmin == -1


def test_matrices_side_by_side_centre_signed_colours_and_outline() -> None:
    z = np.array([[1.0, -2.0], [0.5, 0.0]])
    figure = matrices_figure(
        [Matrix(values=z, name="a", outlined=((0, 0, 1, 1),)), Matrix(values=np.abs(z), name="b", signed=False)],
        across=2,
        numbers=True,
    )
    first, written, second, _numbers = figure.data
    np.testing.assert_array_equal(first.z, z.astype(np.float32))
    assert (first.zmin, first.zmax) == (-2, 2) and (second.zmin, second.zmax) == (0, 2)
    assert (second.xaxis, second.yaxis) == ("x2", "y2") and (written.xaxis, written.yaxis) == ("x", "y")
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].y1) == (0.5, 0.5)
    assert list(figure.layout.yaxis.range) == [1.5, -0.5], "from the top"
    assert figure.layout.xaxis2.domain[0] > figure.layout.xaxis.domain[1]
    assert largest_size([z, 3 * z]) == 6 and Matrix(values=0 * z, name="").end == 1


def test_bars_keep_their_numbers() -> None:
    figure = attention_steps.row_bars(np.array([0.7, 0.3]), ["the", "the·2"], y_title="Weight", even=0.5, mark=1)
    assert list(figure.data[0].y) == [0.7, 0.3] and list(figure.data[1].y) == [0.5, 0.5]
    assert figure.data[0].marker.color[0] != figure.data[0].marker.color[1]
    grouped = attention_steps.grouped_bars({"a": np.ones(3), "b": np.zeros(3)}, x_title="x", y_title="y")
    assert [trace.name for trace in grouped.data] == ["a", "b"] and list(grouped.data[0].x) == ["1", "2", "3"]


def test_waves_and_curves() -> None:
    matrix = np.arange(12.0).reshape(4, 3)
    figure = positions.waves_figure(matrix, [0, 2], at=1)
    assert list(figure.data[1].y) == [2, 5, 8, 11] and figure.data[1].name == "channel 2"
    curve = positions.from_one_figure([("row", matrix[:, 0])], at=2, y_title="Dot product")
    assert list(curve.data[0].y) == [0, 3, 6, 9] and curve.layout.shapes[0].x0 == 2
    balance = positions.balance_figure(matrix[:, 0], matrix[:, 1])
    assert [list(trace.y) for trace in balance.data] == [[0, 3, 6, 9], [1, 4, 7, 10]]


def test_the_turn_ends_where_the_matrix_says() -> None:
    pair = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]])
    figure = positions.turn_figure(pair, at=0, shift=1, turned=np.array([1.0, 0.0]))
    here, turned, wanted = figure.data[2], figure.data[3], figure.data[4]
    assert (here.x[1], here.y[1]) == (0, 1)
    assert (turned.x[1], turned.y[1]) == (wanted.x[0], wanted.y[0]) == (1, 0)


def test_states_stand_one_under_another() -> None:
    rng = np.random.default_rng(0)
    bands = [Band(name="x", values=rng.normal(size=(7, 1))), Band(name="f", values=rng.uniform(size=(7, 3)), gate=True)]
    figure = recurrent.states_figure(bands, steps=list("abcdefg"), at=2, unit=1, x_title="Letter")
    first, second = figure.data
    np.testing.assert_array_equal(second.z, bands[1].values.T)
    assert (second.zmin, second.zmax) == (0, 1) and first.zmin == -first.zmax
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    assert figure.layout.yaxis2.domain[0] == pytest.approx(0, abs=1e-9)
    lines = recurrent.unit_figure(bands[1:] * 2, unit=2, at=2, x_title="Step")
    assert list(lines.data[0].y) == list(bands[1].values[:, 2]) and lines.layout.yaxis.range == (0, 1)
    line = recurrent.line_figure(np.arange(3.0), at=0, x_title="x", y_title="y")
    assert (list(line.data[0].x), list(line.data[0].y), line.layout.shapes[0].x0) == ([1, 2, 3], [0, 1, 2], 1)


def test_gradients_that_underflow_are_left_out() -> None:
    row = np.array([0.0, 1e-9, 1.0])
    figure = recurrent.gradients_figure(rnn=row, lstm=row, attention=row, forget=row, x_title="Step")
    assert np.isnan(figure.data[0].y[0]) and figure.data[0].y[2] == 1 and figure.layout.yaxis.type == "log"
