"""The front page's content: one answer of each shipped model, computed beforehand, and the scores that the cards hold.

`scripts/front_page.py` runs the models and writes the file; a test runs them again and compares. Nothing here loads torch, so
that the page is there at once.
"""

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
TREES: Final = 0.138
"""Matthews correlation of gradient-boosted trees at `HEAD`, mean over the markets tested: the strongest peer measured. Their code
is no part of the program any more; docs/results.md has the values and the commit."""


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
    tlob, momentum = mean_matthews(_metrics("tlob"), *HEAD)
    photographs, sentences = _metrics("cct")["photographs"], _metrics("iiga_asl")["test"]
    return TodaysScores(
        tlob=tlob,
        momentum=momentum,
        photographs=photographs["accuracy"],
        photographs_count=photographs["samples"],
        word_errors=sentences["wer"],
        sentences=sentences["sentences"],
    )


def mean_matthews(metrics: dict[str, Any], label: str, horizon: int) -> tuple[float, float]:
    """Matthews correlation of a market model and of momentum at a head, mean over the test parts in the model's card.

    Raises:
        KeyError, StatisticsError: where the card has no test of it.
    """
    rows = [row for market in metrics["test"].values() for row in market if (row["label"], row["horizon"]) == (label, horizon)]
    return fmean(row["matthews"] for row in rows), fmean(row["baselines"]["momentum"]["matthews"] for row in rows)


def _metrics(name: str) -> dict[str, Any]:
    card = json.loads((ASSETS / "checkpoints" / f"{name}.json").read_text(encoding="utf-8"))
    return dict(card["metrics"])
