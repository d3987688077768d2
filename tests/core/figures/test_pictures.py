"""Picture figures: every pixel and patch where it belongs, and a click finds what was clicked."""

from __future__ import annotations

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


def test_the_overlay_lays_each_patch_over_its_pixels() -> None:
    shares = RNG.random((7, 7))
    figure = figures.overlay_figure(IMAGE, shares, patch=4, outlined=9, value="Weight")
    pixels, patches = figure.data
    np.testing.assert_array_equal(pixels.z, IMAGE)
    assert (pixels.x0, pixels.dx) == (0.5, 1)  # pixel 0 spans 0 to 1
    np.testing.assert_allclose(patches.z, shares.astype(np.float32))
    assert (patches.x0, patches.dx) == (2, 4)  # patch 0 spans 0 to 4
    assert patches.customdata[1][2] == 10 and tuple(pixels.customdata[2][5]) == (3, 6)
    frame = figure.layout.shapes[-1]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (8, 12, 4, 8)
    assert len(figures.overlay_figure(IMAGE, None, patch=4).data) == 1


def test_a_signed_overlay_has_its_zero_in_the_middle() -> None:
    values = RNG.normal(size=(7, 7))
    _pixels, patches = figures.overlay_figure(IMAGE, values, patch=4, signed=True).data
    assert patches.zmax == -patches.zmin == pytest.approx(np.abs(values).max())
    middle = next(colour for share, colour in patches.colorscale if share == 0.5)
    assert middle.endswith(",0)")  # nothing is drawn where nothing was raised or lowered
    assert "+" in patches.hovertemplate
    _pixels, none = figures.overlay_figure(IMAGE, np.zeros((7, 7)), patch=4, signed=True).data
    assert (none.zmin, none.zmax) == (-1, 1)


def test_two_rankings_stand_in_the_order_of_the_first() -> None:
    figure = figures.ranking_change_figure(["a", "b", "c"], np.array([0.2, 0.7, 0.1]), np.array([0.5, 0.1, 0.4]))
    before, after = figure.data
    assert list(before.y) == list(after.y) == ["b", "a", "c"]
    np.testing.assert_allclose(before.x, [70, 20, 10])
    np.testing.assert_allclose(after.x, [10, 50, 40])
    assert list(after.text) == ["10.0%", "50.0%", "40.0%"]


@pytest.mark.parametrize(("x", "y", "number"), [(0.5, 0.5, 0), (27.9, 0.1, 6), (0.1, 27.9, 42), (13, 9, 17), (28.0, 28.0, 48)])
def test_a_point_lies_in_its_patch(x: float, y: float, number: int) -> None:
    assert figures.patch_at(x, y, patch=4, grid=7) == number


def test_a_gallery_and_a_click_in_it() -> None:
    images = RNG.integers(0, 255, (5, 28, 28), dtype=np.uint8)
    (sheet,) = figures.gallery_figure(images, columns=3, chosen=4).data
    assert sheet.z.shape == (56, 84)
    np.testing.assert_array_equal(sheet.z[28:, 28:56], images[4])
    assert figures.image_at(30, 40, columns=3, count=5, side=28) == 4
    assert figures.image_at(70, 40, columns=3, count=5, side=28) is None


@pytest.mark.usefixtures("upper_case_translator")
def test_words_are_translated_and_figures_travel() -> None:
    figure = figures.overlay_figure(IMAGE, RNG.random((7, 7)), patch=4)
    assert "PATCH" in figure.data[1].hovertemplate
    for one in (figure, figures.ranking_figure(["a"], np.array([1.0]))):
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
