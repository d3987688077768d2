"""A recording's scores as a task: what `score_day` needs, without an open file or a loaded model, for another process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from core.device import use_one_thread
from core.market.labels import Head
from core.market.predictor import Predictor, load_predictor
from core.market.scoring.recordings import RecordedDay
from core.market.scoring.rows import ScoredDay, score_day


@dataclass(frozen=True, kw_only=True)
class ScoreTask:
    """Settings for scoring one recording.

    Attributes:
        names, folder: checkpoints, the first of which sets labels and thresholds, and where they are.
        forecasters, head, market, every, part: as for `score_day`.
    """

    day: RecordedDay
    names: Sequence[str]
    folder: Path
    forecasters: Sequence[str]
    head: Head
    market: str | None = None
    every: int = 1
    part: str = "auto"


def score(task: ScoreTask) -> ScoredDay:
    """Score one recording.

    Raises:
        As `score_day`.
    """
    use_one_thread()
    models = {name: _predictor(name, task.folder) for name in task.names}
    return score_day(task.day, models, task.forecasters, task.head, market=task.market, every=task.every, part=task.part)


@lru_cache(maxsize=8)
def _predictor(name: str, folder: Path) -> Predictor:
    return load_predictor(name, folder=folder)
