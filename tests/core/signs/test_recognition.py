"""One clip, read once: what the recogniser says, lined up with time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.signs.ctc_lab import collapsed
from core.signs.recogniser import ASL, DIGITS, load_recogniser
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
