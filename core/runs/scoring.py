"""Scoring recordings while the app runs, by `python -m core evaluate tlob` (`core.runs.local_run`)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pandas as pd

from core import checkpoints
from core.runs.local_run import ATTACHED, PROGRESS, LocalRun, RunError

OUT: Final = "report"
BUNDLED: Final = Path(__file__).resolve().parents[2] / "assets" / "experiments" / "score"
"""Report on two bundled recordings, shown until a run is started; `docs/scoring_and_training.md` has the command."""


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


class Scorer(LocalRun[ScorePlan]):
    """Starts, watches and stops one scoring at a time, and reads what it wrote."""

    def __init__(self, *, command: tuple[str, ...] = ATTACHED) -> None:
        super().__init__(prefix="scores-", command=command)

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

    def file(self, name: str) -> Path | None:
        """A file of the finished report."""
        work = self.work
        path = BUNDLED / name if work is None else work / OUT / name
        return path if path is not None and path.exists() and not self.status().running else None
