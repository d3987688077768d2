"""Picture figures: every pixel and patch where it belongs, and a click finds what was clicked."""

from __future__ import annotations

import base64
import io

import numpy as np
import orjson
import pytest
from PIL import Image

from core.figures import pictures as figures
from core.figures import wire
from core.figures.style import BLUE, ORANGE

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 255, (28, 28), dtype=np.uint8)


def test_a_small_picture_is_enlarged_by_whole_pixels_and_a_large_one_reduced() -> None:
    small = np.asarray(Image.open(io.BytesIO(figures.picture_png(IMAGE, side=100))))
    np.testing.assert_array_equal(small, np.kron(IMAGE, np.ones((3, 3), np.uint8)))
    large = Image.open(io.BytesIO(figures.picture_png(np.zeros((300, 600, 3), np.uint8), side=100)))
    assert large.size == (100, 50)


@pytest.mark.parametrize(
    ("height", "width", "size"), [(300, 600, (100, 50)), (20, 10, (50, 100)), (3, 4_000, (100, 1)), (768, 1, (1, 100))]
)
def test_a_photograph_is_fitted_to_a_longest_side(height: int, width: int, size: tuple[int, int]) -> None:
    shown = Image.open(io.BytesIO(figures.fitted_png(np.full((height, width, 3), 90, np.uint8), side=100)))
    assert shown.size == size and shown.getextrema() == ((90, 90),) * 3


def test_the_ranking_runs_from_the_most_probable_down() -> None:
    figure = figures.ranking_figure(["a", "b", "c"], np.array([0.2, 0.7, 0.1]))
    (bars,) = figure.data
    assert list(bars.y) == ["b", "a", "c"]
    np.testing.assert_allclose(bars.x, [70, 20, 10])
    assert list(bars.text) == ["70.0%", "20.0%", "10.0%"]


def test_a_picture_is_cut_into_patches_where_a_click_finds_them() -> None:
    figure = figures.patches_figure(IMAGE, patch=4, outlined=9)
    (cells,) = figure.data
    assert (cells.x0, cells.dx) == (2, 4) and np.shape(cells.z) == (7, 7)  # patch 0 spans 0 to 4
    (below,) = figure.layout.images
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(below.source.partition(",")[2]))))
    np.testing.assert_array_equal(shown[::4, ::4], IMAGE)
    assert (below.sizex, below.sizey) == (28, 28)
    frame = figure.layout.shapes[-1]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (8, 12, 4, 8)
    assert len(figures.patches_figure(IMAGE, patch=4).layout.shapes) == 12


def test_two_rankings_stand_in_the_order_of_the_first() -> None:
    figure = figures.ranking_change_figure(["a", "b", "c"], np.array([0.2, 0.7, 0.1]), np.array([0.5, 0.1, 0.4]))
    before, after = figure.data
    assert list(before.y) == list(after.y) == ["b", "a", "c"]
    np.testing.assert_allclose(before.x, [70, 20, 10])
    np.testing.assert_allclose(after.x, [10, 50, 40])
    assert list(after.text) == ["10.0%", "50.0%", "40.0%"]


@pytest.mark.parametrize(("x", "y", "number"), [(0.5, 0.5, 0), (27.9, 0.1, 6), (0.1, 27.9, 42), (13, 9, 17)])
def test_a_point_lies_in_its_patch(x: float, y: float, number: int) -> None:
    assert figures.image_at(x, y, columns=7, count=49, side=4) == number
    assert figures.image_at(70, 40, columns=3, count=5, side=28) is None


def test_figures_travel() -> None:
    for one in (figures.patches_figure(IMAGE, patch=4), figures.ranking_figure(["a"], np.array([1.0]))):
        for part in (*wire.split(one).traces, wire.split(one).layout):
            assert orjson.loads(part.body)


def test_a_sheet_of_photographs_frames_each_by_its_answer_where_a_click_finds_it() -> None:
    photographs = [np.full((40 + 10 * i, 60, 3), 40 * i, np.uint8) for i in range(5)]
    figure = figures.photographs_figure(photographs, [True, False, True, True, False], columns=3, side=64, chosen=4)
    frames = figure.layout.shapes
    assert [frame.line.color for frame in frames] == [BLUE, ORANGE, BLUE, BLUE, ORANGE]
    assert [frame.line.width for frame in frames].index(max(frame.line.width for frame in frames)) == 4
    (cells,) = figure.data
    assert np.shape(cells.z) == (2, 3)
    for place, frame in enumerate(frames):
        row, column = divmod(place, 3)
        x, y = cells.x0 + column * cells.dx, cells.y0 + row * cells.dy  # a click gives a cell's middle
        assert frame.x0 < x < frame.x1 and frame.y0 < y < frame.y1
        assert figures.image_at(x, y, columns=3, count=5, side=64) == place
