"""Attention figures: every weight where it belongs, on axes that say so, in bytes and not in lists."""

from __future__ import annotations

from typing import get_args

import numpy as np
import orjson
import pytest

from core.figures import attention as figures
from core.figures import wire
from core.figures.attention import DECADES, SHADES, NamedMap, ScaleKind

SECONDS = np.arange(-127, 1) * 0.25


def a_map(name: str = "time-to-time 1", *, seed: int = 0, sharpness: float = 1.0) -> NamedMap:
    axis = figures.time_axis(SECONDS) if name.startswith("time") else figures.channel_axis(40)
    size = len(axis.positions)
    weights = np.random.default_rng(seed).dirichlet(np.full(size, 1 / sharpness), size).astype(np.float32)
    return NamedMap(name=name, title=name.capitalize(), weights=weights, axis=axis)


@pytest.fixture
def maps() -> list[NamedMap]:
    return [
        a_map(f"{kind} {pair}", seed=pair, sharpness=pair * factor)
        for pair in (1, 2)
        for kind, factor in (("time-to-time", 4), ("feature-to-feature", 1))
    ]


def test_axes_say_what_they_count():
    time, channels = figures.time_axis(SECONDS), figures.channel_axis(40)
    assert time.positions[[0, -1]].tolist() == [-31.75, 0.0]
    assert channels.positions[[0, -1]].tolist() == [1, 40]
    assert (time.step, channels.step) == (0.25, 1)
    assert time.nearest(-1.1) == 123  # -1.00
    assert channels.nearest(40) == 39


def test_small_maps_show_their_weights_to_a_step_of_colour(maps):
    figure = figures.map_grid(maps, selected=maps[1].name)
    assert [trace.name for trace in figure.data] == [one.name for one in maps]
    for trace, one in zip(figure.data, maps, strict=True):
        assert trace.z.dtype == np.uint8
        top = one.weights.max()
        assert trace.z.max() == SHADES
        assert np.abs(trace.z / SHADES * top - one.weights).max() <= 0.51 * top / SHADES
        assert f"{top:.3g}" in next(a.text for a in figure.layout.annotations if one.title in a.text)
    framed = [axis.linewidth for axis in figure.select_yaxes()]
    assert framed == [None, 3, None, None]


def test_queries_run_down_and_cells_are_square(maps):
    for axis in figures.map_grid(maps).select_yaxes():
        assert axis.autorange == "reversed"
        assert axis.scaleanchor == axis.anchor
    assert figures.map_figure(maps[0]).layout.yaxis.autorange == "reversed"


def test_a_grid_leaves_no_map_over_another(maps):
    layout = figures.map_grid(maps, columns=2).layout
    boxes = [(*layout[f"xaxis{n}"].domain, *layout[f"yaxis{n}"].domain) for n in ("", "2", "3", "4")]
    for i, (left, right, low, high) in enumerate(boxes):
        assert 0 <= left < right <= 1.000001
        assert 0 <= low < high <= 1
        for left2, right2, low2, high2 in boxes[:i]:
            assert right2 <= left or right <= left2 or high2 <= low or high <= low2


def test_a_shared_scale_is_shared_within_a_kind_only(maps):
    times = [one for one in maps if one.axis.kind == "time"]
    largest = max(float(one.weights.max()) for one in times)
    assert [figures.top_of(one, maps, "shared") for one in times] == [largest, largest]
    assert figures.top_of(times[0], maps, "own") == float(times[0].weights.max()) < largest
    dimmer = figures.map_grid(maps, scale="shared").data[0].z.max()
    assert dimmer == round(float(times[0].weights.max()) / largest * SHADES)


def test_the_large_map_holds_every_weight_as_it_is(maps):
    one = maps[0]
    trace = figures.map_figure(one).data[0]
    assert trace.z.dtype == np.float32
    np.testing.assert_array_equal(trace.z, one.weights)
    assert (trace.x0, trace.dx, trace.y0, trace.dy) == (-31.75, 0.25, -31.75, 0.25)
    assert (trace.zmin, trace.zmax) == (0, one.weights.max())


def test_a_logarithmic_map_still_tells_the_weight(maps):
    one = maps[0]
    trace = figures.map_figure(one, scale="log").data[0]
    np.testing.assert_array_equal(trace.customdata, one.weights)
    assert trace.zmax - trace.zmin == pytest.approx(DECADES)
    inside = one.weights > one.weights.max() / 100
    np.testing.assert_allclose(10 ** trace.z[inside].astype(np.float64), one.weights[inside], rtol=1e-5)
    assert (trace.z[~inside] <= trace.zmin + 1e-6).all()
    assert trace.colorbar.ticktext[0].startswith("≤")


def test_the_outline_is_round_the_row_being_read(maps):
    shape = figures.map_figure(maps[0], query=100).layout.shapes[0]
    assert (shape.y0, shape.y1) == (SECONDS[100] - 0.125, SECONDS[100] + 0.125)


def test_differences_keep_their_sign(maps):
    times = [one for one in maps if one.axis.kind == "time"]
    change = NamedMap(name="x", title="X", weights=times[0].weights - times[1].weights, axis=times[0].axis)
    large = figures.map_figure(change, difference=True, scale="log").data[0]
    np.testing.assert_array_equal(large.z, change.weights)
    assert large.zmin == -large.zmax
    small = figures.map_grid([change], difference=True).data[0]
    assert small.z.dtype == np.int8
    assert (
        np.sign(small.z)[np.abs(change.weights) > large.zmax / SHADES]
        == np.sign(change.weights)[np.abs(change.weights) > large.zmax / SHADES]
    ).all()


def test_a_row_is_read_against_looking_at_all_alike(maps):
    mid = np.linspace(100, 101, 128)
    figure = figures.row_figure(maps[0], query=5, other=maps[2].weights, mid=mid)
    traces = {trace.name: trace for trace in figure.data}
    np.testing.assert_array_equal(traces["This window"].y, maps[0].weights[5])
    np.testing.assert_array_equal(traces["This window"].x, SECONDS)
    np.testing.assert_array_equal(traces["Compared window"].y, maps[2].weights[5])
    np.testing.assert_allclose(traces["All alike"].y, 1 / 128)
    np.testing.assert_array_equal(traces["Mid"].y, mid)
    assert figure.layout.shapes[0].x0 == SECONDS[5]
    assert "Mid" not in {trace.name for trace in figures.row_figure(maps[1], query=0).data}


def test_layers_stand_beside_what_even_would_be():
    figure = figures.layers_figure([1.0, 2.0], even=np.log(128), title="nats", other=[1.5, 0.5])
    traces = {trace.name: trace for trace in figure.data}
    assert traces["This window"].y.tolist() == [1, 2]
    assert traces["Compared window"].y.tolist() == [1.5, 0.5]
    np.testing.assert_allclose(traces["All alike"].y, np.log(128))


@pytest.mark.parametrize("scale", get_args(ScaleKind))
def test_maps_travel_as_bytes_not_lists(maps, scale):
    """128 x 128 weights: 16 KiB a small map, 64 KiB a large one, a third more in base64."""
    for figure, most in ((figures.map_grid(maps[:1], scale=scale), 30_000), (figures.map_figure(maps[0], scale=scale), 200_000)):
        message, _ = wire.frame(wire.split(figure), {}, {})
        sent = orjson.loads(message)["traces"][0]["value"]
        assert set(sent["z"]) == {"dtype", "bdata", "shape"}
        assert len(message) < most


@pytest.mark.usefixtures("upper_case_translator")
def test_every_word_is_translated(maps):
    axis = figures.time_axis(SECONDS)
    one = NamedMap(name="m", title="", weights=maps[0].weights, axis=axis)
    large = figures.map_figure(one)
    assert large.layout.xaxis.title.text == "KEY: SECONDS BEFORE NOW"
    assert large.data[0].hovertemplate.startswith("QUERY ")
    assert {trace.name for trace in figures.row_figure(one, query=0).data} == {"THIS WINDOW", "ALL ALIKE"}
    assert "LARGEST" in figures.map_grid([one]).layout.annotations[0].text


def test_numbers_are_written_as_asked(maps):
    def comma(value: float) -> str:
        return f"{value:.2g}".replace(".", ",")

    largest = comma(float(maps[0].weights.max()))
    assert largest in figures.map_grid(maps[:1], write=comma).layout.annotations[0].text
    assert all("." not in text for text in figures.map_figure(maps[0], scale="log", write=comma).data[0].colorbar.ticktext)


def test_tokens_are_numbered_with_the_class_token_as_0():
    axis = figures.token_axis(50, kind="rollout")
    assert axis.positions[[0, -1]].tolist() == [0, 49] and axis.kind == "rollout" and axis.step == 1


def test_a_page_may_say_whose_row_and_what_is_counted(maps):
    assert figures.row_figure(maps[0], query=0, whose="This picture").data[0].name == "This picture"
    figure = figures.layers_figure([1.0, 2.0], even=3.0, title="nats", whose="This picture", counted="Layer")
    assert figure.data[0].name == "This picture" and figure.layout.xaxis.title.text == "Layer"
