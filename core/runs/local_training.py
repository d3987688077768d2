"""A small ViT trained on this machine while the app runs: one run a process, as a command of its own, watched by its files.

Training is another process (`python -m core train vit`), so it neither slows the pages nor ends when a visitor goes elsewhere,
and what the page shows of it can be repeated by the command in the checkpoint's card.
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
from core.vision.idx import missing

ROOT = Path(__file__).resolve().parents[2]
NAME = "vit-here"
TRAIN_FILES = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")

Phase = Literal["idle", "starting", "training", "finishing", "finished", "failed"]


class TrainError(ValueError):
    """A wish that cannot be met; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to train.

    Attributes:
        data: folder of the IDX files; fetched into it where missing.
        images: of the training file, validation included; a multiple of 100.
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
    def to_fetch(self) -> bool:
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
        return ["train", "vit", *(word for key, value in named.items() for word in (f"--{key}", str(value))), "--no-test"]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How the run stands.

    Attributes:
        step, total: optimiser steps done and planned. epoch, epochs: likewise.
        elapsed_s: since the first step. remaining_s: at the pace so far, None before there is one.
        loss: of the newest step, None before it.
        history: a row an epoch, as in a card.
        said: the newest line of the run's own output: what it is doing, or why it failed.
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
    said: str = ""

    @property
    def running(self) -> bool:
        """Whether the process is at work."""
        return self.phase in ("starting", "training", "finishing")

    @property
    def share(self) -> float:
        """Done so far, 0 to 1."""
        return min(1.0, self.step / self.total) if self.total else 0.0

    @property
    def remaining_s(self) -> float | None:
        """Seconds to go at the pace so far."""
        return None if self.step < 2 else self.elapsed_s / self.step * (self.total - self.step)


class Trainer:
    """Starts, watches, stops and keeps one run at a time. Safe to call from several threads."""

    def __init__(self, *, command: tuple[str, ...] = (sys.executable, "-m", "core")) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._work: Path | None = None
        self._plan: Plan | None = None
        atexit.register(self.close)

    def start(self, plan: Plan) -> None:
        """Begin a run; an earlier one's unkept result is dropped.

        Raises:
            TrainError: where one is still running, or the folder cannot be used.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                raise TrainError(compose("a run is under way already: stop it first"))
            if plan.data.exists() and not plan.data.is_dir():
                raise TrainError(compose("{folder} is a file: name the folder that holds the four IDX files", folder=plan.data))
            self._drop()
            self._plan, self._work = plan, Path(tempfile.mkdtemp(prefix="vit-here-"))
            with (self._work / "output").open("wb") as output:
                self._process = subprocess.Popen(
                    [*self._command, *plan.arguments(self._work)],
                    cwd=ROOT,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
                )

    def stop(self) -> None:
        """Ask the run to end with its best epoch so far; before its first epoch has ended there is none, and it is dropped."""
        with self._lock:
            if self._work is not None and self._process is not None and self._process.poll() is None:
                if self._told(self._work).get("history"):
                    (self._work / "progress.stop").touch()
                else:
                    self._end()
                    self._drop()

    def standing(self) -> Standing:
        """How the run stands now."""
        with self._lock:
            if self._process is None or self._work is None:
                return Standing()
            told, code = self._told(self._work), self._process.poll()
            said = _last_line(self._work / "output")
            stopping = (self._work / "progress.stop").exists()
        phase: Phase = "training" if told else "starting"
        if code is None and told and (stopping or told["step"] >= told["total"]):
            phase = "finishing"
        elif code is not None:
            phase = "finished" if code == 0 else "failed"
        return Standing(
            phase=phase,
            plan=self._plan,
            step=told.get("step", 0),
            total=told.get("total", 0),
            epoch=told.get("epoch", 0),
            epochs=told.get("epochs", 0),
            elapsed_s=told.get("elapsed", 0.0),
            loss=told.get("loss"),
            history=told.get("history", []),
            said=said,
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
        if self._work is not None:
            shutil.rmtree(self._work, ignore_errors=True)
        self._process = self._work = self._plan = None

    @staticmethod
    def _told(work: Path) -> dict[str, Any]:
        try:
            told: dict[str, Any] = json.loads((work / "progress.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return told


def _last_line(path: Path) -> str:
    """The newest line of a log, where a progress bar's redrawings count as lines."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        text = file.read().decode("utf-8", "replace")
    lines = [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]
    return lines[-1].removeprefix("python -m core train: ") if lines else ""


_shared: Trainer | None = None
_shared_lock = threading.Lock()


def trainer() -> Trainer:
    """The process's one trainer, which every visitor's page shows."""
    global _shared
    with _shared_lock:
        _shared = _shared or Trainer()
        return _shared


def wait(one: Trainer, seconds: float) -> Standing:
    """Until the run ends, or the seconds are over."""
    until = time.monotonic() + seconds
    while one.standing().running and time.monotonic() < until:
        time.sleep(0.1)
    return one.standing()
