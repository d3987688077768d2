"""Training beside the app: the real command on stand-ins for garments, started, watched, stopped, kept."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core.runs import data_folders
from core.runs.local_run import LocalRun, RunStatus, TrainError
from core.runs.local_training import NAME, Plan, Trainer
from core.vision.classifier import load_classifier
from tests.core.vision.test_idx import write

PATIENCE = 120.0


def wait(run: LocalRun[Plan], seconds: float) -> RunStatus:
    """Wait until the run ends or the seconds are over; returns its state then."""
    until = time.monotonic() + seconds
    while run.status().running and time.monotonic() < until:
        time.sleep(0.1)
    return run.status()


ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setenv(data_folders.SETTING, os.pathsep.join([str(tmp_path / "data"), str(tmp_path / "file")]))
    labels = np.arange(300) % 10
    images = np.random.default_rng(0).integers(0, 256, (300, 28, 28)) // 2 + 12 * labels[:, None, None]
    write(tmp_path / "data", "train", images, labels)
    return Plan(data=tmp_path / "data", images=300, epochs=2, batch=30, width=24, layers=1, tokens="patches", patch=7)


@pytest.fixture
def one() -> Iterator[Trainer]:
    made = Trainer()
    yield made
    made.close()


def until(one: Trainer, wanted: str) -> RunStatus:
    over = time.monotonic() + PATIENCE
    while (status := one.status()).phase != wanted and status.running and time.monotonic() < over:
        time.sleep(0.05)
    return one.status()


def test_a_run_is_watched_to_its_end_and_taken_away(one: Trainer, plan: Plan, tmp_path: Path) -> None:
    assert one.status() == RunStatus()
    assert one.card() is None
    with pytest.raises(TrainError, match="no finished run"):
        one.packed()
    one.start(plan)
    assert one.status().phase in ("starting", "training")
    with pytest.raises(TrainError, match="under way"):
        one.start(plan)
    status = wait(one, PATIENCE)
    assert status.phase == "finished", status.message
    assert status.step == status.total == 2 * (300 - 30) // 30
    assert status.share == 1
    assert status.remaining_s == pytest.approx(0)
    assert [row["epoch"] for row in status.history] == [0, 1]
    kept = tmp_path / "kept"
    with zipfile.ZipFile(io.BytesIO(one.packed())) as archive:
        archive.extractall(kept)
    checkpoint = load_classifier(NAME, folder=kept)
    assert checkpoint.card["config"]["width"] == 24
    assert checkpoint.card["history"][-1]["validation_accuracy"] == pytest.approx(
        status.history[-1]["validation_accuracy"], rel=1e-4
    )


def test_stopping_keeps_the_best_epoch_so_far(one: Trainer, plan: Plan) -> None:
    one.start(Plan(**{**plan.__dict__, "epochs": 5_000}))
    over = time.monotonic() + PATIENCE
    while not one.status().history and time.monotonic() < over:
        time.sleep(0.05)
    one.stop()
    status = wait(one, PATIENCE)
    assert status.phase == "finished", status.message
    assert status.step < status.total
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
    assert one.status().phase == "starting"
    one.stop()
    assert one.status() == RunStatus()


def test_a_failed_run_says_why(tmp_path: Path, plan: Plan) -> None:
    one = stub(tmp_path, "import sys\nprint('0%|   | 0/3\\r50%|  | 1/3')\nsys.exit('python -m core train: the disk is full')")
    one.start(plan)
    status = wait(one, PATIENCE)
    assert (status.phase, status.message) == ("failed", "the disk is full")
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
    status = until(one, "training")
    assert (status.share, status.remaining_s, status.loss) == (0.25, 150.0, 1.5)
    one.close()
    assert one.status() == RunStatus()


def test_a_file_in_the_folders_place_is_refused(one: Trainer, plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TrainError, match="is a file"):
        one.start(Plan(data=tmp_path / "file"))
    assert Plan(data=tmp_path / "none").needs_download
    assert not plan.needs_download


PARENT = """
import sys, time
from pathlib import Path
from core.runs.local_training import Plan, Trainer
trainer = Trainer()
trainer.start(Plan(data=Path(sys.argv[1]), images=300, epochs=5_000, batch=30, width=24, layers=1, tokens="patches", patch=7))
print(trainer._process.pid, trainer._work, flush=True)
time.sleep(600)
"""


def running(pid: int) -> bool:
    """Whether there is a process of that number; one that has ended and waits for its parent does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux's /proc which processes there are")
@pytest.mark.parametrize("end", [signal.SIGKILL])  # a signal that it cannot answer, so the hardest case
def test_training_ends_with_the_process_that_started_it(plan: Plan, end: signal.Signals) -> None:
    """However that ends; nothing of the run is left on the disk."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(plan.data)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, work = parent.stdout.readline().split()
    try:
        over = time.monotonic() + PATIENCE
        while not (Path(work) / "progress.json").exists() and running(int(pid)) and time.monotonic() < over:
            time.sleep(0.05)
        assert running(int(pid))
        parent.send_signal(end)
        parent.wait()
        while (running(int(pid)) or Path(work).exists()) and time.monotonic() < over:
            time.sleep(0.05)
        assert not running(int(pid)) and not Path(work).exists()
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def test_only_the_folders_that_are_set_are_trained_from(
    one: Trainer, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(data_folders.SETTING)
    assert data_folders.folders() == [data_folders.BUNDLED, data_folders.DEFAULT]
    with pytest.raises(TrainError, match="may not train from"):
        one.start(plan)
    monkeypatch.setenv(data_folders.SETTING, os.pathsep.join([str(tmp_path / "a"), "", str(tmp_path / "b")]))
    assert data_folders.folders() == [tmp_path / "a", tmp_path / "b"]
    assert data_folders.allowed(tmp_path / "b") and not data_folders.allowed(tmp_path) and not data_folders.allowed(plan.data)


def test_the_command_is_that_of_training(tmp_path: Path) -> None:
    words = Plan(data=tmp_path).arguments(tmp_path)
    assert words[:2] == ["train", "vit"]
    assert words[words.index("--name") + 1] == NAME
