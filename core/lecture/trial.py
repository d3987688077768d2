"""A lesson's own trial in a class: who predicts gains more than who watches, or does not, with its interval.

A student is drawn at the first test, in pairs of one each, so that the groups differ in size by one at most. What is compared is
the gain, right answers of a later test less those of the first; the interval is Welch's (1947), for groups of unequal spread.
No name, no time and no answer is kept: a group and the number of right answers of each test.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean, variance
from typing import Final

from core.market.answers.intervals import student_near

ARMS: Final = ("predict", "watch")
PHASES: Final = ("before", "after", "later")
MIN_ARM: Final = 5
"""Students of a group with both tests, for an interval."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Difference of the mean gains, predicting less watching.

    Attributes:
        counts, gains: students and mean gain of either group, in the order of `ARMS`. difference: nan where a group is empty.
        low, high: of the interval; nan where a group has fewer than `MIN_ARM`, or every gain is the same.
    """

    counts: tuple[int, int]
    gains: tuple[float, float]
    difference: float
    low: float = math.nan
    high: float = math.nan


def quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t, to .01 from 4 degrees of freedom on."""
    return student_near(NormalDist().inv_cdf(probability), freedom)


def effect(predicting: Sequence[float], watching: Sequence[float]) -> Effect:
    """Difference of two groups' mean gains, with Welch's interval of 95 %."""
    groups = (predicting, watching)
    counts = (len(predicting), len(watching))
    means = (fmean(predicting) if predicting else math.nan, fmean(watching) if watching else math.nan)
    made = Effect(counts=counts, gains=means, difference=means[0] - means[1])
    if min(counts) < MIN_ARM:
        return made
    shares = [variance(group) / len(group) for group in groups]
    if not sum(shares):
        return made
    freedom = sum(shares) ** 2 / sum(share**2 / (count - 1) for share, count in zip(shares, counts, strict=True))
    half = quantile(0.975, freedom) * math.sqrt(sum(shares))
    return Effect(counts=counts, gains=means, difference=made.difference, low=made.difference - half, high=made.difference + half)


@dataclass
class Trial:
    """One lesson's trial.

    Attributes:
        arms: group by student. right: right answers by student and test. phase: the last test that was begun.
    """

    arms: dict[str, str] = field(default_factory=dict)
    right: dict[str, dict[str, int]] = field(default_factory=dict)
    phase: str = ""

    def take(self, who: str, phase: str, right: int, before: Mapping[str, int] | None = None, arm: str = "") -> None:
        """Keep a test's result; the first one draws the group.

        Args:
            before, arm: of a student whose earlier tests another class had, as their phone kept them.
        """
        if who not in self.arms and arm:
            self.arms[who], self.right[who] = arm, dict(before or {})
        elif who not in self.arms and phase == "before":
            self.arms[who] = self._draw()
        self.right.setdefault(who, {}).setdefault(phase, right)

    def _draw(self) -> str:
        sizes = [list(self.arms.values()).count(arm) for arm in ARMS]
        return secrets.choice(ARMS) if sizes[0] == sizes[1] else ARMS[sizes[0] > sizes[1]]

    def watches(self, who: str) -> bool:
        """Tells whether a student only watches now: drawn for it, and the second test has not begun."""
        return self.phase == "before" and self.arms.get(who) == "watch"

    def effect(self, phase: str) -> Effect:
        """Difference of the gains from the first test to this one."""
        gains: dict[str, list[float]] = {arm: [] for arm in ARMS}
        for who, arm in self.arms.items():
            right = self.right.get(who, {})
            if "before" in right and phase in right:
                gains[arm].append(right[phase] - right["before"])
        return effect(gains["predict"], gains["watch"])

    def rows(self) -> list[dict[str, str | int]]:
        """A row a student, ordered by what stands in it, so that the order tells nothing of who they are."""
        rows: list[dict[str, str | int]] = []
        for who, arm in self.arms.items():
            right: Mapping[str, str | int] = self.right.get(who, {})
            rows.append({"group": arm, **{phase: right.get(phase, "") for phase in PHASES}})
        return sorted(rows, key=lambda row: [str(one) for one in row.values()])
