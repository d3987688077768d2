"""A callback that keeps a small JSON file up to date, so that another process can watch a run, and stop it."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from pathlib import Path

from core.training.loop import Callback, LoopSettings, TrainingProgress

EVERY_S = 0.5


def progress_file(path: Path, settings: LoopSettings, *, every_s: float = EVERY_S) -> Callback:
    """Write how the run stands to `path`, at most every `every_s` seconds and after every epoch.

    The file holds `total` (steps), `epochs`, `elapsed` (seconds since the first step) and `Progress`'s fields; what is not a
    number yet is null. It is replaced in one move, so that a reader never sees half of it. Where a file of the same name ending
    in `.stop` appears, the run ends, and its best epoch so far is its result.
    """
    began = last = -math.inf

    def write(event: str, progress: TrainingProgress) -> bool:
        nonlocal began, last
        now = time.monotonic()
        began = now if began == -math.inf else began
        if event == "step" and now - last < every_s:
            return False
        last = now
        told = asdict(progress) | {
            "total": settings.epochs * settings.steps_per_epoch,
            "epochs": settings.epochs,
            "elapsed": round(now - began, 2),
        }
        clean = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in told.items()}
        partial = path.with_suffix(".partial")
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(clean), encoding="utf-8")
        partial.replace(path)
        return path.with_suffix(".stop").exists()

    return write
