"""Matrices with their numbers, and the lecture's other figures: what is drawn is what was given."""

import re

import numpy as np
import pytest

from core.figures.learn import attention_steps, optimisers, positions, recurrent, transformer
from core.figures.learn.recurrent import UnitLine
from core.figures.matrix import Matrix, colour, largest_size, matrix_figure, matrix_html
from core.lecture.moved import compare
from core.lecture.optimisers import SURFACES, height_map, surface_walks
from core.lecture.recurrence import ThroughTime

VALUES = np.array([[1.0, -2.5, -np.inf], [0.0, 0.25, 0.004]])


def written(value: float, digits: int) -> str:
    return f"{value:.{digits}f}"


def cells(shown: str) -> list[list[dict[str, str]]]:
    """Attributes and text of each cell, row by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", shown.split("<tbody>")[1])
    return [
        [dict(re.findall(r'([\w-]+)="([^"]*)"', at)) | {"text": text} for at, text in re.findall(r"<td(.*?)>(.*?)</td>", row)]
        for row in rows
    ]


def test_a_matrix_is_a_table_with_its_numbers_and_from_the_top() -> None:
    drawn = Matrix(values=VALUES, rows=["a", "<b>"], columns=["x", "y", "z"], name="M", outlined=((1, 1, 0, 2),))
    shown = matrix_html(drawn, key="m", alt="A matrix.", write=written)
    assert re.findall(r'<th scope="row">(.*?)</th>', shown) == ["a", "&lt;b&gt;"]
    assert re.findall(r'<th scope="col">(.*?)</th>', shown) == ["x", "y", "z"]
    first, second = cells(shown)
    assert [one["text"] for one in (*first, *second)] == ["1.00", "-2.50", "−∞", "0.00", "0.25", "0.00"]
    assert [one.get("data-v") for one in (*first, *second)] == ["1", "-2.5", None, "0", "0.25", "0.004"]
    assert [("out" in one.get("class", "")) for one in (*first, *second)] == [False] * 3 + [True] * 3
    assert "--l:1" in second[0]["style"] and "--l" not in second[1]["style"] and "--t:1" in second[1]["style"]


def test_colours_are_centred_on_zero_and_end_at_the_largest() -> None:
    signed, plain = Matrix(values=VALUES, name="M"), Matrix(values=np.abs(VALUES), name="M", signed=False, top=2.0)
    assert colour(signed, -2.5) == "rgba(213,112,31,0.60)" and colour(signed, 2.5) == colour(signed, 99.0)
    assert colour(signed, 0.0) == "rgba(133,140,150,0.05)" == colour(plain, 0.0)
    assert colour(plain, 2.0) == "rgba(47,126,199,0.60)"
    assert largest_size([VALUES, 3 * VALUES]) == 7.5 and Matrix(values=0 * VALUES[:, :2], name="").end == 1


def test_what_a_dial_moved_is_marked_with_the_value_before() -> None:
    before = np.array([[1.0, 0.0], [np.nan, 5.0]])
    after = np.array([[1.0, 0.5], [np.nan, -np.inf]])
    drawn = Matrix(values=after, name="M", moved=compare(before, after))
    (same, moved), (empty, masked) = cells(matrix_html(drawn, key="m", alt="", write=written))
    assert "class" not in same and moved["class"] == "moved" and moved["data-was"] == "0"
    assert "data-was" not in empty and empty["text"] == "" and masked["data-was"] == "5"


def test_a_large_matrix_has_a_colour_bar_instead_of_numbers() -> None:
    names = [str(index) for index in range(40)]
    figure = matrix_figure(Matrix(values=np.eye(40), rows=names, columns=names, name="M", signed=False, top=1.0), height=300)
    assert len(figure.data) == 1 and figure.data[0].showscale and figure.data[0].zmin == 0
    assert figure.layout.height == 300 and len(figure.layout.xaxis.tickvals) <= 40
    assert list(figure.layout.yaxis.range) == [39.5, -0.5], "from the top"
    assert all(
        not one["text"]
        for row in cells(matrix_html(Matrix(values=np.eye(40), name="M"), key="m", alt="", write=written))
        for one in row
    )


def test_bars_keep_their_numbers() -> None:
    figure = attention_steps.row_bars(np.array([0.7, 0.3]), ["the", "the·2"], y_title="Weight", even=np.array([0.0, 0.5]), mark=1)
    assert list(figure.data[0].y) == [0.7, 0.3]
    steps = [(-0.5, 0.0), (0.5, 0.0), (0.5, 0.5), (1.5, 0.5)]  # a step a bar
    assert list(zip(figure.data[1].x, figure.data[1].y, strict=True)) == steps
    assert figure.data[0].marker.color[0] != figure.data[0].marker.color[1]
    grouped = attention_steps.grouped_bars({"a": np.ones(3), "b": np.zeros(3)}, x_title="x", y_title="y")
    assert [trace.name for trace in grouped.data] == ["a", "b"] and list(grouped.data[0].x) == ["1", "2", "3"]


def test_numbers_along_positions() -> None:
    matrix = np.arange(12.0).reshape(4, 3)
    figure = positions.along_figure([("first", matrix[:, 0]), ("third", matrix[:, 2])], "Dot product", at=2)
    assert [list(trace.y) for trace in figure.data] == [[0, 3, 6, 9], [2, 5, 8, 11]]
    assert [trace.name for trace in figure.data] == ["first", "third"] and figure.layout.shapes[0].x0 == 2


def test_the_turn_ends_where_the_matrix_says() -> None:
    pair = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]])
    figure = positions.turn_figure(pair, at=0, shift=1, turned=np.array([1.0, 0.0]))
    here, turned, wanted = figure.data[2], figure.data[3], figure.data[4]
    assert (here.x[1], here.y[1]) == (0, 1)
    assert (turned.x[1], turned.y[1]) == (wanted.x[0], wanted.y[0]) == (1, 0)


def test_gates_stand_above_states() -> None:
    gate, state = UnitLine("f", np.array([0.1, 0.9]), gate=True), UnitLine("c", np.array([-2.0, 3.0]))
    both, alone = (recurrent.unit_figure(lines, at=0) for lines in ([gate, state], [state]))
    assert [list(one.y) for one in both.data] == [[0.1, 0.9], [-2, 3]] and both.layout.yaxis.range == (0, 1)
    assert both.layout.yaxis.domain[0] > both.layout.yaxis2.domain[1] and alone.layout.yaxis2.domain == (0, 1)
    assert list(both.data[0].x) == [1, 2] and both.layout.shapes[0].x0 == 1
    ghost = recurrent.unit_figure([state], at=0, before=np.array([1.0, 2.0])).data[-1]
    assert list(ghost.y) == [1, 2] and ghost.opacity < 1


def test_a_bar_that_a_dial_moved_has_its_height_before_behind_it() -> None:
    figure = attention_steps.row_bars(np.array([0.7, 0.3]), ["a", "b"], y_title="Weight", before=np.array([0.6, 0.3]))
    assert list(figure.data[0].y) == [0.6, 0.3] and list(figure.data[-1].text) == ["0.60 → 0.70", ""]


def test_gradients_that_underflow_are_left_out() -> None:
    row = np.array([0.0, 1e-9, 1.0])
    figure = recurrent.gradients_figure(ThroughTime(rnn=row, lstm=row, attention=row, forget=row))
    assert np.isnan(figure.data[0].y[0]) and figure.data[0].y[2] == 1 and figure.layout.yaxis.type == "log"


def test_a_masked_cell_has_no_number_and_no_colour_unlike_a_zero() -> None:
    weights = np.array([[1.0, 0.0], [1.0, 0.0]])
    drawn = Matrix(values=weights, name="A", masked=np.array([[False, True], [False, False]]))
    html = matrix_html(drawn, key="a", alt="", write=written)
    first, second = re.findall(r'<td[^>]* data-v="0"[^>]*>[^<]*</td>', html)
    assert first == '<td data-v="0" class="masked" style=""></td>'
    assert "masked" not in second and "background" in second and second.endswith(">0.00</td>")


@pytest.mark.usefixtures("upper_case_translator")
def test_decoding_shows_nothing_of_later_steps() -> None:
    seen = transformer.cross_map(np.full((3, 4), 0.25), source=list("a bc"), target=list("12■"), step=1)
    assert np.isnan(seen.values[2]).all() and not np.isnan(seen.values[:2]).any()
    assert seen.column_names == ["a", "␣", "b", "c"] and seen.x_title == "TEXT READ (KEYS)"


def test_the_likeliest_symbols_come_first() -> None:
    figure = transformer.next_figure(np.array([0.1, 0.7, 0.2]), ["a", " ", "c"], chosen=1)
    assert list(figure.data[0].x) == ["␣", "c", "a"] and list(figure.data[0].y) == [0.7, 0.2, 0.1]


def test_a_walk_is_drawn_up_to_its_step() -> None:
    surface = SURFACES["bowl"]
    walk = surface_walks(surface, steps=5, rate=0.1)["sgd"]
    heights = height_map(surface, points=9)
    figure = optimisers.surface_figure(*heights, {"sgd": walk.points}, names={"sgd": "SGD"}, minima=surface.minima, step=2)
    np.testing.assert_array_equal(figure.data[1].x, walk.points[:3, 0])
