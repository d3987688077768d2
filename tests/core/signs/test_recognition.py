"""One clip, read once: what the recogniser says, lined up with time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.signs.ctc_lab import collapsed
from core.signs.hands.tracks import HandTracks
from core.signs.recogniser import ASL, DIGITS, load_recogniser
from core.signs.recognition import Recognition
from core.signs.samples import track_samples
from tests.core.signs.tiny import save_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    save_tiny(made)
    return made


def test_frames(folder):
    recogniser = load_recogniser(DIGITS, folder=folder)
    clip = np.random.default_rng(0).integers(0, 255, (7, 32, 32, 3), dtype=np.uint8)
    found = recogniser.answer(clip)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found.log_probabilities, recogniser.log_probabilities(clip), atol=1e-5)
    assert collapsed(found.path)[1] == list(found.greedy) == recogniser.greedy(found.log_probabilities)
    assert found.seconds.tolist() == [step / 8 for step in range(7)]
    assert found.took_s > 0
    assert {weights.shape for weights in found.attention.values()} == {(2, 7, 7)}


def test_tracks_are_read_at_their_stride(folder):
    recogniser = load_recogniser(ASL, folder=folder)
    one = track_samples()[0]
    found = recogniser.answer(one.tracks, np.arange(len(one.tracks)) / 30, speaker=one.speaker)
    assert len(found.seconds) == len(found.path) == -(-len(one.tracks) // 2)
    assert found.seconds[1] == pytest.approx(1 / 15)


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [(0, 0, "No hand is seen"), (9, 4, "No sign is seen"), (9, 5, "Two hands are seen"), (9, 9, "Two hands are seen")],
)
def test_a_film_without_a_gloss_says_why(folder: Path, one: int, two: int, said: str) -> None:
    """`one` and `two`: frames of ten in which a first hand is seen, and a second."""
    seen = np.stack([np.arange(10) < one, np.arange(10) < two], axis=1)
    blank = np.log(np.full((10, 3), [0.98, 0.01, 0.01], np.float32))
    found = Recognition(
        log_probabilities=blank,
        attention={},
        seconds=np.arange(10) / 8,
        took_s=0.1,
        names=("", "A", "B"),
        hands=HandTracks(points=np.zeros((10, 2, 21, 2), np.float32), seen=seen),
    )
    assert (found.without_gloss or "").startswith(said)
    spoken = replace(found, log_probabilities=blank[:, ::-1])
    assert spoken.without_gloss is None or one == 0
