"""A callback that writes a run's progress to a JSON file, by which another process can watch and stop the run."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core.training.loop import Callback, LoopSettings, TrainingProgress

EVERY_S = 0.5


def progress_file(path: Path, settings: LoopSettings, *, every_s: float = EVERY_S) -> Callback:
    """Write the progress to `path`, at most every `every_s` seconds and after every epoch.

    The file holds `total` (steps), `epochs`, `elapsed` (seconds since the first step) and the fields of `TrainingProgress`; NaN
    and infinity become null. It is replaced atomically. Creating a file of the same name with the suffix `.stop` ends the run,
    whose result is then its best epoch so far.
    """
    began = last = -math.inf

    def write(event: str, progress: TrainingProgress) -> bool:
        nonlocal began, last
        now = time.monotonic()
        began = now if began == -math.inf else began
        if event == "step" and now - last < every_s:
            return False
        last = now
        values = asdict(progress) | {
            "total": settings.epochs * settings.steps_per_epoch,
            "epochs": settings.epochs,
            "elapsed": round(now - began, 2),
        }
        write_values(path, values)
        return path.with_suffix(".stop").exists()

    return write


def write_values(path: Path, values: Mapping[str, Any]) -> None:
    """Replace a JSON file atomically; NaN and infinity become null."""
    clean = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
    partial = path.with_suffix(".partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.write_text(json.dumps(clean), encoding="utf-8")
    partial.replace(path)
