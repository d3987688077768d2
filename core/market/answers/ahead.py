"""Comparison of a market's forecast with the naive rules by log loss: ahead, behind or undecided, whenever one looks (D43).

Each rule is made a forecaster, by what came after its calls so far. The difference of two log losses over outcomes that do not
overlap feeds an e-process: a number that exceeds 20 in at most one case of twenty, ever, where the forecast is on average not
better than the rule (Choe and Ramdas 2023, "Comparing sequential forecasters"). The bound of one factor is that of Fan, Grama and
Liu 2015, for differences that are bounded below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.market.book import FloatArray

LEAST_PROBABILITY: Final = 0.01
"""Probabilities below count as this, so that one outcome decides nothing."""
WIDEST: Final = -math.log(LEAST_PROBABILITY)
"""Largest difference of two log losses, nats."""
STAKES: Final = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7])
"""Stakes of the e-process, shares of the largest loss: a mean over them needs no guess of how large the difference is."""
DECIDED: Final = 20.0
"""E-value from which on a comparison is decided."""
MOST_FACTOR: Final = 1e4
"""Largest multiple of today's outcomes that is looked ahead for a decision."""


class Standing(StrEnum):
    """State of a forecast beside the naive rules."""

    AHEAD = "ahead"
    BEHIND = "behind"
    UNDECIDED = "undecided"


def losses(probabilities: ArrayLike, truth: int) -> FloatArray:
    """Log losses of forecasts (..., 3) of an outcome, nats, 0 to `WIDEST`."""
    return -np.log(np.maximum(np.asarray(probabilities, dtype=np.float64)[..., truth], LEAST_PROBABILITY))


def log_e_value(total: ArrayLike, squares: ArrayLike) -> FloatArray:
    """Logarithm of the e-value against "the difference is at most 0 on average", of each sum of differences.

    The mean over `STAKES` s of exp(s x - (-log(1 - s) - s) v), with x = total / WIDEST and v = squares / WIDEST^2.

    Args:
        total: sum of differences, each at least -WIDEST. squares: sum of their squares.
    """
    x, v = np.asarray(total)[..., None] / WIDEST, np.asarray(squares)[..., None] / WIDEST**2
    exponents = STAKES * x + (np.log1p(-STAKES) + STAKES) * v
    return _log_mean(exponents)


def _log_mean(logs: FloatArray) -> FloatArray:
    """Logarithm of the mean over the last axis of what has these logarithms."""
    with np.errstate(invalid="ignore"):  # a journal may hold what is no number
        return np.asarray(np.logaddexp.reduce(logs, axis=-1) - math.log(logs.shape[-1]))


class RuleForecasts:
    """The naive rules of several heads as forecasters: how often each class came after such a call, one added to each.

    Args:
        heads, rules: how many.
    """

    def __init__(self, heads: int, rules: int) -> None:
        self._counts = np.ones((heads, rules, 3, 3))  # by the class called and the class that came
        self._each = np.ix_(range(heads), range(rules))

    def probabilities(self, calls: NDArray[np.integer]) -> FloatArray:
        """(heads, rules, 3) of the classes called, (heads, rules)."""
        counts = self._counts[*self._each, calls]
        return np.asarray(counts / counts.sum(axis=-1, keepdims=True))

    def learn(self, head: int, calls: NDArray[np.integer], truth: int) -> None:
        """Counts an outcome of one head beside the calls (rules,) of its row."""
        self._counts[head, np.arange(self._counts.shape[1]), calls, truth] += 1

    def forget(self, head: int) -> None:
        """Begins anew with a head."""
        self._counts[head] = 1


@dataclass(frozen=True, kw_only=True)
class Lead:
    """Sums of a forecast's lead over each rule: the rule's log loss less the forecast's, over outcomes that do not overlap.

    Attributes:
        outcomes: how many. totals, squares: (rules,) sums of the differences and of their squares, nats.
        since_ms: time of the first row compared; 0 before it.
    """

    outcomes: int
    totals: FloatArray
    squares: FloatArray
    since_ms: int = 0

    @classmethod
    def none(cls, rules: int) -> Lead:
        """Returns the sums before the first outcome."""
        return cls(outcomes=0, totals=np.zeros(rules), squares=np.zeros(rules))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From JSON.

        Raises:
            KeyError, TypeError, ValueError: where it is no such object.
        """
        totals, squares = (np.array([float(one) for one in values[name]]) for name in ("totals", "squares"))
        return cls(outcomes=int(values["outcomes"]), totals=totals, squares=squares, since_ms=int(values["since"]))

    def to_dict(self) -> dict[str, Any]:
        """As JSON's object."""
        sums = {"totals": self.totals.tolist(), "squares": self.squares.tolist()}
        return {"since": self.since_ms, "outcomes": self.outcomes, **sums}

    def after(self, mine: ArrayLike, rules: ArrayLike, truth: int, when: int = 0) -> Lead:
        """Sums with one outcome more.

        Args:
            mine: (3,) probabilities as they were shown. rules: (rules, 3) those of the rules at the same row.
            when: time of that row, milliseconds.
        """
        differences = losses(rules, truth) - losses(mine, truth)
        return Lead(
            outcomes=self.outcomes + 1,
            totals=self.totals + differences,
            squares=self.squares + differences**2,
            since_ms=self.since_ms or when,
        )

    def __add__(self, other: Lead) -> Lead:
        """Sums over the outcomes of both, of which those of the other come later."""
        return Lead(
            outcomes=self.outcomes + other.outcomes,
            totals=self.totals + other.totals,
            squares=self.squares + other.squares,
            since_ms=self.since_ms or other.since_ms,
        )

    @property
    def nearest(self) -> int:
        """Number of the rule with the smallest log loss over these outcomes."""
        return int(np.argmin(self.totals))

    @property
    def per_call(self) -> float:
        """The mean lead over the nearest rule, nats a call; NaN before the first outcome."""
        return float(self.totals[self.nearest]) / self.outcomes if self.outcomes else math.nan

    @cached_property
    def standing(self) -> Standing:
        """Ahead where every rule is beaten by e-values of `DECIDED` or more, behind where the mean of those against it is."""
        return self._standing(1.0)

    @cached_property
    def outcomes_until_decided(self) -> float:
        """Outcomes still to come until it is decided, should they go on as so far; infinity where that is not in sight."""
        if not self.outcomes or self._standing(MOST_FACTOR) is Standing.UNDECIDED:
            return math.inf
        low, high = 1.0, MOST_FACTOR
        while high - low > 1e-3 * high:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self._standing(middle) is Standing.UNDECIDED else (low, middle)
        return (high - 1) * self.outcomes

    def _standing(self, factor: float) -> Standing:
        """The state at that multiple of the sums."""
        totals, squares = factor * self.totals, factor * self.squares
        if log_e_value(totals, squares).min() >= math.log(DECIDED):
            return Standing.AHEAD
        against = _log_mean(log_e_value(-totals, squares))
        return Standing.BEHIND if against >= math.log(DECIDED) else Standing.UNDECIDED
