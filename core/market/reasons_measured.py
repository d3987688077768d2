"""The deletion test of `core.market.reasons` by market, which the terminal reads.

`python -m lab.bundle.reasons` wrote the file at commit 8c6e8d09; of other weights nothing is said.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.explain.faithfulness import FOLDER, read_measured
from core.market.labels import Head
from core.market.predictor import names_it

Interval = tuple[float, float, float]
"""A mean and the bounds of its 95 % interval; NaN bounds for fewer than two windows."""


@dataclass(frozen=True, kw_only=True)
class MarketTest:
    """One market's test.

    Attributes:
        name: venue and symbol. windows: that were tested, none of which overlap.
        areas: by head, the area below that of all orders when the groups go by what they give; above 0 they beat chance.
        gives: by head, mean size of what each group gives. dead: the most that size added and removed at the best prices gave.
    """

    name: str
    windows: int
    areas: tuple[Interval, ...]
    gives: tuple[tuple[float, ...], ...]
    dead: float

    def beats_chance(self, head: int) -> bool:
        """Whether the whole interval of a head's area lies above 0."""
        return self.areas[head][1] > 0


@dataclass(frozen=True, kw_only=True)
class ReasonsTest:
    """The tests of one checkpoint: its weights, the command, its heads in the order of the numbers."""

    weights_sha256: str
    command: str
    heads: tuple[Head, ...]
    markets: tuple[MarketTest, ...]

    def of_market(self, spelling: str) -> MarketTest | None:
        """The test of the market that a feed's key and symbol name; of spot and perpetual the one whose name says more."""
        named = [one for one in self.markets if all(names_it(spelling, word) for word in one.name.split())]
        return max(named, key=lambda one: len(one.name), default=None)


def path_of(checkpoint: str, *, folder: Path = FOLDER) -> Path:
    """Path of a checkpoint's tests."""
    return folder / f"reasons_{checkpoint}.json"


def read(checkpoint: str, weights_sha256: str, *, folder: Path = FOLDER) -> ReasonsTest | None:
    """The tests of a checkpoint; None where these weights were not tested.

    Raises:
        FindingError: where the file is damaged.
    """

    def test(values: dict[str, Any]) -> ReasonsTest:
        markets = tuple(
            MarketTest(
                name=str(one["name"]),
                windows=int(one["windows"]),
                areas=tuple((float(mean), float(low), float(high)) for mean, low, high in one["areas"]),
                gives=tuple(tuple(map(float, of_head)) for of_head in one["gives"]),
                dead=float(one["dead"]),
            )
            for one in values["markets"]
        )
        heads = tuple((kind, int(horizon)) for kind, horizon in values["heads"])
        return ReasonsTest(
            weights_sha256=str(values["weights_sha256"]), command=str(values["command"]), heads=heads, markets=markets
        )

    path = path_of(checkpoint, folder=folder)
    found = read_measured(path, test, f"git checkout assets/explain/{path.name}")
    return found if found is not None and found.weights_sha256 == weights_sha256 else None
