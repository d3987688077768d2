"""Picture figures: every pixel and frame where it belongs."""

import base64
import io

import numpy as np
import pytest
from PIL import Image, ImageColor

from core.figures import pictures as figures
from core.figures.style import GREY, ORANGE

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 255, (28, 28), dtype=np.uint8)


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_a_small_picture_is_enlarged_by_whole_pixels() -> None:
    small = np.asarray(opened(figures.fitted_png(IMAGE, side=84)))
    np.testing.assert_array_equal(small, np.kron(IMAGE, np.ones((3, 3), np.uint8)))


def test_a_thumbnail_is_the_picture_made_small() -> None:
    image = np.kron(np.array([[40, 200]], np.uint8), np.ones((300, 150), np.uint8))
    small = opened(base64.b64decode(figures.thumbnail(image, side=72).partition(",")[2]))
    assert small.size == (72, 72)
    np.testing.assert_allclose(np.asarray(small)[:, [10, 60]].mean(axis=0), [40, 200], atol=3)


def test_frames_lie_where_their_edges_say() -> None:
    ground = np.full((200, 400, 3), 255, np.uint8)
    drawn = np.asarray(opened(figures.framed_png(ground, [(25, 50, 75, 90), (0, 0, 10, 10)], side=400)))
    rows, columns = np.nonzero((drawn == ImageColor.getrgb(ORANGE)).all(axis=-1))
    assert (columns.min(), columns.max(), rows.min(), rows.max()) == (100, 300, 100, 180)
    rows, columns = np.nonzero((drawn == ImageColor.getrgb(GREY)).all(axis=-1))
    assert (columns.max(), rows.max()) == (40, 20)
    np.testing.assert_array_equal(opened(figures.framed_png(ground, [], side=400)), ground)


@pytest.mark.parametrize(
    ("height", "width", "size"), [(300, 600, (100, 50)), (20, 10, (50, 100)), (3, 4_000, (100, 1)), (768, 1, (1, 100))]
)
def test_a_photograph_is_fitted_to_a_longest_side(height: int, width: int, size: tuple[int, int]) -> None:
    shown = opened(figures.fitted_png(np.full((height, width, 3), 90, np.uint8), side=100))
    assert shown.size == size and shown.getextrema() == ((90, 90),) * 3


def test_a_ranking_runs_from_the_most_probable_down_and_a_second_in_the_order_of_the_first() -> None:
    (alone,) = figures.ranking_figure(["a", "b", "c"], np.array([0.2, 0.7, 0.1])).data
    before, after = figures.ranking_figure(["a", "b", "c"], np.array([0.2, 0.7, 0.1]), after=np.array([0.5, 0.1, 0.4])).data
    for bars, shares in ((alone, [70, 20, 10]), (before, [70, 20, 10]), (after, [10, 50, 40])):
        assert list(bars.y) == ["b", "a", "c"]
        np.testing.assert_allclose(bars.x, shares)
    assert list(alone.text) == ["70.0%", "20.0%", "10.0%"] and list(after.text) == ["10.0%", "50.0%", "40.0%"]
