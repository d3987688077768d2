"""Training beside the app: the real command on stand-ins for garments, started, watched, stopped, kept."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core import checkpoints
from core.runs.local_training import NAME, Plan, Standing, Trainer, TrainError, trainer, wait
from tests.core.vision.test_idx import write

PATIENCE = 120.0


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    labels = np.arange(300) % 10
    images = np.random.default_rng(0).integers(0, 256, (300, 28, 28)) // 2 + 12 * labels[:, None, None]
    write(tmp_path / "data", "train", images, labels)
    return Plan(data=tmp_path / "data", images=300, epochs=2, batch=30, width=24, layers=1, patch=7)


@pytest.fixture
def one() -> Iterator[Trainer]:
    made = Trainer()
    yield made
    made.close()


def until(one: Trainer, wanted: str) -> Standing:
    over = time.monotonic() + PATIENCE
    while (standing := one.standing()).phase != wanted and standing.running and time.monotonic() < over:
        time.sleep(0.05)
    return one.standing()


def test_a_run_is_watched_to_its_end_and_kept(one: Trainer, plan: Plan, tmp_path: Path) -> None:
    assert one.standing() == Standing()
    assert one.card() is None
    with pytest.raises(TrainError, match="no finished run"):
        one.keep("early")
    one.start(plan)
    assert one.standing().phase in ("starting", "training")
    with pytest.raises(TrainError, match="under way"):
        one.start(plan)
    standing = wait(one, PATIENCE)
    assert standing.phase == "finished", standing.said
    assert standing.step == standing.total == 2 * (300 - 30) // 30
    assert standing.share == 1
    assert standing.remaining_s == pytest.approx(0)
    assert [row["epoch"] for row in standing.history] == [0, 1]
    kept = tmp_path / "kept"
    one.keep("my-vit", folder=kept)
    checkpoint = checkpoints.load("my-vit", folder=kept)
    assert checkpoint.card["config"]["width"] == 24
    assert checkpoint.card["history"][-1]["validation_accuracy"] == pytest.approx(
        standing.history[-1]["validation_accuracy"], rel=1e-4
    )
    with pytest.raises(TrainError, match="already"):
        one.keep("my-vit", folder=kept)
    for name in ("", "../up", "Big", "a b", "x" * 41):
        with pytest.raises(TrainError, match="lower-case"):
            one.keep(name, folder=kept)


def test_stopping_keeps_the_best_epoch_so_far(one: Trainer, plan: Plan) -> None:
    one.start(Plan(**{**plan.__dict__, "epochs": 5_000}))
    over = time.monotonic() + PATIENCE
    while not one.standing().history and time.monotonic() < over:
        time.sleep(0.05)
    one.stop()
    standing = wait(one, PATIENCE)
    assert standing.phase == "finished", standing.said
    assert standing.step < standing.total
    card = one.card()
    assert card is not None
    assert 1 <= len(card["history"]) < 5_000


def stub(tmp_path: Path, text: str) -> Trainer:
    script = tmp_path / "stub.py"
    script.write_text(text)
    return Trainer(command=(sys.executable, str(script)))


def test_stopping_before_an_epoch_drops_the_run(tmp_path: Path, plan: Plan) -> None:
    one = stub(tmp_path, "import time\ntime.sleep(600)")
    one.start(plan)
    assert one.standing().phase == "starting"
    one.stop()
    assert one.standing() == Standing()


def test_a_failed_run_says_why(tmp_path: Path, plan: Plan) -> None:
    one = stub(tmp_path, "import sys\nprint('0%|   | 0/3\\r50%|  | 1/3')\nsys.exit('python -m core train: the disk is full')")
    one.start(plan)
    standing = wait(one, PATIENCE)
    assert (standing.phase, standing.said) == ("failed", "the disk is full")
    one.close()


def test_the_pace_so_far_tells_what_is_left(tmp_path: Path, plan: Plan) -> None:
    told = {"step": 25, "total": 100, "epoch": 1, "epochs": 4, "elapsed": 50.0, "loss": 1.5, "history": []}
    one = stub(
        tmp_path,
        "import sys, pathlib, time\n"
        "path = pathlib.Path(sys.argv[sys.argv.index('--progress') + 1])\n"
        f"path.write_text({json.dumps(json.dumps(told))})\n"
        "time.sleep(600)",
    )
    one.start(plan)
    standing = until(one, "training")
    assert (standing.share, standing.remaining_s, standing.loss) == (0.25, 150.0, 1.5)
    one.close()
    assert one.standing() == Standing()


def test_a_file_in_the_folders_place_is_refused(one: Trainer, plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TrainError, match="is a file"):
        one.start(Plan(data=tmp_path / "file"))
    assert Plan(data=tmp_path / "none").to_fetch
    assert not plan.to_fetch


def test_there_is_one_trainer_a_process(tmp_path: Path) -> None:
    assert trainer() is trainer()
    words = Plan(data=tmp_path).arguments(tmp_path)
    assert words[:2] == ["train", "vit"]
    assert words[words.index("--name") + 1] == NAME
