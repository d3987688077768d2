"""Deletion curves: how fast the output falls when the parts that a method calls important are deleted, compared with chance.

Source: Petsiuk, Das and Saenko 2018, "RISE", section 4.2 (the deletion metric).

A curve starts at the output on the whole input and ends at the output on the baseline, the most important parts deleted first;
its area is its mean height. A faithful method has a low one.

Their means over a bundled sample are files that `python -m core faithful` writes and pages show.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from core.explain.attribution import ScalarFunction
from core.explain.erasing import deletions
from core.explain.occlusion import answers_without
from core.messages import Refusal

RANDOM: Final = "random"
POINTS: Final = 17
"""Points of a curve, from nothing deleted to everything."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExplainedInput:
    """One input, the number to explain, and each method's importance of the input's parts.

    Attributes:
        function: (copies, ...) -> (copies,). inputs, baseline, parts: see `core.explain.occlusion.without`.
        importance: method -> (parts,), the higher the more important.
    """

    function: ScalarFunction
    inputs: Tensor
    baseline: Tensor
    parts: Tensor
    importance: dict[str, NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Curves:
    """The output while more and more parts are deleted.

    Attributes:
        shares: (points,) share of the parts deleted, 0 to 1.
        answers: method, or `RANDOM` -> (points,).
    """

    shares: NDArray[np.float64]
    answers: dict[str, NDArray[np.float64]]

    def area(self, method: str) -> float:
        """Mean height of a curve, by trapezoids."""
        return float(np.trapezoid(self.answers[method], self.shares))


def counts_of(parts: int, shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """(points,): the number of parts deleted at each share, rounded."""
    return np.round(shares * parts).astype(np.int64)


def deletion_curves(
    explained: ExplainedInput,
    *,
    points: int = POINTS,
    draws: int = 3,
    seed: int = 0,
) -> Curves:
    """The curve of every method, and the mean curve of random orders.

    Args:
        draws: number of random orders.

    Raises:
        ValueError: where a method has no finite importance for some part.
    """
    count = int(explained.parts.max()) + 1
    shares = np.linspace(0.0, 1.0, points)
    orders = []
    for method, importance in explained.importance.items():
        if importance.shape != (count,) or not np.isfinite(importance).all():
            raise ValueError(f"the method {method!r} must give a number for each of {count} parts, not {importance.shape}")
        orders.append(np.argsort(-importance, kind="stable"))
    random = np.random.default_rng(seed)
    orders += [random.permutation(count) for _ in range(draws)]
    hidden = np.concatenate([deletions(order, counts_of(count, shares)) for order in orders])
    whole, back = np.unique(hidden, axis=0, return_inverse=True)  # all orders share their first and last point
    given = explained.function, explained.inputs, explained.baseline, explained.parts
    answers = answers_without(*given, whole)
    curves = answers[back.reshape(-1)].reshape(len(orders), -1)
    methods = dict(zip(explained.importance, curves, strict=False))
    return Curves(shares=shares, answers=methods | {RANDOM: curves[len(methods) :].mean(axis=0)})


def mean_of(curves: Sequence[Curves]) -> Curves:
    """The mean curve of many inputs.

    Raises:
        ValueError: for none, or for curves over different shares.
    """
    if not curves or any(not np.array_equal(one.shares, curves[0].shares) for one in curves):
        raise ValueError("a mean needs one curve or more, all over the same shares of deleted parts")
    answers = {method: np.mean([one.answers[method] for one in curves], axis=0) for method in curves[0].answers}
    return Curves(shares=curves[0].shares, answers=answers)


@dataclass(frozen=True, kw_only=True)
class FaithfulnessVerdict:
    """A method's areas over a sample, compared with random orders.

    Attributes:
        area: mean area under its curves.
        gain: area of the random orders less its own, mean over the sample; above 0 the method is better than chance.
        error: standard error of `gain`. better: share of the inputs with a gain above 0.
    """

    area: float
    gain: float
    error: float
    better: float


def verdicts(curves: Sequence[Curves]) -> dict[str, FaithfulnessVerdict]:
    """Every method's areas against the random orders' of the same input.

    Raises:
        ValueError: for no curves.
    """
    if not curves:
        raise ValueError("a verdict needs the curves of one input or more")
    chance = np.array([one.area(RANDOM) for one in curves])
    by_method = {}
    for method in (name for name in curves[0].answers if name != RANDOM):
        areas = np.array([one.area(method) for one in curves])
        gain = chance - areas
        error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else float("nan")
        by_method[method] = FaithfulnessVerdict(
            area=float(areas.mean()),
            gain=float(gain.mean()),
            error=error,
            better=float((gain > 0).mean()),
        )
    return by_method


def to_dict(curves: Sequence[Curves]) -> dict[str, object]:
    """The mean curves and verdicts of a sample as plain values with five significant digits."""

    def short(values: NDArray[np.float64]) -> list[float]:
        return [float(f"{value:.5g}") for value in values]

    whole = mean_of(curves)
    return {
        "samples": len(curves),
        "shares": short(whole.shares),
        "answers": {method: short(one) for method, one in whole.answers.items()},
        "chance": float(f"{np.mean([one.area(RANDOM) for one in curves]):.5g}"),
        "verdicts": {
            method: {key: float(f"{value:.5g}") for key, value in vars(one).items()} for method, one in verdicts(curves).items()
        },
    }


FOLDER = Path(__file__).resolve().parents[2] / "assets" / "explain"


class FindingError(Refusal, ValueError):
    """A damaged file of findings; the message names it and says why."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Faithfulness scores of one checkpoint.

    Attributes:
        checkpoint: its name. weights_sha256: of the weights that were measured, which may have been replaced since.
        command: that wrote the file. samples: inputs measured. chance: mean area under the random orders' curves.
        curves: means over the sample. verdicts: by method.
    """

    checkpoint: str
    weights_sha256: str
    command: str
    samples: int
    chance: float
    curves: Curves
    verdicts: dict[str, FaithfulnessVerdict]

    @property
    def best(self) -> str:
        """The method with the largest area below chance, which maps show at first (D38)."""
        return max(self.verdicts, key=lambda method: self.verdicts[method].gain)


def path_of(checkpoint: str, *, folder: Path = FOLDER) -> Path:
    """Path of a checkpoint's findings."""
    return folder / f"faithfulness_{checkpoint}.json"


def write(checkpoint: str, weights_sha256: str, command: str, curves: Sequence[Curves], *, folder: Path = FOLDER) -> Path:
    """Write the mean curves and the verdicts of a sample; returns the file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(checkpoint, folder=folder)
    values = {"checkpoint": checkpoint, "weights_sha256": weights_sha256, "command": command} | to_dict(curves)
    path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return path


def read(checkpoint: str, *, folder: Path = FOLDER) -> Finding | None:
    """A checkpoint's findings; None where none have been measured.

    Raises:
        FindingError: where the file is damaged.
    """

    def finding(values: dict[str, Any]) -> Finding:
        answers = {method: np.array(one, dtype=np.float64) for method, one in values["answers"].items()}
        return Finding(
            checkpoint=str(values["checkpoint"]),
            weights_sha256=str(values["weights_sha256"]),
            command=str(values["command"]),
            samples=int(values["samples"]),
            chance=float(values["chance"]),
            curves=Curves(shares=np.array(values["shares"], dtype=np.float64), answers=answers),
            verdicts={method: FaithfulnessVerdict(**one) for method, one in values["verdicts"].items()},
        )

    again = f"python -m core faithful {checkpoint} --folder assets/explain --overwrite"
    return read_measured(path_of(checkpoint, folder=folder), finding, again)


Measured = TypeVar("Measured")


def read_measured(path: Path, made: Callable[[dict[str, Any]], Measured], again: str) -> Measured | None:
    """A file of what was measured; None where there is none.

    Args:
        made: of the file's values. again: the command that writes the file.

    Raises:
        FindingError: where the file is damaged.
    """
    if not path.exists():
        return None
    try:
        return made(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, AssertionError, RecursionError) as error:
        raise FindingError(
            "{file} does not hold findings: run `{command}` again ({reason})", file=path.name, command=again, reason=error
        ) from error
