"""Figures of the frames behind glosses, and the strips of pictures along time."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

from core.figures import frames as figures
from core.figures import signs as sign_figures
from core.figures import strip as strips
from core.figures.attention import NamedMap, layers_figure
from core.figures.style import BLUE, DIVERGING, GREY, ORANGE
from core.signs.decoding import GlossSpan
from tests.core.figures.test_signs import travels

SECONDS = np.arange(20) / 8
GLOSSES = [
    GlossSpan(label=2, first=3, last=5, peak=4, probability=0.9),
    GlossSpan(label=1, first=9, last=9, peak=9, probability=0.9),
    GlossSpan(label=2, first=14, last=19, peak=19, probability=0.9),
]
NAMES = ("∅", "A", "B")


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(0).random((3, 20))


def test_glosses_by_frames(rows):
    figure = figures.glosses_figure(rows, GLOSSES, NAMES, SECONDS, chosen=1, measure="Weight", strip=[(0, b"one"), (9, b"two")])
    heat, peaks, _run = figure.data
    np.testing.assert_allclose(heat.z, rows, rtol=1e-6)
    assert (heat.x0, heat.dx, heat.zmin) == (0.0, 0.125, 0.0)
    assert heat.zmax == pytest.approx(rows.max())
    assert list(figure.layout.yaxis.ticktext) == ["B", "A", "B"]
    assert figure.layout.yaxis.range == (2.5, -0.5)  # the first gloss on top
    assert list(peaks.x) == [0.5, 1.125, 2.375]
    *runs, row = figure.layout.shapes
    assert [(one.x0, one.x1) for one in runs] == [(2.5 / 8, 5.5 / 8), (8.5 / 8, 9.5 / 8), (13.5 / 8, 19.5 / 8)]
    assert [one.line.color for one in runs] == [GREY, ORANGE, GREY]
    assert (row.x0, row.x1, row.y0, row.y1) == (-0.5 / 8, 19.5 / 8, 0.5, 1.5)
    assert len(figure.layout.images) == 2
    assert figure.layout.height == figures.glosses_height(3)
    travels(figure)


def test_what_speaks_against_a_gloss_has_a_colour_of_its_own(rows):
    rows[1] -= 2
    heat = figures.glosses_figure(rows, GLOSSES, NAMES, SECONDS, chosen=0, measure="Probability").data[0]
    assert -heat.zmin == heat.zmax == pytest.approx(np.abs(rows).max())
    assert [colour for _at, colour in heat.colorscale] == [colour for _at, colour in DIVERGING]


def test_rows_that_were_not_computed_stay_empty(rows):
    rows[1:] = np.nan
    figure = figures.glosses_figure(rows, GLOSSES, NAMES, SECONDS, chosen=0, measure="Probability")
    assert np.isnan(figure.data[0].z[1:]).all()
    assert figure.data[0].zmax == pytest.approx(rows[0].max())
    travels(figure)
    nothing = figures.glosses_figure(np.zeros((3, 20)), GLOSSES, NAMES, SECONDS, chosen=0, measure="Weight")
    assert nothing.data[0].zmax == 1.0  # a scale from 0 to 0 would draw nothing


def test_one_gloss_frame_by_frame():
    row = np.linspace(-0.5, 1, 20)
    figure = figures.gloss_figure(row, GLOSSES[0], SECONDS, counted=[19, 18], measure="Probability")
    own, bars, peak = figure.data
    np.testing.assert_allclose(bars.y, row, rtol=1e-6)
    assert bars.marker.color == tuple(ORANGE if value < 0 else BLUE for value in row)
    assert [float(one) for one in bars.marker.opacity[-3:]] == [0.45, 1.0, 1.0]
    assert list(own.x) == [2.5 / 8, 5.5 / 8]
    assert list(peak.x) == [0.5]
    assert peak.y[0] == 0.0  # its bar hangs down: the mark stays on the axis
    travels(figure)
    travels(
        figures.gloss_figure(
            row[:1], GlossSpan(label=1, first=0, last=0, peak=0, probability=0.9), SECONDS[:1], counted=[], measure="Weight"
        )
    )


def test_even_indices_lie_in_the_middle_of_their_share():
    assert strips.even_indices(30, 3) == [5, 15, 25]
    assert strips.even_indices(2, 9) == [0, 1]


def test_pictures_fill_the_clip_side_by_side():
    drawn = strips.images([(0, b"a"), (1, b"b"), (2, b"<svg c")], strips.ends(SECONDS), top=1.0, height=0.2)
    assert [one["x"] for one in drawn] == pytest.approx([-0.0625 + 2.5 * share for share in (1 / 6, 0.5, 5 / 6)])
    assert all(b["x"] - a["x"] >= a["sizex"] for a, b in pairwise(drawn))
    assert [one["source"].split(";")[0] for one in drawn] == ["data:image/jpeg", "data:image/jpeg", "data:image/svg+xml"]
    assert strips.images([], (0.0, 1.0), top=1.0, height=0.2) == []


def test_hands_are_drawn_where_they_were():
    tracks = np.cumsum(np.random.default_rng(1).normal(0, 3, (60, 6)), axis=0) + 150
    root = ET.fromstring(strips.hands_picture(tracks, 10, 40))
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert width == height
    dots = [one for one in root if one.tag.endswith("circle")]
    assert [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in dots] == [
        (pytest.approx(tracks[40, c], abs=0.05), pytest.approx(tracks[40, c + 1], abs=0.05)) for c in (0, 2, 4)
    ]
    assert left < tracks[:, 0::2].min() and tracks[:, 0::2].max() < left + width
    assert top < tracks[:, 1::2].min() and tracks[:, 1::2].max() < top + height
    ways = [one.attrib["points"].split() for one in root if one.tag.endswith("polyline")]
    assert {len(way) for way in ways} == {31}
    pictures = strips.hands_strip(tracks, 7)
    assert [index for index, _picture in pictures] == strips.even_indices(60, 7)
    assert len(strips.hands_strip(tracks[:1], 7)) == 1


def test_pictures_lie_along_the_keys_of_a_map_and_its_row():
    axis = sign_figures.clip_axis(SECONDS)
    one = NamedMap(name="intra 1", title="Intra", weights=np.full((20, 20), 0.05), axis=axis)
    strip = [(place, b"picture") for place in range(sign_figures.MAP_THUMBS)]
    figure = sign_figures.map_figure(one, query=3, strip=strip)
    assert {image.yref for image in figure.layout.images} == {"y domain"}
    assert figure.layout.images[0].x == pytest.approx(-0.0625 + 2.5 / 16)
    assert figure.layout.images[0].sizey == pytest.approx(1 / 8)
    travels(figure)
    row = sign_figures.row_figure(one, query=3, strip=strip)
    assert row.layout.yaxis.domain[0] > max(image.y for image in row.layout.images)
    assert row.layout.xaxis.range == (-0.0625, 2.4375)
    travels(row)
    assert sign_figures.map_figure(one).layout.images == ()


def test_spread_by_sub_layer():
    figure = layers_figure([1.0, 2.5], even=[2.0, 3.0], names=["Intra 1", "Inter 1"], title="nats", whose="This clip", counted="")
    bars, marks = figure.data
    assert list(bars.x) == list(marks.x) == ["Intra 1", "Inter 1"]
    assert list(bars.y) == [1.0, 2.5]
    assert list(marks.y) == [2.0, 3.0]
    travels(figure)


def test_a_moment_stands_at_one_place_in_both_figures() -> None:
    left = figures.left_px([NAMES[one.label] for one in GLOSSES])
    assert figures.left_px([]) <= left
    above = figures.glosses_figure(np.zeros((3, 20)), GLOSSES, NAMES, SECONDS, chosen=0, measure="Weight").layout
    below = figures.gloss_figure(np.zeros(20), GLOSSES[0], SECONDS, counted=[], measure="Weight", left=left).layout
    assert above.margin.l == below.margin.l == left
    assert above.margin.r == below.margin.r
    assert above.xaxis.range == below.xaxis.range
