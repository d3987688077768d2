"""The lecture's figures hold the arrays they were given: axes named, signed colours centred, text marked for translation."""

import numpy as np
import pytest

from core.figures.learn import optimisers as optimiser_figures
from core.figures.learn import transformer
from core.lecture import optimisers

pytestmark = pytest.mark.usefixtures("upper_case_translator")


def test_decoding_shows_nothing_of_later_steps() -> None:
    seen = transformer.cross_map(np.full((3, 4), 0.25), source=list("a bc"), target=list("12■"), step=1)
    assert np.isnan(seen.values[2]).all() and not np.isnan(seen.values[:2]).any()
    assert seen.column_names == ["a", "␣", "b", "c"] and seen.x_title == "TEXT READ (KEYS)"


def test_the_likeliest_symbols_come_first() -> None:
    figure = transformer.next_figure(np.array([0.1, 0.7, 0.2]), ["a", " ", "c"], chosen=1)
    assert list(figure.data[0].x) == ["␣", "c", "a"] and list(figure.data[0].y) == [0.7, 0.2, 0.1]


def test_a_walk_is_drawn_up_to_its_step() -> None:
    surface = optimisers.SURFACES["bowl"]
    walk = optimisers.surface_walks(surface, steps=5, rate=0.1)["sgd"]
    figure = optimiser_figures.surface_figure(
        *optimisers.height_map(surface, points=9), {"sgd": walk.points}, names={"sgd": "SGD"}, minima=surface.minima, step=2
    )
    np.testing.assert_array_equal(figure.data[1].x, walk.points[:3, 0])
