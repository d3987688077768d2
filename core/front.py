"""The front page's content: one answer of each shipped model, computed beforehand, and the scores that the cards hold.

`scripts/front_page.py` runs the models and writes the file; a test runs them again and compares. Nothing here loads torch, so
that the page is there at once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, Final

ASSETS: Final = Path(__file__).resolve().parents[1] / "assets"
FILE: Final = ASSETS / "front.json"
HEAD: Final = ("forward", 50)
"""Label and horizon (D24) of the market's picture and of its score."""


@cache
def answers() -> dict[str, Any]:
    """The file: `market`, `photograph`, `signs` and `lecture`, as `scripts.front_page` makes them. Shared: do not write to it."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


@dataclass(frozen=True, kw_only=True)
class TodaysScores:
    """Scores of the shipped models on data that they did not learn from, by their cards.

    Attributes:
        tlob, momentum: Matthews correlation of `HEAD`, mean over the markets tested (D31).
        photographs: share answered rightly, of this many `photographs_count` (D30).
        word_errors: word error rate (D20a) on this many real sentences `sentences`.
    """

    tlob: float
    momentum: float
    photographs: float
    photographs_count: int
    word_errors: float
    sentences: int


@cache
def scores() -> TodaysScores:
    """The scores of the cards.

    Raises:
        KeyError, OSError: where a card lacks one, or is missing.
    """
    rows = [row for market in _metrics("tlob")["test"].values() for row in market if (row["label"], row["horizon"]) == HEAD]
    photographs, sentences = _metrics("cct")["photographs"], _metrics("iiga_asl")["test"]
    return TodaysScores(
        tlob=fmean(row["matthews"] for row in rows),
        momentum=fmean(row["baselines"]["momentum"]["matthews"] for row in rows),
        photographs=photographs["accuracy"],
        photographs_count=photographs["samples"],
        word_errors=sentences["wer"],
        sentences=sentences["sentences"],
    )


def _metrics(name: str) -> dict[str, Any]:
    card = json.loads((ASSETS / "checkpoints" / f"{name}.json").read_text(encoding="utf-8"))
    return dict(card["metrics"])
