"""The deletion test of `core.market.reasons` by market, which the terminal reads.

`python -m lab.bundle.reasons` wrote the file at commit 8c6e8d09; of other weights nothing is said.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.explain.faithfulness import FOLDER, read_measured
from core.market.predictor import names_it


@dataclass(frozen=True, kw_only=True)
class MarketTest:
    """One market's test.

    Attributes:
        name: venue and symbol. windows: that were tested, none of which overlap.
        areas: by head, the area below that of all orders when the groups go by what they give, and the bounds of its 95 %
            interval, NaN for fewer than two windows; where the whole interval lies above 0 they beat chance.
    """

    name: str
    windows: int
    areas: tuple[tuple[float, float, float], ...]


def read(spelling: str, checkpoint: str, weights_sha256: str, *, folder: Path = FOLDER) -> MarketTest | None:
    """The test of the market that a feed's key and symbol name; of spot and perpetual the one whose name says more.

    None where it was not tested with these weights.

    Raises:
        FindingError: where the checkpoint's file is damaged.
    """

    def tests(values: dict[str, Any]) -> list[MarketTest]:
        markets = values["markets"] if values["weights_sha256"] == weights_sha256 else ()
        return [
            MarketTest(
                name=str(one["name"]),
                windows=int(one["windows"]),
                areas=tuple((float(mean), float(low), float(high)) for mean, low, high in one["areas"]),
            )
            for one in markets
        ]

    path = folder / f"reasons_{checkpoint}.json"
    found = read_measured(path, tests, f"git checkout assets/explain/{path.name}") or []
    named = [one for one in found if all(names_it(spelling, word) for word in one.name.split())]
    return max(named, key=lambda one: len(one.name), default=None)
