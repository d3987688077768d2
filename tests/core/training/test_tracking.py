"""Numbers of a run for a program that draws them, read back by TensorBoard's own reader."""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from core import checkpoints
from core.cli import main
from core.training.loop import TrainingProgress
from core.training.tracking import tracked


def read_back(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(one.step, one.value) for one in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_shows_the_steps_and_the_cards_history(tmp_path: Path) -> None:
    train = [
        "train",
        "dates",
        "--width",
        "16",
        "--heads",
        "2",
        "--layers",
        "1",
        "--hidden",
        "16",
        "--epochs",
        "2",
        "--steps",
        "20",
    ]
    places = ["--folder", str(tmp_path), "--tensorboard", str(tmp_path / "events"), "--state", str(tmp_path / "state")]
    assert main([*train, "--batch", "4", "--no-test", *places]) == 0
    shown = read_back(tmp_path / "events" / "dates")
    card = checkpoints.read_card("dates", folder=tmp_path)
    assert [step for step, _ in shown["loss"]] == [10, 20, 30, 40]
    for name in set(card["history"][0]) - {"epoch", "step"}:
        told = shown[f"epoch/{name}"]
        assert [step for step, _ in told] == [20, 40]
        np.testing.assert_allclose([value for _, value in told], [row[name] for row in card["history"]], rtol=1e-4)
    np.testing.assert_allclose(shown["rate"][1][1], card["history"][0]["rate"], rtol=1e-4)


def test_stages_that_count_their_own_steps_follow_each_other() -> None:
    told: list[int] = []

    class Kept:
        def log(self, step: int, metrics: Mapping[str, float]) -> None:
            told.append(step)

    callback = tracked(Kept(), every=2)
    for steps in (4, 1, 3):
        for step in range(1, steps + 1):
            callback("step", TrainingProgress(step=step))
        callback("epoch", TrainingProgress(step=steps, history=[{"loss": 1.0}]))
    assert told == [2, 4, 4, 5, 7, 8]


def test_without_tensorboard_a_sentence_says_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [one for one in sys.modules if one.startswith("torch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    assert main(["train", "dates", "--folder", str(tmp_path), "--tensorboard", str(tmp_path)]) == 2
    assert "tensorboard is not installed: pip install tensorboard==" in capsys.readouterr().err
