"""Training a small ViT on this machine while the app runs: one run at a time, in a process of its own, watched by its files.

The process runs `python -m core train vit`, so that it neither slows the pages nor ends when a visitor goes elsewhere, and the
command in the checkpoint's card repeats the run. It ends with the app (`core.runs.attached`).
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
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core import checkpoints
from core.messages import compose
from core.runs import data_folders
from core.vision.idx import missing

ROOT = Path(__file__).resolve().parents[2]
NAME = "vit-here"
TRAIN_FILES = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")

Phase = Literal["idle", "starting", "training", "finishing", "finished", "failed"]


class TrainError(ValueError):
    """A run that cannot be started, or a result that cannot be kept; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The settings of a run.

    Attributes:
        data: folder of the IDX files; downloaded into it where missing.
        images: taken of the training file, validation included; a multiple of 100.
        epochs, batch, rate, seed: of the run. patch, width, heads, layers: of the model (its FFN is twice as wide).
    """

    data: Path
    images: int = 6_000
    epochs: int = 5
    batch: int = 64
    rate: float = 1e-3
    patch: int = 4
    width: int = 48
    heads: int = 2
    layers: int = 3
    seed: int = 0

    @property
    def needs_download(self) -> bool:
        """Whether the folder lacks the training files."""
        return bool(missing(self.data, TRAIN_FILES))

    def arguments(self, work: Path) -> list[str]:
        """The command's arguments, writing into `work`."""
        named = {
            "data": self.data,
            "name": NAME,
            "folder": work,
            "progress": work / "progress.json",
            "images": self.images,
            "epochs": self.epochs,
            "batch": self.batch,
            "rate": self.rate,
            "warmup": max(20, self.images * self.epochs // self.batch // 10),
            "ema": 0.99,
            "patch": self.patch,
            "width": self.width,
            "heads": self.heads,
            "layers": self.layers,
            "hidden": 2 * self.width,
            "init": "plain",
            "seed": self.seed,
        }
        return ["train", "vit", *(part for key, value in named.items() for part in (f"--{key}", str(value))), "--no-test"]


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """The state of the run.

    Attributes:
        step, total: optimiser steps done and planned. epoch, epochs: likewise.
        elapsed_s: seconds since the first step.
        loss: of the newest step, None before the first.
        history: one row per epoch, as in a card.
        message: the newest line of the run's output: what it is doing, or why it failed.
    """

    phase: Phase = "idle"
    plan: Plan | None = None
    step: int = 0
    total: int = 0
    epoch: int = 0
    epochs: int = 0
    elapsed_s: float = 0.0
    loss: float | None = None
    history: list[dict[str, float]] = field(default_factory=list)
    message: str = ""

    @property
    def running(self) -> bool:
        """Whether the process is at work."""
        return self.phase in ("starting", "training", "finishing")

    @property
    def share(self) -> float:
        """Share of the steps that are done, 0 to 1."""
        return min(1.0, self.step / self.total) if self.total else 0.0

    @property
    def remaining_s(self) -> float | None:
        """Seconds to go at the pace so far; None before there is one."""
        return None if self.step < 2 else self.elapsed_s / self.step * (self.total - self.step)


class Trainer:
    """Starts, watches, stops and keeps one run at a time. Safe to call from several threads.

    Args:
        command: runs a command of `python -m core` that ends with this process; is given the run's folder and the arguments.
    """

    def __init__(self, *, command: tuple[str, ...] = (sys.executable, "-m", "core.runs.attached")) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._work: Path | None = None
        self._plan: Plan | None = None
        atexit.register(self.close)

    def start(self, plan: Plan) -> None:
        """Begin a run; the result of an earlier one is removed unless it was kept.

        Raises:
            TrainError: where one is still running, or the folder is no folder or not one of the allowed.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                raise TrainError(compose("a run is under way already: stop it first"))
            if not data_folders.allowed(plan.data):
                raise TrainError(
                    compose(
                        "this app may not train from {folder}: whoever runs it can allow that by {setting}",
                        folder=plan.data,
                        setting=data_folders.SETTING,
                    )
                )
            if plan.data.exists() and not plan.data.is_dir():
                raise TrainError(compose("{folder} is a file: name the folder that holds the four IDX files", folder=plan.data))
            self._drop()
            self._plan, self._work = plan, Path(tempfile.mkdtemp(prefix="vit-here-"))
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
        """Let the run end with its best epoch so far; before the end of its first epoch there is none, and it is removed."""
        with self._lock:
            if self._work is not None and self._process is not None and self._process.poll() is None:
                if _progress(self._work).get("history"):
                    (self._work / "progress.stop").touch()
                else:
                    self._end()
                    self._drop()

    def status(self) -> RunStatus:
        """The state of the run now."""
        with self._lock:
            if self._process is None or self._work is None:
                return RunStatus()
            progress, code = _progress(self._work), self._process.poll()
            message = _last_line(self._work / "output")
            stopping = (self._work / "progress.stop").exists()
        phase: Phase = "training" if progress else "starting"
        if code is None and progress and (stopping or progress["step"] >= progress["total"]):
            phase = "finishing"
        elif code is not None:
            phase = "finished" if code == 0 else "failed"
        return RunStatus(
            phase=phase,
            plan=self._plan,
            step=progress.get("step", 0),
            total=progress.get("total", 0),
            epoch=progress.get("epoch", 0),
            epochs=progress.get("epochs", 0),
            elapsed_s=progress.get("elapsed", 0.0),
            loss=progress.get("loss"),
            history=progress.get("history", []),
            message=message,
        )

    def card(self) -> dict[str, Any] | None:
        """The finished run's card, None where there is none."""
        with self._lock:
            if self._work is None or not (self._work / f"{NAME}.json").exists():
                return None
            return checkpoints.read_card(NAME, folder=self._work)

    def keep(self, name: str, *, folder: Path = checkpoints.FOLDER) -> Path:
        """Put the finished run among the checkpoints; returns the card's path.

        Raises:
            TrainError: where there is none, or the name cannot be used.
        """
        card = self.card()
        if card is None or self._work is None:
            raise TrainError(compose("there is no finished run to keep"))
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", name):
            raise TrainError(
                compose("{name!r} cannot be a checkpoint's name: use up to 40 lower-case letters, digits and hyphens", name=name)
            )
        if (folder / f"{name}.json").exists():
            raise TrainError(compose("there is a checkpoint named {name!r} already: choose another name", name=name))
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._work / f"{NAME}.safetensors", folder / f"{name}.safetensors")
        path = folder / f"{name}.json"
        path.write_text(json.dumps(card | {"name": name}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return path

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
    """The progress file of a run, see `core.training.progress_file`; empty before there is one."""
    try:
        progress: dict[str, Any] = json.loads((work / "progress.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return progress


def _last_line(path: Path) -> str:
    """The newest line of a log, where a progress bar's redrawings count as lines."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        text = file.read().decode("utf-8", "replace")
    lines = [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]
    return lines[-1].removeprefix("python -m core train: ") if lines else ""


_shared: Trainer | None = None
_shared_lock = threading.Lock()


def shared_trainer() -> Trainer:
    """The one trainer of the process, which every visitor's page shows."""
    global _shared
    with _shared_lock:
        _shared = _shared or Trainer()
        return _shared


def wait(trainer: Trainer, seconds: float) -> RunStatus:
    """Wait until the run ends or the seconds are over; returns its state then."""
    until = time.monotonic() + seconds
    while trainer.status().running and time.monotonic() < until:
        time.sleep(0.1)
    return trainer.status()
