"""`train tlob --ray`: one run that several workers of a Ray cluster share."""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from core import checkpoints
from core.parallel import Tell, together
from core.training.loop import Callback, TrainingProgress
from core.training.progress_file import EVERY_S

Compute = Callable[..., Path]
"""Trains by a command's options and `callbacks`."""
WORKERS = 2


@dataclass(frozen=True, kw_only=True)
class SharedRun:
    """What each worker needs: the function, the command's options with whole paths, and the command's words."""

    compute: Compute
    options: argparse.Namespace
    words: list[str]


def train_on_ray(compute: Compute, o: argparse.Namespace, callbacks: Iterable[Callback]) -> Path:
    """Train on `--workers` workers of the cluster at `--ray`; returns the card's path.

    The state is kept after every epoch, so that a worker's death costs the epoch that had begun.

    Raises:
        ValueError: for no workers, or where the run refuses its data or options. OSError: where workers die again and again.
    """
    workers = WORKERS if o.workers is None else o.workers
    if workers < 1 or o.batch % workers:
        raise ValueError(f"a batch of {o.batch} is not shared equally by {workers} workers: give a multiple")
    called = list(callbacks)

    def show(item: tuple[str, TrainingProgress]) -> None:
        for callback in called:
            callback(*item)

    with tempfile.TemporaryDirectory(prefix="shared-run-") as spare:
        there = copy.copy(o)
        there.folder, there.state = (o.folder or checkpoints.FOLDER).resolve(), (o.state or Path(spare) / "state").resolve()
        for name in ("start", "teacher"):
            path: Path | None = getattr(o, name)
            setattr(there, name, path and path.resolve())
        run = SharedRun(compute=compute, options=there, words=list(sys.argv))
        together(member, run, ray=o.ray, workers=workers, told=show)
    return Path(there.folder, f"{o.name}.json")


def member(run: SharedRun, tell: Tell) -> None:
    """One worker's part."""
    sys.argv[:] = run.words  # by which the card names the command
    last = 0.0

    def report(event: str, progress: TrainingProgress) -> None:
        nonlocal last
        if event == "epoch" or time.monotonic() - last > EVERY_S:
            last = time.monotonic()
            tell((event, copy.deepcopy(progress)))

    run.compute(run.options, callbacks=[report])
