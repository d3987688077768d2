"""Probabilities for the CTC lab: generated, or reduced from a clip's to a target's labels.

CTC's loss looks at the blank and at the labels of the target only. A lab's columns are therefore the blank, the target's
labels in order of first occurrence, and all other labels together, which loses nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from core.messages import N_, BadValue
from core.signs import ctc
from core.signs.ctc import Array, Lattice
from core.signs.vocabulary import BLANK, BLANK_NAME

Quantity = Literal["gamma", "alpha", "beta"]
Fill = Literal["follow", "peaks", "even", "random"]
"""Follow: each label held for its share of the frames. Peaks: blanks, with one frame a label, as trained networks answer.
Even: all alike. Random: drawn by a seed. All but even ones are whole thousandths, so that the table shows what is computed."""
OFF: Final = 0.02
"""Probability of each label that a frame does not follow."""
REST: Final = 0.01
"""Probability of all labels outside the target, where a frame follows it."""
MIN_RANDOM: Final = 0.002
"""Least probability that is drawn, before rows are brought to a sum of 1."""
MAX_LABELS: Final = 12
MAX_FRAMES: Final = 40
TOO_LARGE: Final = N_("up to {most} labels and 1 to {max_frames} frames can be read here, not {count} and {frames}")
OTHER: Final = "…"
"""Name of the column that sums all labels outside the target."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A target and the probabilities of each frame.

    Attributes:
        names: of the columns: the blank, the target's labels, the rest. target: column of each label.
        probabilities: (T, V), rows sum to 1.
    """

    names: tuple[str, ...]
    target: tuple[int, ...]
    probabilities: Array

    @property
    def log_probabilities(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities))

    def lattice(self, *, skip: bool = True) -> Lattice:
        """Forward and backward.

        Raises:
            CTCError: where there are too few frames.
        """
        return ctc.lattice(self.log_probabilities, self.target, skip=skip)


def columns(target: Sequence[str]) -> tuple[str, ...]:
    """Names of a target's columns.

    >>> columns(["A", "B", "A"])
    ('∅', 'A', 'B', '…')
    """
    return (BLANK_NAME, *dict.fromkeys(target), OTHER)


def made(target: Sequence[str], frames: int, fill: Fill, *, seed: int = 0) -> Problem:
    """A target over generated probabilities.

    Raises:
        ValueError: for too many labels or frames, or a label that is the blank's name.
    """
    if len(target) > MAX_LABELS or not 1 <= frames <= MAX_FRAMES:
        raise BadValue(TOO_LARGE, most=MAX_LABELS, max_frames=MAX_FRAMES, count=len(target), frames=frames)
    reserved = {BLANK_NAME, OTHER} & set(target)
    if reserved:
        raise BadValue("{label!r} is a name of the lab's own: call the label something else", label=reserved.pop())
    names = columns(target)
    labels = tuple(names.index(label) for label in target)
    weights = np.ones((frames, len(names)))
    if fill == "random":
        drawn = np.random.default_rng(seed).dirichlet(np.full(len(names), 0.6), frames)
        weights = rounded_rows(normalised(np.maximum(drawn, MIN_RANDOM)))
    elif fill != "even":
        weights = np.full((frames, len(names)), OFF)
        weights[:, -1] = REST
        weights[np.arange(frames), _aligned(labels, frames, held=fill == "follow")] = 1 - REST - OFF * (len(names) - 2)
    return Problem(names=names, target=labels, probabilities=normalised(weights))


def of_clip(log_probabilities: NDArray[np.floating], names: Sequence[str], target: Sequence[str]) -> Problem:
    """A clip's probabilities (T, V), reduced to the labels of a target.

    Raises:
        ValueError: for a label that is none of the names, or too many of them.
    """
    if len(target) > MAX_LABELS:
        raise BadValue(TOO_LARGE, most=MAX_LABELS, max_frames=MAX_FRAMES, count=len(target), frames=len(log_probabilities))
    unknown = [label for label in target if label not in names[1:]]
    if unknown:
        raise BadValue("the model does not know {labels}: its vocabulary is listed on the page", labels=", ".join(unknown))
    shown = columns(target)
    whole = np.exp(np.asarray(log_probabilities, dtype=np.float64))
    kept = whole[:, [BLANK, *(list(names).index(label) for label in shown[1:-1])]]
    rest = np.maximum(0.0, whole.sum(axis=1, keepdims=True) - kept.sum(axis=1, keepdims=True))
    return Problem(
        names=shown,
        target=tuple(shown.index(label) for label in target),
        probabilities=normalised(np.concatenate([kept, rest], axis=1)),
    )


def normalised(weights: Array) -> Array:
    """Rows of weights brought to a sum of 1."""
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def rounded_rows(probabilities: Array) -> Array:
    """Rows rounded to three decimals that still sum to 1: the largest remainders are rounded up.

    >>> rounded_rows(np.array([[1.0, 1.0, 1.0]]) / 3).tolist()
    [[0.334, 0.333, 0.333]]
    """
    units = 1000
    scaled = probabilities * units
    whole = np.floor(scaled)
    missing = units - whole.sum(axis=1, keepdims=True)
    order = np.argsort(whole - scaled, axis=1, kind="stable")  # the largest remainder first
    rank = np.argsort(order, axis=1, kind="stable")
    return np.asarray((whole + (rank < np.round(missing))) / units)


def targets_of(lattice: Lattice, s: int) -> list[int]:
    """The states that a step from s leads to: the reverse of `core.signs.ctc.sources_of`."""
    return [one for one in range(s, len(lattice.states)) if s in ctc.sources_of(lattice.states, one, skip=lattice.skip)]


def emission(lattice: Lattice, t: int, s: int) -> float:
    """The probability that frame t gives the label of state s."""
    return float(np.exp(lattice.log_probabilities[t, lattice.states[s]]))


def collapsed(path: Sequence[str]) -> tuple[list[str], list[str]]:
    """A path of names after each of CTC's two steps: repeats become one, then blanks go.

    >>> collapsed(["H", "H", "∅", "H"])
    (['H', '∅', 'H'], ['H', 'H'])
    """
    merged = [name for name, _ in groupby(path)]
    return merged, [name for name in merged if name != BLANK_NAME]


def _aligned(labels: tuple[int, ...], frames: int, *, held: bool) -> list[int]:
    """A plausible label for each frame, whether or not the target fits."""
    if not labels:
        return [BLANK] * frames
    edges = np.linspace(0, frames, len(labels) + 1)
    path = [BLANK] * frames
    for place, label in enumerate(labels):
        first, end = int(edges[place]), max(int(edges[place]) + 1, int(edges[place + 1]))
        again = place + 1 < len(labels) and labels[place + 1] == label
        stop = end - 1 if again and end - first > 1 else end  # a repeat needs a blank in between
        for t in range(first, stop) if held else [(first + stop - 1) // 2]:
            path[min(t, frames - 1)] = label
    return path
