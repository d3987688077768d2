"""The ViT's training task: what it draws, what it minimises, and a small run from files to card."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from core import checkpoints
from core.cli import main
from core.models.vit import ViT, ViTConfig
from core.runs.history import run_from_card
from core.vision.classifier import load_classifier
from lab.training.augment import Augmentation
from lab.training.garment_teacher import GarmentTeacher
from lab.training.vit import ViTTask, ViTTraining, prepare
from lab.vision.idx import IdxPart, read_part
from tests.core.training.test_loop import losses_of
from tests.lab.vision.test_idx import write

RANDOM = np.random.default_rng(0)


def garments(count: int) -> IdxPart:
    """Stand-ins: a bright square whose place tells the class, in noise."""
    labels = np.arange(count) % 10
    images = RANDOM.integers(0, 60, (count, 28, 28)).astype(np.uint8)
    for image, label in zip(images, labels, strict=True):
        top, left = 3 + 9 * (label // 4), 2 + 6 * (label % 4)
        image[top : top + 6, left : left + 5] = 255
    return IdxPart(images=images, labels=labels.astype(np.int64))


PART = garments(200)
DATA = prepare(PART, held_out=50)
TRAINING = ViTTraining(batch=25)


def test_constants_come_from_the_training_images_alone() -> None:
    assert len(DATA.train_labels), len(DATA.validation_labels) == (150, 50)
    assert DATA.mean == pytest.approx(float(DATA.train_images.mean()), abs=1e-6)
    assert DATA.std == pytest.approx(float(DATA.train_images.std()), abs=1e-6)
    images = ViTTask(DATA, TRAINING).normalise(DATA.train_images)
    assert float(images.mean()) == pytest.approx(0, abs=1e-4)
    assert float(images.std()) == pytest.approx(1, abs=1e-4)


def test_an_epoch_is_every_image_once_and_repeats_by_its_number() -> None:
    task = ViTTask(DATA, TRAINING)
    first, again, second = (list(task.batches(epoch)) for epoch in (0, 0, 1))
    assert len(first) == 6
    assert torch.cat([batch[1] for batch in first]).bincount().tolist() == DATA.train_labels.bincount().tolist()
    for a, b, c in zip(first, again, second, strict=True):
        assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
        assert not torch.equal(a[0], c[0])
    other = next(iter(ViTTask(DATA, replace(TRAINING, seed=1)).batches(0)))
    assert not torch.equal(first[0][0], other[0])


class Fixed(nn.Module):
    """Answers from its label-free input: so many times the image's first ten pixels."""

    def __init__(self, factor: int = 1) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * x[:, 0, 0, :10]


def test_the_loss_is_the_written_one() -> None:
    images = torch.randn(4, 1, 28, 28)
    labels = torch.tensor([0, 3, 9, 1])
    logits = images[:, 0, 0, :10]
    p = logits.log_softmax(dim=1)
    by_hand = -(0.9 * p[torch.arange(4), labels] + 0.01 * p.sum(dim=1)).mean()
    torch.testing.assert_close(ViTTask(DATA, TRAINING).loss(Fixed(), (images, labels)), by_hand)
    task = ViTTask(DATA, replace(TRAINING, soft=0.7, temperature=2.0), teacher=Fixed(2))  # type: ignore[arg-type]
    target = (2 * logits / 2).softmax(dim=1)
    soft = (target * (target.log() - (logits / 2).log_softmax(dim=1))).sum(dim=1).mean() * 4
    torch.testing.assert_close(task.loss(Fixed(), (images, labels)), 0.3 * by_hand + 0.7 * soft, atol=1e-4, rtol=1e-4)


def test_the_teacher_is_a_classifier_of_the_same_images() -> None:
    teacher = GarmentTeacher()
    x = torch.randn(3, 1, 28, 28)
    before = teacher.eval()(x)
    teacher.lay_out_for_speed()
    assert before.shape == (3, 10)
    torch.testing.assert_close(teacher(x), before, atol=1e-4, rtol=1e-4)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    write(folder, "train", PART.images, PART.labels)
    write(folder, "t10k", garments(60).images, garments(60).labels)
    return folder


def test_the_command_trains_calibrates_tests_and_can_be_gone_on_from(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--data", str(files), "--folder", str(tmp_path), "--batch", "20", "--warmup", "10", "--ema", "0"]
    small = ["--width", "24", "--heads", "2", "--layers", "2", "--hidden", "24", "--patch", "7"]
    state = tmp_path / "state"
    first = ["train", "vit", *common, *small, "--epochs", "2", "--name", "a", "--state", str(state)]
    assert main([*first, "--no-test"]) == 0
    assert "test" not in checkpoints.read_card("a", folder=tmp_path)["metrics"]
    assert main(["train", "vit", *common, *small, "--epochs", "2", "--rate", "3e-3", "--name", "b", "--start", str(state)]) == 0
    wider = ["--hidden", "36", "--epochs", "1", "--name", "c", "--start", str(tmp_path / "a.json"), "--no-test"]
    assert main(["train", "vit", *common, *small, *wider]) == 0  # as the shipped model's command, from 192 to 384
    card = checkpoints.read_card("b", folder=tmp_path)
    assert card["started_from"]["epochs"] == 2
    assert str(tmp_path) not in json.dumps(card)
    run = run_from_card(card)
    assert run.epochs["epoch"].tolist() == [1, 2, 3, 4]
    assert run.stages == (3,)
    test = card["metrics"]["test"]
    assert test["samples"] == 60 == int(np.sum(test["confusion"]))
    assert test["accuracy"] == pytest.approx(np.trace(test["confusion"]) / 60, abs=1e-6)
    capsys.readouterr()
    assert main(["evaluate", "vit", "--data", str(files), "--folder", str(tmp_path), "--checkpoint", "b", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["model"] == "vit"
    assert printed["samples"] == 60
    assert printed["accuracy"] == test["accuracy"]
    classifier = load_classifier("b", folder=tmp_path)
    part = read_part(files, "t10k")
    wrong = classifier.probabilities(part.images).argmax(axis=1) != part.labels
    assert test["accuracy"] == pytest.approx(1 - wrong.mean(), abs=1e-6)


def test_a_teacher_and_the_student_that_imitates_it(tmp_path: Path, files: Path) -> None:
    common = ["--data", str(files), "--folder", str(tmp_path), "--batch", "50", "--epochs", "1", "--warmup", "1"]
    assert main(["train", "vit-teacher", *common, "--name", "master"]) == 0
    small = ["--width", "16", "--heads", "2", "--layers", "1", "--hidden", "16"]
    pupil = ["--name", "pupil", "--teacher", "master", "--no-test", "--state", str(tmp_path / "state")]
    assert main(["train", "vit", *common, *small, *pupil]) == 0
    card = checkpoints.read_card("pupil", folder=tmp_path)
    master = checkpoints.read_card("master", folder=tmp_path)
    assert card["teacher"]["weights_sha256"] == master["weights_sha256"]
    assert card["teacher"]["validation_accuracy"] == master["metrics"]["validation"]["validation_accuracy"]
    assert not math.isnan(card["history"][0]["loss"])
    load_classifier("pupil", folder=tmp_path)  # the ViT alone was written
    assert main(["train", "vit", *common, *small, "--name", "alone", "--start", str(tmp_path / "state"), "--no-test"]) == 0


def test_without_files_and_network_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_network(*_: object, **__: object) -> bytes:
        raise OSError("no network")

    monkeypatch.setattr("lab.vision.idx._download", no_network)
    assert main(["train", "vit", "--data", str(tmp_path / "none")]) == 2
    assert "put the four official files there, or connect to the internet" in capsys.readouterr().err


def test_the_smallest_model_learns_the_stand_ins() -> None:
    torch.manual_seed(0)
    model = ViT(ViTConfig(patch=7, width=24, heads=2, layers=1, hidden=24))
    plain = Augmentation(flip=0, shift=0, warp=0)
    task = ViTTask(DATA, replace(TRAINING, augmentation=plain))
    before = task.validate(model.eval())["validation_loss"]
    losses_of(model, task, epochs=8)
    assert task.validate(model.eval())["validation_loss"] < before - 0.2
