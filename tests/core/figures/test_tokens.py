"""Token figures: the numbers that went in are the ones drawn."""

from __future__ import annotations

import numpy as np

from core.figures import tokens as figures
from core.figures.style import BLUE, GREY, ORANGE

RNG = np.random.default_rng(0)


def test_a_grid_shows_its_numbers() -> None:
    values = RNG.normal(size=(4, 4))
    figure = figures.numbers_figure(values, write=lambda value: f"{value:.2f}")
    np.testing.assert_allclose(figure.data[0].z, values)
    assert figure.data[0].zmin == -figure.data[0].zmax
    assert [label.text for label in figure.layout.annotations] == [f"{value:.2f}" for value in values.ravel()]
    assert (figure.layout.annotations[5].x, figure.layout.annotations[5].y) == (1, 1)


def test_grey_levels_are_written_legibly() -> None:
    figure = figures.numbers_figure(np.array([[0, 255]], np.uint8), grey=True)
    assert [label.font.color for label in figure.layout.annotations] == ["white", "black"]
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0, 255)


def test_vectors_share_one_scale() -> None:
    vectors = {"small": np.array([0.1, -0.1]), "large": np.array([2.0, -1.0])}
    figure = figures.vectors_figure(vectors, chosen=0)
    assert figure.layout.yaxis.range == figure.layout.yaxis2.range == (-2.1, 2.1)
    for trace, vector in zip(figure.data, vectors.values(), strict=True):
        np.testing.assert_allclose(trace.y, vector)
        assert list(trace.x) == [1, 2] and list(trace.marker.color) == [ORANGE, GREY]
    assert next(iter(figures.vectors_figure({"one": np.array([1.0])}).data)).marker.color == (BLUE,)


def test_the_sequence_frames_its_token() -> None:
    tokens = RNG.normal(size=(50, 16))
    figure = figures.sequence_figure(tokens, token=12)
    np.testing.assert_allclose(figure.data[0].z, tokens, rtol=1e-6)
    assert (figure.layout.shapes[0].y0, figure.layout.shapes[0].y1) == (11.5, 12.5)
    assert figure.data[0].y0 == 0  # the class token


def test_classes_in_the_models_order() -> None:
    logits = np.array([1.0, -2.0, 0.5])
    shares = np.exp(logits) / np.exp(logits).sum()
    left, right = figures.classes_figure(["a", "b", "c"], logits, shares).data
    assert list(left.y) == list(right.y) == ["a", "b", "c"]
    np.testing.assert_allclose(left.x, logits)
    np.testing.assert_allclose(right.x, 100 * shares)
