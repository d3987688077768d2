"""The one answer of each label and horizon of a running market, and its score beside the best of the naive rules (D37, D39).

An answer is the likeliest class of the recalibrated probabilities, or no call where these have not foretold the outcomes so far
better than the class rates did. Its score, and that of the rules beside it, is of the likeliest class at every outcome since the
label's threshold stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core import scores
from core.market.answers.naive import HALF_LIFE, NAIVE, PRIOR
from core.market.answers.recalibration import FREQUENCIES, AdaptiveHead, Recalibrated, likeliest
from core.market.answers.table import NO_CALL, Scores
from core.market.book import STEP_MS
from core.market.labels import STATIONARY, Head, class_of, smoothing_steps

ANSWER: Final = "tlob"
"""Name of the answers beside those of the naive rules."""
RIVALS: Final = (*(rule for rule in NAIVE if rule != "uniform"), "vwap")
"""The naive rules beside an answer that somebody could trade by; the last says where the mid stands against the mean traded price
of a minute."""
FEWEST: Final = 10
"""Outcomes that do not overlap, below which there is a count and no score (D39)."""
CHI_SQUARED: Final = 3.841
"""Value that a chi-squared number of one degree of freedom exceeds in one case of twenty."""


@dataclass(frozen=True, kw_only=True)
class AnswerScore:
    """Scores of one head's answers, and of each of `RIVALS` on the same outcomes.

    Attributes:
        independent: outcomes that do not overlap. since_ms: time of the first outcome, 0 before it.
        scores: of the likeliest class, by name, those of the answers as `ANSWER`; with the log-losses of the recalibrated
            probabilities and of the class rates so far. best: the rule of the highest Matthews correlation.
        only: by rule, outcomes that do not overlap and that the answer alone, and the rule alone, got right.
        signals: whether the log-loss is below that of the class rates.
    """

    independent: int
    since_ms: int
    scores: Mapping[str, Scores]
    best: str
    only: Mapping[str, tuple[int, int]]
    signals: bool

    @property
    def outcomes(self) -> int:
        """Outcomes known so far."""
        return self.scores[ANSWER].samples

    @property
    def enough(self) -> bool:
        """Tells whether these are outcomes enough for a score."""
        return self.independent >= FEWEST

    @property
    def decides_at(self) -> float:
        """Independent outcomes at which, at these rates, McNemar's test (5 %) tells the answer from the best rule."""
        mine, rule = self.only[self.best]
        return self.independent * CHI_SQUARED * (mine + rule) / (mine - rule) ** 2 if mine != rule else math.inf


@dataclass(frozen=True, slots=True)
class RowAnswers:
    """Answers at one row, as they were shown: `made` of every head, and whether each was a call (`AdaptiveHead.signals`)."""

    made: tuple[Recalibrated, ...]
    signals: tuple[bool, ...]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(heads, 3)."""
        return np.array([one.adapted for one in self.made])

    @property
    def calls(self) -> list[int]:
        """The class called of every head, `NO_CALL` where there is no signal."""
        return [one.likeliest if signal else NO_CALL for one, signal in zip(self.made, self.signals, strict=True)]


@dataclass(frozen=True, slots=True)
class Shown:
    """A row as it was shown before it was confirmed (D27): that rule's call `vwap`; `answers`, None where none were made."""

    vwap: int = STATIONARY
    answers: RowAnswers | None = None


@dataclass(frozen=True, slots=True)
class RuleState:
    """State of the naive rules after a row: the momentum rule's `moves` and the class that `decayed` calls, of each head.

    Attributes:
        when: time of the row, milliseconds.
    """

    when: int
    moves: list[float]
    decayed: list[int]
    vwap: int


class AnswerBoard:
    """Makes the answers of a market's heads and counts what came of them, as outcomes become known.

    Args:
        adaptive: recalibration of each head, which this resolves.
    """

    def __init__(self, heads: Sequence[Head], adaptive: Sequence[AdaptiveHead]) -> None:
        self._adaptive = adaptive
        self._averages = [smoothing_steps(horizon) for _, horizon in heads]
        self._confusion = np.zeros((len(heads), 1 + len(RIVALS), 3, 3), dtype=np.int64)
        self._only = np.zeros((len(heads), len(RIVALS), 2), dtype=np.int64)  # see `AnswerScore.only`
        self._since_ms = [0] * len(heads)
        self._independent = [0] * len(heads)
        self._free_ms = [0] * len(heads)  # when an outcome no longer overlaps those that were counted as independent
        self._lately = np.zeros((len(heads), 3))  # outcomes by class, of which one counts half after `HALF_LIFE`

    def answers(self, probabilities: NDArray[np.floating]) -> RowAnswers:
        """Answers to a prediction (heads, 3) with what is known now; nothing comes of it."""
        made = tuple(one.recalibrate(p) for one, p in zip(self._adaptive, probabilities.tolist(), strict=True))
        return RowAnswers(made, self._signals)

    def predict(self, probabilities: NDArray[np.floating]) -> RowAnswers:
        """The same, as the next prediction in turn, at which a calibration may be fitted anew."""
        made = tuple(one.predict(p) for one, p in zip(self._adaptive, probabilities.tolist(), strict=True))
        return RowAnswers(made, self._signals)

    @property
    def _signals(self) -> tuple[bool, ...]:
        return tuple(one.signals for one in self._adaptive)

    def rule_state(self, when: int, mids: Sequence[float], vwap: int) -> RuleState:
        """State of the rules after a row, at which its outcome is asked for later.

        Args:
            when: time of the row, milliseconds.
            mids: of the rows since the last gap, oldest first. vwap: that rule's call at the last of them.
        """
        moves = {steps: mids[-1] / (sum(mids[-steps:]) / len(mids[-steps:])) - 1 for steps in set(self._averages)}
        decayed = (self._lately + PRIOR).argmax(axis=1).tolist()
        return RuleState(when, [moves[steps] for steps in self._averages], decayed, vwap)

    def calls(self, head: int, answer: Recalibrated, rules: RuleState) -> dict[str, int]:
        """The classes called at a row by name: the answer's likeliest, then those of `RIVALS`."""
        return {
            ANSWER: answer.likeliest,
            "momentum": class_of(rules.moves[head], self._adaptive[head].alpha),
            "stationary": STATIONARY,
            "frequencies": likeliest(answer.experts[FREQUENCIES]),
            "decayed": rules.decayed[head],
            "vwap": rules.vwap,
        }

    def resolve(self, head: int, move: float, answer: Recalibrated, rules: RuleState) -> int:
        """Counts an outcome and returns its class by the threshold in use.

        Args:
            move: the label's, a fraction of the price. answer, rules: as they were at that row.
        """
        one, when = self._adaptive[head], rules.when
        settled = one.settled
        truth = one.resolve(answer, move)
        if one.settled is not settled:  # what was counted by the other threshold does not hold any more
            self._confusion[head] = self._only[head] = self._lately[head] = 0
            self._since_ms[head] = self._independent[head] = self._free_ms[head] = 0
            return truth
        calls = list(self.calls(head, answer, rules).values())
        self._confusion[head, range(len(calls)), truth, calls] += 1
        self._lately[head] *= 0.5 ** (1 / HALF_LIFE)
        self._lately[head, truth] += 1
        self._since_ms[head] = self._since_ms[head] or when
        if when >= self._free_ms[head]:
            self._independent[head] += 1
            right = np.array(calls) == truth
            self._only[head, right[1:] != right[0], int(not right[0])] += 1
            self._free_ms[head] = when + one.horizon * STEP_MS
        return truth

    def score(self, head: int) -> AnswerScore:
        """One head's score so far."""
        confusion, adaptive = self._confusion[head].copy(), self._adaptive[head]
        lost = dict(zip((ANSWER, "frequencies"), adaptive.losses, strict=True))
        names = (ANSWER, *RIVALS)
        return AnswerScore(
            independent=self._independent[head],
            since_ms=self._since_ms[head],
            scores={
                name: Scores(confusion=one, lost=lost.get(name, math.nan)) for name, one in zip(names, confusion, strict=True)
            },
            best=RIVALS[int(np.argmax(scores.matthews(confusion[1:])))],
            only={rule: (int(mine), int(its)) for rule, (mine, its) in zip(RIVALS, self._only[head], strict=True)},
            signals=adaptive.signals,
        )
