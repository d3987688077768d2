"""Training IIGA: variations keep what they must, steps lower the loss, and the command line goes from folder to checkpoint."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from core import checkpoints
from core.cli import main
from core.models.iiga import IIGA, IIGAConfig
from core.signs.edits import word_error_rate
from core.signs.recogniser import load_recogniser
from core.signs.tracks import FEATURES, features
from core.signs.vocabulary import BLANK
from lab.signs.clips import BETWEEN
from lab.signs.photo_set import separate
from lab.signs.photos import read_photos
from lab.signs.render import Studio
from lab.signs.tracked_sentences import fit_scales, of_sentences, read_sentences
from lab.training import iiga
from lab.training.iiga import DigitsTraining, StillsModel, StillsTask, classes, hold_out
from lab.training.iiga_tracks import PreparedTracks, TracksTask, TracksTraining, prepare, rested, spliced, varied
from lab.training.sentences import IGNORED, collate, ctc
from tests.core.training.test_loop import losses_of

FIXTURES = Path(__file__).parents[2] / "fixtures" / "signs"
SENTENCES = read_sentences(FIXTURES / "boston104", "train")
WORDS = of_sentences([one.glosses for one in SENTENCES])
PREPARED = [prepare(one, WORDS, fit_scales(SENTENCES)) for one in SENTENCES]
STILL = TracksTraining(
    splice=0, rest=0, speed=1, stretch=1, scale=0, shift=0, shear=0, jitter=0, mask=0, channel=0, frames_weight=0
)
CONFIG = IIGAConfig(
    front="tracks", vocabulary=len(WORDS), width=32, heads=2, layers=1, window=3, track_features=FEATURES, dropout=0.0
)


def spelt(labels: np.ndarray) -> list[int]:
    """The glosses whose frames follow each other; adjacent repeats need a blank between, as everywhere in CTC."""
    before = np.concatenate([[BLANK], labels[:-1]])
    return [int(b) for a, b in zip(before, labels, strict=True) if b not in (BLANK, a)]


def test_without_variation_a_sentence_stays_as_it_is() -> None:
    random = np.random.default_rng(0)
    for one in PREPARED[:3]:
        found, labels = varied(one, STILL, random)
        np.testing.assert_allclose(found, features(one.hands), atol=1e-4)
        assert len(labels) in (len(found), len(found) - 1)
        assert spelt(labels) == one.target


def test_varied_sentences_still_spell_theirs_and_have_a_path() -> None:
    random = np.random.default_rng(1)
    how = TracksTraining()
    for _ in range(60):
        one = PREPARED[int(random.integers(len(PREPARED)))]
        found, labels = varied(one, how, random)
        assert found.shape[1] == FEATURES and len(labels) <= len(found) and np.isfinite(found).all()
        repeats = sum(a == b for a, b in zip(one.target, one.target[1:], strict=False))
        assert len(found) >= len(one.target) + repeats
        assert set(spelt(labels)) <= set(one.target)


def test_a_splice_is_the_head_of_one_and_the_tail_of_the_other() -> None:
    random = np.random.default_rng(2)
    for _ in range(40):
        one, other = (PREPARED[int(i)] for i in random.integers(0, len(PREPARED), 2))
        found = spliced(one, other, random)
        assert spelt(found.labels) == found.target or any(a == b for a, b in zip(found.target, found.target[1:], strict=False))
        assert len(found.hands) == len(found.labels)
        heads = [one.target[:i] for i in range(1, len(one.target))]
        assert found.target[: len(found.target)] and any(found.target[: len(head)] == head for head in heads)
    lonely = PreparedTracks(hands=one.hands, labels=one.labels, target=one.target, cuts=[])
    assert spliced(lonely, other, random) is lonely


def test_a_rest_moves_no_gloss_out() -> None:
    random = np.random.default_rng(3)
    lengths = set()
    for _ in range(40):
        one = PREPARED[int(random.integers(len(PREPARED)))]
        found = rested(one, 12, random)
        assert spelt(one.labels) == spelt(found.labels) == one.target and len(one.cuts) == len(one.target) - 1
        lengths.add(len(found.hands) - len(one.hands))
    assert min(lengths) < 0 < max(lengths)


def test_collated_batches_pad_with_nothing() -> None:
    random = np.random.default_rng(4)
    x, lengths, labels, targets, target_lengths = collate([(*varied(one, STILL, random), one.target) for one in PREPARED[:3]])
    assert x.shape == (3, int(lengths.max()), FEATURES)
    for row, length in enumerate(lengths.tolist()):
        assert bool((x[row, length:] == 0).all()) and bool((labels[row, length:] == IGNORED).all())
    assert targets.tolist() == [label for one in PREPARED[:3] for label in one.target]
    assert target_lengths.tolist() == [len(one.target) for one in PREPARED[:3]]


def test_the_loss_is_torchs_ctc_and_no_path_counts_as_zero() -> None:
    torch.manual_seed(0)
    logits = torch.randn(2, 6, 5)
    lengths, targets, target_lengths = torch.tensor([6, 2]), torch.tensor([1, 2, 3, 3]), torch.tensor([2, 2])
    expected = F.ctc_loss(logits[0].log_softmax(-1), torch.tensor([1, 2]), torch.tensor(6), torch.tensor(2), reduction="sum") / 2
    found = ctc(logits, lengths, targets, target_lengths)
    torch.testing.assert_close(found, expected / 2)  # the second, T = 2 for "3 3", has no path (D19)


def test_steps_of_a_tiny_model_lower_the_loss() -> None:
    torch.manual_seed(0)
    model = IIGA(CONFIG)
    task = TracksTask(PREPARED, PREPARED, STILL)
    losses = losses_of(model, task, epochs=25, rate=2e-3)
    assert losses[-1] < 0.5 * losses[0]
    model.eval()
    assert task.validate(model)["wer"] == -task.validate(model)["score"] <= 1.0


def test_the_same_seed_gives_the_same_batches() -> None:
    first, second = (list(TracksTask(PREPARED, [], TracksTraining(seed=3)).batches(2)) for _ in range(2))
    assert all(torch.equal(a, b) for one, two in zip(first, second, strict=True) for a, b in zip(one, two, strict=True))
    other = next(iter(TracksTask(PREPARED, [], TracksTraining(seed=4)).batches(2)))
    assert other[0].shape != first[0][0].shape or not torch.equal(other[0], first[0][0])


def test_stills_learn_too() -> None:
    photos = read_photos(FIXTURES / "digits")
    train, held_out = hold_out(photos, 0.25)
    assert not set(train.signers) & set(held_out.signers) and len(train) == 12
    how = DigitsTraining(batch=12, hard=0.0, empty=0.0)
    studios = [Studio(part, separate(part.images), size=32) for part in (train, held_out)]
    config = IIGAConfig(vocabulary=11, width=16, heads=2, image_size=32, width_multiplier=0.25, image_channels=32)
    torch.manual_seed(0)
    model, task = StillsModel(config), StillsTask(studios[0], studios[1], how)
    losses = losses_of(model, task, epochs=12, rate=3e-3)
    assert set(torch.cat([batch[1] for batch in task.batches(0)]).tolist()) <= {1, 2, 6, 8}
    assert np.mean(losses[-3:]) < 0.9 * losses[0]
    assert classes(np.array([BETWEEN, 0, 9])).tolist() == [BLANK, 1, 10]
    with pytest.raises(ValueError, match="cannot be parted"):
        hold_out(photos, 0.01)


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three batches of whole clips an epoch."""
    monkeypatch.setattr(iiga, "POLISH_STEPS", 3)
    monkeypatch.setattr(iiga.WholeTask, "steps", 3)


TINY = ["--width", "16", "--heads", "2", "--layers", "1", "--epochs", "2", "--batch", "4"]
SMALL = ["--image-size", "32", "--width-multiplier", "0.25", "--image-channels", "32", "--clips", "4", "--clip-epochs", "1"]


def evaluated(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, object]:
    capsys.readouterr()
    assert main(["evaluate", "iiga", *map(str, words), "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_from_tracks_to_a_checkpoint_and_its_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = FIXTURES / "boston104"
    assert main(["train", "iiga", "--data", str(data), *TINY, "--name", "tiny", "--folder", str(tmp_path)]) == 0
    card = checkpoints.read_card("tiny", folder=tmp_path)
    assert card["model"] == "iiga" and card["vocabulary"] == list(WORDS.glosses) and card["stride"] == 2
    options = ("--checkpoint", "tiny", "--folder", tmp_path)
    answer = evaluated(capsys, "--data", data, *options)
    assert answer["model"] == "iiga" and answer["samples"] == answer["sentences"] == 4
    assert answer["wer"] == card["metrics"]["test"]["wer"]
    assert answer["unseen_sentences"] == 1 and answer["split"] == "test"
    trained = evaluated(capsys, "--data", data, "--split", "train", *options)
    assert trained["sentences"] == len(SENTENCES) and trained["wer_unseen"] is None
    # the same number, by hand
    recogniser = load_recogniser("tiny", folder=tmp_path)
    sentences = read_sentences(data, "test")
    found = [list(recogniser.answer(one.tracks, speaker=one.speaker).greedy) for one in sentences]
    assert answer["wer"] == pytest.approx(word_error_rate([one.glosses for one in sentences], found), abs=1e-6)
    assert evaluated(capsys, "--data", data, "--split", "dev", *options) == answer  # what training holds out
    assert main(["evaluate", "iiga", "--data", str(data), "--split", "other", *map(str, options)]) == 2
    assert "no split 'other'" in capsys.readouterr().err


@pytest.mark.usefixtures("few_steps")
def test_from_photos_to_a_checkpoint_and_its_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = FIXTURES / "digits"
    counted = ["--whole-epochs", "1", "--checked", "4"]
    words = ["--data", str(data), *TINY, *SMALL, *counted, "--held-out", "0.67", "--no-test", "--name", "tiny"]
    assert main(["train", "iiga", *words, "--folder", str(tmp_path)]) == 0
    card = checkpoints.read_card("tiny", folder=tmp_path)
    assert card["vocabulary"] == list("0123456789") and "synthetic sentences of real photos" in card["clips"]
    options = ("--checkpoint", "tiny", "--folder", tmp_path, "--clips", "5")
    assert main(["evaluate", "iiga", "--data", str(data), *map(str, options), "--json"]) == 0
    printed = capsys.readouterr()
    assert "5/5" in printed.err and "clip/s]" in printed.err  # the progress of what takes minutes
    answer = json.loads(printed.out.splitlines()[-1])
    assert answer["samples"] == answer["sentences"] == 5 and answer["split"] == "all"
    assert evaluated(capsys, "--data", data, "--split", "dev", *options)["split"] == "dev"
    assert 0 <= card["decoding"]["least_probability"] < 1
    assert evaluated(capsys, "--data", data, "--hard", *options)["tilt"] == 22 > answer["tilt"] == 12
    framed = evaluated(capsys, "--data", data, "--frame", "0.45", "--tilt", "30", *options)
    assert (framed["frame"], framed["tilt"], framed["samples"]) == (0.45, 30.0, 5)
    capsys.readouterr()
    assert main(["evaluate", "iiga", "--data", str(data), "--frame", "4", *map(str, options)]) == 2
    assert "a share of the frame's height, from 0.1 to 1, not 4" in capsys.readouterr().err
    assert main(["evaluate", "iiga", "--data", str(FIXTURES / "boston104"), "--tilt", "3"]) == 2
    assert "tracked sentences take neither" in capsys.readouterr().err
    assert main(["evaluate", "iiga", "--data", str(FIXTURES), "--folder", str(tmp_path)]) == 2
    assert "holds neither manifest.csv" in capsys.readouterr().err
    tracks = ["--data", str(FIXTURES / "boston104"), "--checkpoint", "tiny", "--folder", str(tmp_path)]
    assert main(["evaluate", "iiga", *tracks]) == 2
    assert "reads frames, and boston104 holds none" in capsys.readouterr().err


@pytest.mark.usefixtures("few_steps")
def test_whole_clips_go_on_from_a_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At a rate of nothing and without an average the weights stay the earlier run's, and the card tells of both runs."""
    data = ["train", "iiga", "--data", str(FIXTURES / "digits"), "--held-out", "0.67", "--no-test", "--folder", str(tmp_path)]
    assert main([*data, *TINY, *SMALL, "--checked", "2", "--whole-epochs", "0", "--name", "first"]) == 0
    card = ["--start", str(tmp_path / "first.json"), "--name", "on", "--checked", "2"]
    assert main([*data, *card, "--whole-epochs", "1", "--whole-rate", "0", "--whole-ema", "0"]) == 0
    before, after = checkpoints.load("first", folder=tmp_path), checkpoints.load("on", folder=tmp_path)
    assert all(np.array_equal(before.weights[name], after.weights[name]) for name in before.weights)
    assert after.card["started_from"]["weights_sha256"] == before.card["weights_sha256"]
    assert after.card["started_from"]["command"] == before.card["command"]
    assert len(after.card["history"]["whole"]) == 1
    capsys.readouterr()
    with pytest.raises(SystemExit, match="--whole-epochs must be 1 or more"):
        main([*data, *card, "--whole-epochs", "0"])
