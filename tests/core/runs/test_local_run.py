"""A run whose folder is kept: it ends with its app, and the next app finds it and resumes it."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.runs.local_run import STOP, LocalRun, RunStatus, TrainError

COMMAND = """
import json, pathlib, sys
kept, work, steps = sys.argv[1:]
work = pathlib.Path(work)
with (work / "starts").open("a") as file:
    file.write(kept + "\\n")
row = {"step": int(steps), "total": 9, "epoch": 1, "epochs": 3, "elapsed": 2.0, "history": [{"epoch": 0}]}
(work / "progress.json").write_text(json.dumps(row))
print("under way", flush=True)
while int(steps) < 9 and not (work / "progress.stop").exists() and sys.stdin.read(0) == "":
    import time; time.sleep(0.02)
"""


@dataclass(frozen=True, kw_only=True)
class Steps:
    steps: int

    def check(self) -> None:
        if self.steps < 1:
            raise TrainError("no step")

    def arguments(self, work: Path) -> list[str]:
        return [str(work), str(self.steps)]


def made(folder: Path | None) -> LocalRun[Steps]:
    return LocalRun(command=(sys.executable, "-c", COMMAND), folder=folder)


def until(run: LocalRun[Steps], phase: str) -> RunStatus:
    over = time.monotonic() + 60
    while run.status().phase != phase and time.monotonic() < over:
        time.sleep(0.02)
    return run.status()


def test_a_kept_run_is_found_and_resumed_by_the_next_app(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    first = made(folder)
    assert first.status().phase == "idle"
    first.start(Steps(steps=3))
    assert until(first, "training").share == pytest.approx(1 / 3)
    with pytest.raises(TrainError, match="under way"):
        first.start(Steps(steps=3))
    first.close()
    second = made(folder)
    status = second.status()
    assert (status.phase, status.step, status.history) == ("stopped", 3, [{"epoch": 0}])
    (folder / STOP).touch()
    second.start(Steps(steps=9), resume=True)
    assert not (folder / STOP).exists()
    assert until(second, "finished").phase == "finished"
    assert (folder / "starts").read_text() == "-\n-\n"  # what `core.runs.attached` must not remove


def test_a_stopped_run_says_so_and_a_new_one_begins_afresh(tmp_path: Path) -> None:
    run = made(tmp_path / "runs")
    run.start(Steps(steps=3))
    until(run, "training")
    run.stop()
    assert until(run, "stopped").message == "under way"
    with pytest.raises(TrainError, match="no step"):
        run.start(Steps(steps=0))
    assert run.status().step == 3  # nothing is lost by a plan that cannot begin
    run.start(Steps(steps=9))
    assert until(run, "finished").step == 9
    assert (tmp_path / "runs" / "starts").read_text() == "-\n"
    run.close()


def test_a_run_that_fails_says_why_whatever_its_bar_draws_after_it(tmp_path: Path) -> None:
    code = "print('tlob: 50%\\rpython -m core train: the disk is full\\ntlob: 100%'); raise SystemExit(1)"
    run = LocalRun[Steps](command=(sys.executable, "-c", code), folder=tmp_path / "runs")
    run.start(Steps(steps=1))
    assert until(run, "failed").message == "the disk is full"
    run.close()


def test_a_run_without_a_folder_of_its_own_leaves_nothing() -> None:
    run = made(None)
    run.start(Steps(steps=3))
    until(run, "training")
    work = run.work
    assert work is not None and json.loads((work / "progress.json").read_text())["step"] == 3
    assert (work / "starts").read_text() == f"{work}\n"
    run.close()
    assert not work.exists() and run.status().phase == "idle"
