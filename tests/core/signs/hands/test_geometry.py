"""Palms, regions and features against hand-written numbers, and invariances that hold exactly."""

import numpy as np
import pytest
from PIL import Image

from core.signs.hands import palms, regions, tracks
from core.signs.hands.finder import cut
from core.signs.hands.regions import Region

RNG = np.random.default_rng(3)
HAND = RNG.uniform(40, 160, (21, 2)).astype(np.float32)


def turned(points: np.ndarray, degrees: float, *, about: tuple[float, float] = (100.0, 100.0)) -> np.ndarray:
    """Points turned clockwise on screen, by complex numbers."""
    z = (points[..., 0] - about[0] + 1j * (points[..., 1] - about[1])) * np.exp(1j * np.radians(degrees))
    return np.stack([z.real + about[0], z.imag + about[1]], axis=-1).astype(np.float32)


def test_the_anchors_are_the_centres_of_two_grids() -> None:
    found = palms.anchors()
    assert found.shape == (2016, 2)
    assert found[0].tolist() == pytest.approx([4 / 192, 4 / 192])
    assert found[2].tolist() == pytest.approx([12 / 192, 4 / 192])
    assert found[1151].tolist() == pytest.approx([188 / 192, 188 / 192])
    assert found[1152].tolist() == pytest.approx([8 / 192, 8 / 192])
    assert found[-1].tolist() == pytest.approx([184 / 192, 184 / 192])


def outputs(rows: dict[int, tuple[float, list[float]]]) -> tuple[np.ndarray, np.ndarray]:
    """Detector outputs that are sure at some anchors only: index -> logit, and centre, width and height in pixels."""
    boxes, scores = np.zeros((2016, 18), np.float32), np.full(2016, -9.0, np.float32)
    for index, (score, box) in rows.items():
        scores[index] = score
        boxes[index, :4] = box
    return boxes, scores


def test_two_boxes_of_one_palm_are_averaged_by_their_scores() -> None:
    # anchors 0 and 1 share the cell at (4, 4) pixels; sigmoid(0) is 1/2, sigmoid(log 3) is 3/4
    boxes, scores = outputs({0: (0.0, [20, 20, 40, 40]), 1: (np.log(3.0), [25, 20, 40, 40]), 1151: (2.0, [0, 0, 8, 8])})
    first, second = palms.decode(boxes, scores)
    assert first.score == pytest.approx(1 / (1 + np.exp(-2.0)))
    assert second.score == pytest.approx(0.75)
    centre = 24 + 5 * 0.75 / (0.75 + 0.5)
    assert second.box * 192 == pytest.approx([centre + 4 - 4 - 20, 4, centre + 20, 44])


def test_an_unsure_palm_is_none() -> None:
    assert palms.decode(*outputs({7: (-0.01, [0, 0, 9, 9])})) == []


def test_overlap_of_two_squares_by_hand() -> None:
    boxes = np.array([[1, 1, 3, 3], [0, 0, 2, 2], [5, 5, 6, 6]], np.float32)
    assert palms.overlap(np.array([0, 0, 2, 2], np.float32), boxes) == pytest.approx([1 / 7, 1, 0])


def test_a_region_turns_with_its_hand() -> None:
    upright, tilted = regions.of_landmarks(HAND), regions.of_landmarks(turned(HAND, 30))
    assert np.degrees(tilted.angle - upright.angle) == pytest.approx(30, abs=1e-3)
    assert tilted.side == pytest.approx(upright.side, rel=1e-5)
    centre = turned(np.array([upright.x, upright.y]), 30)
    assert (tilted.x, tilted.y) == pytest.approx(tuple(centre), abs=1e-3)


def test_pixels_of_a_turned_region_lie_where_its_points_say() -> None:
    picture = np.zeros((200, 200, 3), np.uint8)
    region = Region(x=110.0, y=90.0, side=80.0, angle=np.radians(40))
    share = np.array([[0.25, 0.7]], np.float32)
    x, y = region.to_picture(share)[0]
    picture[round(y) - 2 : round(y) + 3, round(x) - 2 : round(x) + 3] = 255
    pixels = cut(Image.fromarray(picture), region, 160)[..., 0].astype(float)
    rows, columns = np.mgrid[0:160, 0:160]
    centre = (columns * pixels).sum() / pixels.sum(), (rows * pixels).sum() / pixels.sum()
    assert centre == pytest.approx((0.25 * 160, 0.7 * 160), abs=1.5)


def test_the_shape_of_a_hand_does_not_know_place_size_or_tilt() -> None:
    other = turned(HAND, -75) * 0.37 + np.array([31, -8], np.float32)
    (shape, _, size, tilt), (again, _, smaller, leant) = (tracks.canonical(one[None]) for one in (HAND, other))
    assert again == pytest.approx(shape, abs=1e-4)
    assert smaller / size == pytest.approx(0.37, rel=1e-4)
    assert np.degrees(leant - tilt) == pytest.approx(-75, abs=1e-2)


def test_features_are_zero_without_a_hand_and_count_no_step_from_nowhere() -> None:
    points = np.zeros((4, 2, 21, 2), np.float32)
    points[1:, 0] = HAND
    points[3, 0] += 10
    seen = np.zeros((4, 2), np.bool_)
    seen[1:, 0] = True
    found = tracks.features(points, seen)
    assert found.shape == (4, tracks.FEATURES)
    assert not found[0].any()
    steps = found[:, 44:46]
    size = tracks.canonical(HAND[None])[2][0]
    assert steps[1] == pytest.approx([0, 0])
    assert steps[2] == pytest.approx([0, 0])
    assert steps[3] == pytest.approx([20 / size, 20 / size], rel=1e-4)
    assert found[:, 46].tolist() == [0, 1, 1, 1]
    assert not found[:, 47:].any()
