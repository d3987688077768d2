"""A checkpoint at work: what its card says, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core import checkpoints
from core.models.iiga import IIGA, IIGAConfig
from core.signs.ctc_lab import collapsed
from core.signs.recogniser import ASL, DIGITS, Recogniser, load_recogniser
from core.signs.samples import track_samples
from core.signs.tracks import FEATURES, features, normalised
from lab.signs.tracked_sentences import fit_scales
from tests.core.signs.tiny import COMMON

TRACKS = IIGAConfig(front="tracks", vocabulary=4, width=16, heads=2, layers=2, window=2, track_features=FEATURES)


def write(folder: Path, name: str, **more: Any) -> None:
    torch.manual_seed(1)
    card = {**COMMON, "config": TRACKS.to_dict(), "vocabulary": ["A", "B", "C"], "fps": 8.0, **more}
    checkpoints.save(name, IIGA(TRACKS), card, folder=folder)


def test_frames_in_probabilities_out(tiny: Path) -> None:
    recogniser = load_recogniser(DIGITS, folder=tiny)
    assert (recogniser.name, recogniser.front, recogniser.image_size, recogniser.fps) == (DIGITS, "frames", 32, 8.0)
    clip = np.random.default_rng(0).integers(0, 256, (70, 32, 32, 3), dtype=np.uint8)
    answer = recogniser.answer(clip)
    assert answer.log_probabilities.shape == (70, 11)
    np.testing.assert_allclose(np.exp(answer.log_probabilities).sum(axis=1), 1, rtol=1e-5)
    assert {maps.shape for maps in answer.attention.values()} == {(2, 70, 70)}
    assert collapsed(answer.path)[1] == list(answer.greedy)
    assert answer.seconds.tolist() == [step / 8 for step in range(70)] and answer.took_s > 0
    with torch.no_grad():  # in one piece, where the recogniser takes 64 frames at a time
        whole = recogniser.model(torch.from_numpy(clip)[None].to(recogniser.placement.device)).cpu()
    np.testing.assert_allclose(answer.log_probabilities, whole[0].log_softmax(-1).numpy(), atol=1e-5)
    np.testing.assert_allclose(recogniser.log_probabilities(clip), answer.log_probabilities, atol=1e-5)


def test_tracks_in_probabilities_out(tiny: Path) -> None:
    recogniser = load_recogniser(ASL, folder=tiny)
    clip = np.random.default_rng(0).uniform(50, 200, (31, 6))
    found = recogniser.log_probabilities(clip, speaker="woman-1")
    assert found.shape == (16, recogniser.config.vocabulary)
    own = fit_scales(track_samples())["woman-1"]
    with torch.no_grad():
        tracks = torch.from_numpy(features(normalised(clip.astype(np.float32), own)))[None]
        whole = recogniser.model(tracks.to(recogniser.placement.device)).cpu()
    np.testing.assert_allclose(found, whole[0].log_softmax(-1).numpy(), atol=1e-5)
    stranger = recogniser.log_probabilities(clip, speaker="nobody")
    np.testing.assert_allclose(stranger, recogniser.log_probabilities(clip))
    assert not np.allclose(found, stranger)
    assert list(recogniser.answer(clip).attention) == ["intra 1", "inter 1", "intra 2", "inter 2"]


def test_wrong_clips_are_refused_in_a_sentence(tiny: Path) -> None:
    frames, tracks = (load_recogniser(name, folder=tiny) for name in (DIGITS, ASL))
    with pytest.raises(ValueError, match="iiga_digits reads frames of shape .T, 32, 32, 3., one or more, not .3, 16, 16, 3."):
        frames.answer(np.zeros((3, 16, 16, 3), np.uint8))
    with pytest.raises(ValueError, match="one or more, not .0, 32, 32, 3."):
        frames.answer(np.zeros((0, 32, 32, 3), np.uint8))
    with pytest.raises(ValueError, match="uint8 values, 0 to 255, not float64"):
        frames.answer(np.zeros((3, 32, 32, 3)))
    with pytest.raises(ValueError, match="iiga_asl reads tracks of shape .T, 6."):
        tracks.answer(np.zeros((3, 5)))
    with pytest.raises(ValueError, match="every tracked position must be a number"):
        tracks.answer(np.full((3, 6), np.nan))


def test_cards_that_describe_no_iiga_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "other", model="tlob")
    with pytest.raises(checkpoints.CheckpointError, match="holds the model tlob: IIGA is needed here"):
        load_recogniser("other", folder=tmp_path)
    write(tmp_path, "few", vocabulary=["A"])
    with pytest.raises(checkpoints.CheckpointError, match="names 1 glosses for a model of 3"):
        load_recogniser("few", folder=tmp_path)
    write(tmp_path, "bare")
    path = tmp_path / "bare.json"
    card = json.loads(path.read_text())
    del card["vocabulary"]
    path.write_text(json.dumps(card))
    with pytest.raises(checkpoints.CheckpointError, match="does not describe the model IIGA"):
        load_recogniser("bare", folder=tmp_path)


def test_the_shipped_cards_are_whole() -> None:
    for name in checkpoints.names("iiga"):
        recogniser = load_recogniser(name)
        assert isinstance(recogniser, Recogniser) and recogniser.card["metrics"]
