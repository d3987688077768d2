"""A run of a command beside the app: watched, stopped, failed, ended with the process that started it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.runs.scoring import ROOT, RunError, RunStatus, ScorePlan, Scorer

PATIENCE = 120.0
COMMAND = """
import json, pathlib, sys, time
work, steps = sys.argv[1], sys.argv[sys.argv.index("--every") + 1]
row = {"step": int(steps), "total": 9, "epoch": 1, "epochs": 3, "elapsed": 2.0, "recording": "a"}
pathlib.Path(work, "progress.json").write_text(json.dumps(row))
print("under way", flush=True)
time.sleep(600 if int(steps) < 9 else 0)
"""


def plan(steps: int) -> ScorePlan:
    """What the command in the test takes for its steps."""
    return ScorePlan(places=("a",), models=("tlob",), every=steps)


@pytest.fixture
def run() -> Iterator[Scorer]:
    made = Scorer(command=(sys.executable, "-c", COMMAND))
    yield made
    made.close()


def until(run: Scorer, phase: str) -> RunStatus:
    over = time.monotonic() + PATIENCE
    while run.status().phase != phase and time.monotonic() < over:
        time.sleep(0.02)
    return run.status()


def test_a_run_is_watched_and_stopped_and_leaves_nothing(run: Scorer) -> None:
    assert run.status() == RunStatus()
    run.start(plan(3))
    status = until(run, "running")
    assert (status.share, status.remaining_s, status.epochs) == (pytest.approx(1 / 3), pytest.approx(4.0), 3)
    work = run._work
    assert work is not None and json.loads((work / "progress.json").read_text())["step"] == 3
    with pytest.raises(RunError, match="under way"):
        run.start(plan(3))
    run.stop()
    assert not work.exists() and run.status() == RunStatus()


def test_a_plan_that_cannot_begin_loses_nothing_and_a_new_one_begins_afresh(run: Scorer) -> None:
    run.start(plan(9))
    first = run._work
    assert until(run, "finished").message == "under way" and first is not None
    run.stop()  # what is over is not ended
    with pytest.raises(RunError, match="choose a checkpoint"):
        run.start(ScorePlan(places=("a",), models=()))
    assert run.status().step == 9 and first.exists()
    run.start(plan(3))
    assert until(run, "running").step == 3 and not first.exists()


def test_a_run_that_fails_says_why_whatever_its_bar_draws_after_it() -> None:
    code = "print('tlob: 50%\\rpython -m core train: the disk is full\\ntlob: 100%'); raise SystemExit(1)"
    run = Scorer(command=(sys.executable, "-c", code))
    run.start(plan(1))
    assert until(run, "failed").message == "the disk is full"
    run.close()


PARENT = """
import sys, time
from core.runs.scoring import Scorer, ScorePlan
scorer = Scorer()
scorer.start(ScorePlan(places=(sys.argv[1],), models=("tlob",)))
print(scorer._process.pid, scorer._work, flush=True)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    """Whether there is a process of that number; one that has ended and waits for its parent does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux's /proc which processes there are")
def test_a_scoring_ends_with_the_process_that_started_it() -> None:
    """Killed, which no process can answer; nothing of the run is left on the disk."""
    hour = ROOT / "assets" / "recordings" / "binance_spot_nexousdt_2024-07-24.parquet"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(hour)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, work = parent.stdout.readline().split()
    try:
        over = time.monotonic() + PATIENCE
        while not (Path(work) / "progress.json").exists() and alive(int(pid)) and time.monotonic() < over:
            time.sleep(0.05)
        assert alive(int(pid))
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        while (alive(int(pid)) or Path(work).exists()) and time.monotonic() < over:
            time.sleep(0.05)
        assert not alive(int(pid)) and not Path(work).exists()
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
