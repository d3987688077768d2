"""A command of `python -m core` that the app runs beside itself: one at a time, in a process of its own, watched by its files.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from core.messages import Refusal

ROOT: Final = Path(__file__).resolve().parents[2]
ATTACHED: Final = (sys.executable, "-m", "core.runs.attached")
PROGRESS: Final = "progress.json"

Phase = Literal["idle", "starting", "running", "finished", "failed"]


class RunError(Refusal, ValueError):
    """A run that cannot be started; the message says why."""


class RunPlan(Protocol):
    """The settings of a run."""

    def check(self) -> None:
        """Raise a `RunError` where it cannot be started."""
        ...

    def arguments(self, work: Path) -> list[str]:
        """The arguments of `python -m core`; the command writes into `work`, its progress into `PROGRESS` there."""
        ...


P = TypeVar("P", bound=RunPlan)


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """The state of the run.

    Attributes:
        plan: None where there is no run.
        step, total: of the work done and planned, in bytes. epoch, epochs: likewise, in recordings.
        elapsed_s: seconds since the first step.
        message: the newest line of the run's output: what it is doing, or why it failed.
    """

    phase: Phase = "idle"
    plan: Any = None
    step: int = 0
    total: int = 0
    epoch: int = 0
    epochs: int = 0
    elapsed_s: float = 0.0
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
        return None if self.step < 2 else self.elapsed_s / self.step * (self.total - self.step)


class LocalRun(Generic[P]):
    """Starts, watches and stops one run at a time. Safe to call from several threads.

    Args:
        prefix: of the temporary folder's name.
        command: runs a command of `python -m core` that ends with this process; is given the run's folder and the arguments.
    """

    def __init__(self, *, prefix: str = "run-", command: tuple[str, ...] = ATTACHED) -> None:
        self._prefix, self._command = prefix, command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._work: Path | None = None
        self._plan: P | None = None
        atexit.register(self.close)

    def start(self, plan: P) -> None:
        """Begin a run; the files of an earlier one are removed.

        Raises:
            RunError: where one is still running, or the plan cannot be started.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                raise RunError("a run is under way already: stop it first")
            plan.check()
            self._drop()
            self._work, self._plan = Path(tempfile.mkdtemp(prefix=self._prefix)), plan
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
        return RunStatus(
            phase=phase,
            plan=self._plan,
            step=progress.get("step", 0),
            total=progress.get("total", 0),
            epoch=progress.get("epoch", 0),
            epochs=progress.get("epochs", 0),
            elapsed_s=progress.get("elapsed", 0.0),
            message=message,
        )

    @property
    def work(self) -> Path | None:
        """The run's folder; None where there is no run."""
        with self._lock:
            return self._work

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
    """The progress file of a run, see `core.training.progress.write_values`; empty before there is one."""
    try:
        progress: dict[str, Any] = json.loads((work / PROGRESS).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return progress


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
