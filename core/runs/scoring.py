"""Scoring while the app runs, by `python -m core evaluate tlob` in a process of its own: one at a time, watched by its files.

So it neither slows the pages nor ends when a visitor goes elsewhere, and the same command repeats it from a shell. It ends with
the app (`core.runs.attached`), even where that is killed.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pandas as pd

from core import checkpoints
from core.messages import Refusal

ROOT: Final = Path(__file__).resolve().parents[2]
ATTACHED: Final = (sys.executable, "-m", "core.runs.attached")
OUT: Final = "report"
PROGRESS: Final = "progress.json"
BUNDLED: Final = ROOT / "assets" / "experiments" / "score"
"""Report on two bundled recordings, shown until a run is started; `docs/scoring_and_training.md` has the command."""

Phase = Literal["idle", "starting", "running", "finished", "failed"]


class RunError(Refusal, ValueError):
    """A run that cannot be started; the message says why."""


@dataclass(frozen=True, kw_only=True)
class ScorePlan:
    """Plan of what to score.

    Attributes:
        places: files and folders. models: checkpoints, the first of which sets labels and thresholds.
        label, horizon: one head. every: score every so many-th row. folder: of the checkpoints.
    """

    places: tuple[str, ...]
    models: tuple[str, ...]
    label: str = "forward"
    horizon: int = 10
    every: int = 1
    folder: str = field(default_factory=lambda: str(checkpoints.FOLDER))

    def check(self) -> None:
        """See that there is something to score.

        Raises:
            RunError: where no recording or no checkpoint is chosen.
        """
        if not self.places:
            raise RunError("choose a recording to score")
        if not self.models:
            raise RunError("choose a checkpoint to score")

    def arguments(self, work: Path) -> list[str]:
        """The command's arguments, writing into `work`."""
        words = ["evaluate", "tlob", "--data", *self.places, "--checkpoint", self.models[0], "--folder", self.folder]
        words += ["--label", self.label, "--horizon", str(self.horizon), "--every", str(self.every)]
        words += ["--beside", *self.models[1:]] if self.models[1:] else []
        return [*words, "--out", str(work / OUT), "--progress", str(work / PROGRESS)]


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """The state of the run.

    Attributes:
        plan: None where there is no run.
        step, total: of the work done and planned, in bytes. epoch, epochs: likewise, in recordings.
        elapsed: seconds since the first step.
        message: the newest line of the run's output: what it is doing, or why it failed.
    """

    phase: Phase = "idle"
    plan: ScorePlan | None = None
    step: int = 0
    total: int = 0
    epoch: int = 0
    epochs: int = 0
    elapsed: float = 0.0
    message: str = ""

    @property
    def running(self) -> bool:
        """Tells whether the process is at work."""
        return self.phase in ("starting", "running")

    @property
    def share(self) -> float:
        """Share of the steps that are done, 0 to 1."""
        return min(1.0, self.step / self.total) if self.total else 0.0

    @property
    def remaining_s(self) -> float | None:
        """Seconds to go at the pace so far; None before there is one."""
        return None if self.step < 2 else self.elapsed / self.step * (self.total - self.step)


class Scorer:
    """Starts, watches and stops one scoring at a time, and reads what it wrote. Safe to call from several threads.

    Args:
        command: runs a command of `python -m core` that ends with this process; is given the run's folder and the arguments.
    """

    def __init__(self, *, command: tuple[str, ...] = ATTACHED) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._work: Path | None = None
        self._plan: ScorePlan | None = None
        atexit.register(self.close)

    def start(self, plan: ScorePlan) -> None:
        """Begin a run; the files of an earlier one are removed.

        Raises:
            RunError: where one is still running, or the plan cannot be started.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                raise RunError("a run is under way already: stop it first")
            plan.check()
            self._drop()
            self._work, self._plan = Path(tempfile.mkdtemp(prefix="scores-")), plan
            with (self._work / "output").open("wb") as output:
                self._process = subprocess.Popen(
                    [*self._command, str(self._work), *plan.arguments(self._work)],
                    cwd=ROOT,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.PIPE,
                    env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
                )

    def stop(self) -> None:
        """End the run, if one is under way, and remove its files."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._end()
                self._drop()

    def status(self) -> RunStatus:
        """The state of the run now."""
        with self._lock:
            if self._work is None or self._process is None:
                return RunStatus()
            progress = _progress(self._work)
            code = self._process.poll()
            message = _last_line(self._work / "output")
        phase: Phase = "running" if progress else "starting"
        if code is not None:
            phase = "finished" if code == 0 else "failed"
        return RunStatus(phase=phase, plan=self._plan, message=message, **progress)

    def file(self, name: str) -> Path | None:
        """A file of the finished report."""
        with self._lock:
            path = BUNDLED / name if self._work is None else self._work / OUT / name
        return path if path.exists() and not self.status().running else None

    def answer(self) -> dict[str, Any] | None:
        """Returns the answer that the finished run wrote, before any run the bundled one; None where there is nothing."""
        path = self.file("report.json")
        answer: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path is not None else None
        return answer

    def table(self, name: str) -> pd.DataFrame:
        """A table of the report by name.

        Raises:
            KeyError: where there is none.
        """
        path = self.file(f"{name}.parquet")
        if path is None:
            raise KeyError(name)
        return pd.read_parquet(path)

    def close(self) -> None:
        """End the run, if any, and remove its files."""
        with self._lock:
            self._end()
            self._drop()

    def _end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _drop(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        if self._work is not None:
            shutil.rmtree(self._work, ignore_errors=True)
        self._process = self._work = self._plan = None


def _progress(work: Path) -> dict[str, Any]:
    """Fields of `RunStatus` from the run's progress file (`core.training.progress.write_values`); none before there is one."""
    try:
        progress: dict[str, Any] = json.loads((work / PROGRESS).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return {name: progress[name] for name in ("step", "total", "epoch", "epochs", "elapsed") if name in progress}


def _last_line(path: Path) -> str:
    """The command's own error in a log, else its newest line, where a progress bar's redrawings count as lines."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        text = file.read().decode("utf-8", "replace")
    lines = [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]
    errors = re.findall(r"python -m core \w+: ([^\r\n]+)", text)  # a bar draws itself once more after it
    return errors[-1] if errors else lines[-1] if lines else ""
