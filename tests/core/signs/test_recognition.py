"""One clip, read once: what the recogniser says, lined up with time."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.signs.hands.tracks import HandTracks
from core.signs.recogniser import ASL, load_recogniser
from core.signs.recognition import Recognition
from core.signs.samples import track_samples


def test_tracks_are_read_at_their_stride(tiny: Path) -> None:
    recogniser = load_recogniser(ASL, folder=tiny)
    one = track_samples()[0]
    found = recogniser.answer(one.tracks, np.arange(len(one.tracks)) / 30, speaker=one.speaker)
    assert len(found.seconds) == len(found.path) == -(-len(one.tracks) // 2)
    assert found.seconds[1] == pytest.approx(1 / 15)


def recognition(log_probabilities: np.ndarray, **more: Any) -> Recognition:
    seconds = np.arange(len(log_probabilities)) / 8
    return Recognition(log_probabilities=log_probabilities, attention={}, seconds=seconds, took_s=0.1, **more)


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [(0, 0, "No hand is seen"), (9, 4, "No sign is seen"), (9, 5, "Two hands are seen"), (9, 9, "Two hands are seen")],
)
def test_a_film_without_a_gloss_says_why(one: int, two: int, said: str) -> None:
    """`one` and `two`: frames of ten in which a first hand is seen, and a second."""
    seen = np.stack([np.arange(10) < one, np.arange(10) < two], axis=1)
    blank = np.log(np.full((10, 3), [0.98, 0.01, 0.01], np.float32))
    hands = HandTracks(points=np.zeros((10, 2, 21, 2), np.float32), seen=seen)
    found = recognition(blank, names=("", "A", "B"), hands=hands)
    assert (found.without_gloss or "").startswith(said)
    spoken = replace(found, log_probabilities=blank[:, ::-1])
    assert spoken.without_gloss is None or one == 0


def test_a_gloss_that_is_unsure_gets_no_place_in_the_answer() -> None:
    probabilities = np.full((16, 11), 0.001, np.float32)
    probabilities[:, 0] = 0.99
    probabilities[4:9, [0, 3]] = 0.401, 0.59
    seen = recognition(np.log(probabilities), names=("", *"0123456789"), least_probability=0.8)
    assert seen.greedy == ()
    assert [(gloss, round(probability, 2)) for gloss, probability in seen.doubtful] == [("2", 0.59)]
    assert replace(seen, least_probability=0.5).greedy == ("2",)
