"""The measured curve of score against amount of training data (docs/scoring_and_training.md)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).resolve().parents[2] / "assets" / "forecasters" / "data_amount.json"


@cache
def read_curve(file: Path = FILE) -> dict[str, Any] | None:
    """The curve; None where none was measured.

    Returns:
        `market`, `command`, and `rows`: one per amount, with `minutes`, `outcomes` and the log-losses `trained`, `nothing`
        (trained from nothing), `start` and `frequencies`, means over labels and horizons.
    """
    if not file.exists():
        return None
    curve: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return curve


def enough_outcomes(curve: dict[str, Any] | None, *, from_start: bool) -> int | None:
    """Outcomes of training that do not overlap, from which on every amount measured made training worth it.

    Worth it is a lower log-loss than the classes' frequencies, and than the starting checkpoint where there is one.

    Returns:
        None where no curve was measured, or none of its amounts was enough.
    """
    enough = None
    for row in sorted(curve["rows"] if curve is not None else [], key=lambda row: -row["minutes"]):
        mine = row["trained" if from_start else "nothing"]
        if mine >= row["frequencies"] or (from_start and mine >= row["start"]):
            break
        enough = int(row["outcomes"])
    return enough
