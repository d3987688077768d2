"""Patches that must go until a picture's answer changes: a deletion curve (Samek et al. 2017) read at the first other answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.explain.attribution import Told, untold
from core.vision.analysis import PictureAnalysis
from core.vision.evidence import hidden_answers, losses_without

RANDOM_ORDERS: Final = 5
AT_ONCE: Final = 8
"""Pictures that the model is asked about at a time."""


@dataclass(frozen=True, kw_only=True)
class Needed:
    """Patches, by their numbers from 1 in the order in which they went, that changed the answer; None where all did not."""

    attention: tuple[int, ...] | None
    occlusion: tuple[int, ...] | None
    random: tuple[int | None, ...]
    """How many in each of `RANDOM_ORDERS` random orders."""

    @property
    def random_median(self) -> float:
        """Of the random orders; infinite where most never change the answer."""
        return float(np.median([np.inf if count is None else count for count in self.random]))


def until_it_changes(analysis: PictureAnalysis, order: NDArray[np.integer]) -> int | None:
    """The smallest count of patches, hidden in this order (patches,) from 0, with which another class is the likeliest."""
    count = len(order)
    masks = np.zeros((count, count), bool)
    masks[:, order] = np.tri(count, dtype=bool)  # row k hides the first k + 1
    for first in range(0, count, AT_ONCE):
        answers = hidden_answers(analysis, masks[first : first + AT_ONCE]).argmax(axis=1)
        changed = np.flatnonzero(answers != analysis.likeliest)
        if len(changed):
            return first + int(changed[0]) + 1
    return None


def needed(analysis: PictureAnalysis, *, seed: int = 0, told: Told = untold) -> Needed:
    """Patches that rubbing out by the last layer's attention, by occlusion, and at random needs."""
    attention = analysis.attention(list(analysis.maps)[-1], None).patches.reshape(-1)
    occlusion = losses_without(analysis, analysis.likeliest, told=lambda share: told(0.4 * share))
    told(0.4)

    def by(importance: NDArray[np.floating]) -> tuple[int, ...] | None:
        order = np.argsort(-importance, kind="stable")
        count = until_it_changes(analysis, order)
        return None if count is None else tuple(int(patch) + 1 for patch in order[:count])

    ranked = [by(importance) for importance in (attention, occlusion)]
    generator = np.random.default_rng(seed)
    random = []
    for turn in range(RANDOM_ORDERS):
        told(0.5 + 0.5 * turn / RANDOM_ORDERS)
        random.append(until_it_changes(analysis, generator.permutation(analysis.grid**2)))
    return Needed(attention=ranked[0], occlusion=ranked[1], random=tuple(random))
