"""Pictures of a clip's frames: hands drawn where they were followed, and where they were tracked."""

from itertools import pairwise

import numpy as np
import pytest
from PIL import ImageColor

from core.figures import film
from core.figures import strip as strips
from core.signs.hands.tracks import HandTracks

SECONDS = np.arange(20) / 8


def painted(picture: np.ndarray, colour: str) -> np.ndarray:
    """(n, 2) x and y of the pixels of a colour."""
    return np.argwhere((picture == ImageColor.getrgb(colour)).all(axis=-1))[:, ::-1]


def test_even_indices_lie_in_the_middle_of_their_share() -> None:
    assert strips.even_indices(30, 3) == [5, 15, 25]
    assert strips.even_indices(2, 9) == [0, 1]


def test_pictures_fill_the_clip_side_by_side() -> None:
    drawn = strips.images([(0, b"a"), (1, b"b"), (2, b"<svg c")], strips.ends(SECONDS), top=1.0, height=0.2)
    assert [one["x"] for one in drawn] == pytest.approx([-0.0625 + 2.5 * share for share in (1 / 6, 0.5, 5 / 6)])
    assert all(b["x"] - a["x"] >= a["sizex"] for a, b in pairwise(drawn))
    assert [one["source"].split(";")[0] for one in drawn] == ["data:image/jpeg", "data:image/jpeg", "data:image/svg+xml"]
    assert strips.images([], (0.0, 1.0), top=1.0, height=0.2) == []


def test_tracked_hands_are_drawn_where_they_were_on_one_scale() -> None:
    tracks = np.cumsum(np.random.default_rng(1).normal(0, 3, (60, 6)), axis=0)
    tracks[:, 2] += 300.0  # the right hand apart from the left one, the nose apart from both
    tracks[:, 5] += 300.0
    pictures = film.track_frames(tracks, [0, 40, 59])
    assert pictures.shape == (3, film.SIDE, film.SIDE, 3) and pictures.dtype == np.uint8
    at = np.stack([painted(pictures[0], colour).mean(axis=0) for colour in film.COLOURS])
    places = tracks[0].reshape(3, 2)
    scales = np.linalg.norm(at[[0, 0, 1]] - at[[1, 2, 2]], axis=1) / np.linalg.norm(places[[0, 0, 1]] - places[[1, 2, 2]], axis=1)
    np.testing.assert_allclose(scales, scales[0], rtol=0.02)  # distances of the tracks, all by one factor
    assert len(painted(pictures[1], film.COLOURS[0])) > len(painted(pictures[0], film.COLOURS[0]))  # with the way that it came
    assert film.track_frames(tracks[:1], [0]).shape[0] == 1


def test_hands_that_were_followed_are_drawn_over_their_frames() -> None:
    points = np.zeros((2, 2, 21, 2), np.float32)
    points[1, 1] = np.linspace([10, 20], [50, 60], 21)
    hands = HandTracks(points=points, seen=np.array([[False, False], [False, True]]))
    frames = np.full((2, 80, 80, 3), 200, np.uint8)
    drawn = film.with_hands(frames, hands)
    np.testing.assert_array_equal(drawn[0], frames[0])
    x, y = painted(drawn[1], film.ORANGE).T
    assert len(x) >= 40 and (abs(y - x - 10) <= 2).all()
    assert (x.min(), x.max()) == pytest.approx((10, 50), abs=2)
    assert (frames == 200).all()
    assert film.hands_of_frames(hands, 80)[1][0][0] == [0.125, 0.25]
