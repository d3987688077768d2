"""The published models on a bundled film (`make hands` fetches them): a turned, mirrored or shrunk hand is the same hand."""

import numpy as np
import pytest
from PIL import Image

from core.signs.hands import tracks
from core.signs.hands.finder import HandFinder
from core.signs.hands.tracker import HandTracker
from core.signs.live_reading import TILES_A_FRAME
from core.signs.samples import clip_samples
from core.signs.video import read_video


@pytest.fixture(scope="module")
def finder() -> HandFinder:
    return HandFinder()


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    """A film of the digits 3, 1 and 4, one after the other."""
    one = next(one for one in clip_samples() if one.glosses == ("3", "1", "4"))
    return read_video(one.path.read_bytes(), size=240, fps=8).frames


@pytest.fixture(scope="module")
def held(finder: HandFinder, frames: np.ndarray) -> Image.Image:
    """The first frame in which a hand is found at once, amid a grey border."""
    first = next(frame for frame in frames if finder.find(Image.fromarray(frame)))
    return Image.fromarray(np.pad(first, ((60, 60), (60, 60), (0, 0)), mode="edge"))


def landmarks(finder: HandFinder, picture: Image.Image) -> np.ndarray:
    (hand,) = finder.find(picture)
    return np.asarray(hand.points, np.float64)


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Mean distance of two hands' landmarks, in hand sizes."""
    size = float(tracks.canonical(a[None].astype(np.float32))[2][0])
    return float(np.linalg.norm(a - b, axis=1).mean() / size)


def test_landmarks_turn_mirror_and_shrink_with_the_picture(finder: HandFinder, held: Image.Image) -> None:
    upright, size = landmarks(finder, held), held.width
    quarter = landmarks(finder, held.transpose(Image.Transpose.ROTATE_90))  # (x, y) -> (y, size - x)
    assert apart(np.stack([upright[:, 1], size - upright[:, 0]], axis=1), quarter) < 0.15
    mirrored = landmarks(finder, held.transpose(Image.Transpose.FLIP_LEFT_RIGHT))
    assert apart(np.stack([size - upright[:, 0], upright[:, 1]], axis=1), mirrored) < 0.25
    small = Image.new("RGB", (size, size), (128, 128, 128))
    small.paste(held.resize((size // 2, size // 2)), (size // 2, 0))
    assert apart(upright / 2 + np.array([size / 2, 0]), landmarks(finder, small)) < 0.25


def test_a_film_is_followed_and_a_wall_is_no_hand(finder: HandFinder, frames: np.ndarray) -> None:
    tracker = HandTracker(finder, most=1)
    seen = [bool(tracker.step(frame)) for frame in frames[::2]]
    assert np.mean(seen) > 0.6
    assert finder.find(Image.new("RGB", (240, 240), (180, 180, 170))) == []


def test_a_small_hand_before_the_camera_is_seen_where_it_lies_within_half_a_second(finder: HandFinder) -> None:
    """A hand of 67 pixels in a frame of 480: the tiles, in turn, find what the margins do not."""
    clip = next(one for one in clip_samples() if one.glosses == ("2", "0", "2", "6"))
    film = [Image.fromarray(frame) for frame in read_video(clip.path.read_bytes(), size=240, fps=8).frames[::4]]
    surest, large = max(((hand.presence, hand.points) for one in film for hand in finder.find(one)), key=lambda one: one[0])
    held = next(one for one in film for hand in finder.find(one) if hand.presence == surest)
    corner, frame = (300, 40), Image.new("RGB", (480, 270), (150, 140, 130))
    frame.paste(held.resize((67, 67)), corner)
    tracker = HandTracker(finder, tiles=TILES_A_FRAME)
    hands = next(found for _frame in range(5) if (found := tracker.step(np.asarray(frame))))
    expected = np.asarray(large, np.float64) * 67 / 240 + np.array(corner)
    assert len(hands) == 1 and apart(expected, np.asarray(hands[0].points, np.float64)) < 0.3
    margins = HandTracker(finder)
    assert not any(margins.step(np.asarray(frame)) for _frame in range(5)), "margins alone do not"
