"""What the model sees of tracked sentences."""

import numpy as np

from core.signs.tracks import FEATURES, Scale, about_the_nose, features, normalised


def test_features_of_a_hand_written_sentence() -> None:
    """Right hand moves 2 pixels right a frame; the nose stays, but for one frame where its tracker jumps."""
    steps = np.arange(12, dtype=np.float32)
    tracks = np.zeros((12, 6), np.float32)
    tracks[:, 0:2] = (100, 200)
    tracks[:, 2], tracks[:, 3] = 120 + 2 * steps, 150
    tracks[:, 4:6] = (110, 60)
    tracks[5, 4] = 150
    scale = Scale(mean=(-10, 140, 20, 90), std=(10, 20, 10, 20))
    np.testing.assert_allclose(about_the_nose(tracks)[0], [-10, 140, 10, 90])
    hands = normalised(tracks, scale)
    np.testing.assert_allclose(hands[:, 2], (10 + 2 * steps - 20) / 10, rtol=1e-5)
    found = features(hands)
    assert found.shape == (6, FEATURES)
    right = (np.array([11, 15, 19, 23, 27, 31]) - 20) / 10  # means of two frames
    np.testing.assert_allclose(found[:, 2], right, rtol=1e-5)
    np.testing.assert_allclose(found[:, 4], right, rtol=1e-5)  # right from left, which is at 0
    np.testing.assert_allclose(found[1:-1, 8], 2 * 0.8, rtol=1e-4)  # over one frame to either side
    np.testing.assert_allclose(found[:, [0, 1, 3, 6, 7, 9]], 0, atol=1e-6)


def test_an_odd_number_of_frames_loses_none() -> None:
    assert features(np.zeros((7, 4), np.float32)).shape == (4, FEATURES)
    assert features(np.zeros((1, 4), np.float32)).shape == (1, FEATURES)
