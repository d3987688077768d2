"""Parts that must go until an answer changes: a deletion curve (Samek et al. 2017) read at the first other answer."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.explain.attribution import Report, unreported

RANDOM_ORDERS: Final = 5
AT_ONCE: Final = 8
"""Copies that the model is asked about at a time."""

Hidden = NDArray[np.bool_]
Answers = Callable[[Hidden], Sequence[Hashable]]
"""(copies, parts), which parts are rubbed out -> the answer about each copy."""


@dataclass(frozen=True, kw_only=True)
class Needed:
    """Parts, from 0 and in the order in which they went, that changed the answer; None where all of them did not.

    Attributes:
        ranked: parts by the name of the importance that ordered them.
        random: how many in each of `RANDOM_ORDERS` random orders.
    """

    ranked: Mapping[str, tuple[int, ...] | None]
    random: tuple[int | None, ...]

    @property
    def random_median(self) -> float:
        """Of the random orders; infinite where most never change the answer."""
        return float(np.median([np.inf if count is None else count for count in self.random]))


def mask(parts: Iterable[int], count: int) -> Hidden:
    """(1, count): True at these parts, numbered from 0."""
    hidden = np.zeros((1, count), dtype=bool)
    hidden[0, list(parts)] = True
    return hidden


def deletions(order: NDArray[np.integer], counts: NDArray[np.integer]) -> Hidden:
    """(points, parts): True for the first `counts` parts of an order, which are rubbed out."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[None] < counts[:, None]


def until_it_changes(answers: Answers, order: NDArray[np.integer]) -> int | None:
    """The smallest count of parts, rubbed out in this order (parts,) from 0, with another answer than with none."""
    masks = deletions(order, np.arange(len(order) + 1))
    whole: Hashable = None
    for first in range(0, len(masks), AT_ONCE):
        for at, answer in enumerate(answers(masks[first : first + AT_ONCE]), start=first):
            if at == 0:
                whole = answer
            elif answer != whole:
                return at
    return None


def needed(answers: Answers, importance: Mapping[str, NDArray[np.floating]], *, report: Report = unreported) -> Needed:
    """Parts that rubbing out by each importance (parts,), the most important first, and at random needs."""
    ranked: dict[str, tuple[int, ...] | None] = {}
    turns = len(importance) + RANDOM_ORDERS
    for turn, (name, values) in enumerate(importance.items()):
        report(turn / turns)
        order = np.argsort(-np.asarray(values), kind="stable")
        count = until_it_changes(answers, order)
        ranked[name] = None if count is None else tuple(int(part) for part in order[:count])
    parts = len(next(iter(importance.values())))
    generator = np.random.default_rng(0)
    random = []
    for turn in range(len(importance), turns):
        report(turn / turns)
        random.append(until_it_changes(answers, generator.permutation(parts)))
    return Needed(ranked=ranked, random=tuple(random))
