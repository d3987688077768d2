"""The experiment on TLOB's number of pairs: what the document says, and what `python -m core pairs` found here.

Source: tlob-architecture sections 1.2 and 7.3, which name neither data, label, horizon, seeds nor spread.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.messages import Refusal

ROOT: Final = Path(__file__).resolve().parents[2]
FILE: Final = ROOT / "assets" / "experiments" / "tlob_pairs.json"
CLAIMED: Final = {1: 0.692, 2: 0.705, 3: 0.710, 4: 0.712, 5: 0.711, 8: 0.710, 12: 0.705}
"""Accuracy by number of pairs as the document has it: 1 to 5 in section 1.2, 4 again with 8 and 12 in section 7.3."""


class ExperimentError(Refusal, ValueError):
    """The file of results is missing or damaged; the message says how to write it again."""


@dataclass(frozen=True, kw_only=True)
class PairsRun:
    """One network.

    Attributes:
        train, test: accuracy of the likeliest class, mean over markets. macro_f1: on the test part.
    """

    pairs: int
    seed: int
    parameters: int
    train: float
    test: float
    macro_f1: float


@dataclass(frozen=True, kw_only=True)
class PairsExperiment:
    """All runs that were finished.

    Attributes:
        command, date: that wrote them. settings: what the runs have in common. data: the files, their day and windows.
        asked: runs that the command asked for. baselines: rule -> test accuracy and macro_f1, mean over markets.
    """

    command: str
    date: str
    settings: dict[str, Any]
    data: list[dict[str, Any]]
    runs: tuple[PairsRun, ...]
    asked: int
    baselines: dict[str, dict[str, float]]

    @property
    def pairs(self) -> list[int]:
        """The numbers of pairs that were run, rising."""
        return sorted({run.pairs for run in self.runs})

    def of(self, pairs: int) -> list[PairsRun]:
        """The runs of one number of pairs, by seed."""
        return sorted((run for run in self.runs if run.pairs == pairs), key=lambda run: run.seed)

    def mean(self, name: str) -> NDArray[np.float64]:
        """A measure's mean over seeds, by number of pairs."""
        return np.array([np.mean([getattr(run, name) for run in self.of(one)]) for one in self.pairs])

    @property
    def test_windows(self) -> int:
        """Windows of all test parts."""
        return sum(int(one["windows"]["test"]) for one in self.data)

    @property
    def spread(self) -> float:
        """The largest difference of test accuracy between two seeds of one number of pairs; NaN where each has one seed."""
        gaps = [max(tests) - min(tests) for one in self.pairs if len(tests := [run.test for run in self.of(one)]) > 1]
        return max(gaps, default=float("nan"))

    @property
    def gain(self) -> float:
        """The largest difference of mean test accuracy between two numbers of pairs."""
        means = self.mean("test")
        return float(means.max() - means.min())


def load(path: Path = FILE) -> PairsExperiment:
    """The results.

    Raises:
        ExperimentError: where the file is missing or damaged.
    """
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        runs = tuple(
            PairsRun(
                pairs=int(row["pairs"]),
                seed=int(row["seed"]),
                parameters=int(row["parameters"]),
                train=float(row["train_accuracy"]),
                test=float(row["test_accuracy"]),
                macro_f1=float(row["test_macro_f1"]),
            )
            for row in values["runs"]
        )
        if not runs:
            raise ValueError("no run was finished")
        settings = dict(values["settings"])
        return PairsExperiment(
            command=str(values["command"]),
            date=str(values["date"]),
            settings=settings,
            data=list(values["data"]),
            runs=runs,
            asked=len(settings["pairs"]) * len(settings["seeds"]),
            baselines={
                rule: {name: float(np.mean([one[name] for one in by_market.values()])) for name in ("accuracy", "macro_f1")}
                for rule, by_market in values["baselines"].items()
            },
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ExperimentError(
            "{file} does not hold the experiment: run `python -m core pairs --out {file} --overwrite` ({reason})",
            file=path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name,
            reason=error,
        ) from error
