"""The one answer of each label and horizon of a running market, and how it stands beside the naive rules (D25, D37, D39, D43).

An answer is the recalibrated probabilities, always; its word is their likeliest class. What came is counted at every outcome
since the label's threshold stands; answers are compared with the rules over outcomes that do not overlap.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.market.answers.ahead import Lead, RuleForecasts, Standing
from core.market.answers.intervals import Spacing
from core.market.answers.naive import HALF_LIFE, NAIVE, Momentum, Rates
from core.market.answers.recalibration import FREQUENCIES, AdaptiveHead, Recalibrated, likeliest
from core.market.answers.table import Scores
from core.market.book import STEP_MS, FloatArray
from core.market.labels import STATIONARY, Head, class_of, smoothing_steps

ANSWER: Final = "tlob"
"""Name of the answers beside those of the naive rules."""
RIVALS: Final = (*(rule for rule in NAIVE if rule != "uniform"), "vwap")
"""The naive rules beside an answer that somebody could trade by; the last says where the mid stands against the mean traded price
of a minute."""
FEWEST: Final = 10
"""Outcomes that do not overlap, below which there is a count and no score (D39)."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Scores of one head's answers, and of each of `RIVALS` on the same outcomes.

    Attributes:
        scores: of the likeliest class, by name, those of the answers as `ANSWER`; with the log-losses of the recalibrated
            probabilities and of the class rates so far.
        right: by name, how many of the outcomes that do not overlap were called rightly.
        lead: over each rule on those that do not overlap. decided: the last decision there was, at first `Standing.UNDECIDED`.
        here: the lead with all that the market's journal knew before (D44); `lead` itself where it knew nothing.
    """

    scores: Mapping[str, Scores]
    right: Mapping[str, int]
    lead: Lead
    decided: Standing
    here: Lead

    @property
    def outcomes(self) -> int:
        """Outcomes known so far."""
        return self.scores[ANSWER].samples

    @property
    def enough(self) -> bool:
        """Tells whether these are outcomes enough for a score."""
        return self.lead.outcomes >= FEWEST

    @property
    def nearest(self) -> str:
        """The rule that foretold these outcomes best, by log loss."""
        return RIVALS[self.lead.nearest]

    @property
    def usual(self) -> FloatArray:
        """(3,) share of each class among the outcomes so far; NaN before the first."""
        came = self.scores[ANSWER].confusion.sum(axis=1)
        return came / came.sum() if came.sum() else np.full(3, np.nan)


@dataclass(frozen=True, slots=True)
class RowAnswers:
    """Answers at one row, as they were shown: `made` of every head."""

    made: tuple[Recalibrated, ...]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(heads, 3)."""
        return np.array([one.adapted for one in self.made])

    @property
    def calls(self) -> list[int]:
        """The likeliest class of every head."""
        return [likeliest(one.adapted) for one in self.made]


@dataclass(frozen=True, slots=True)
class Shown:
    """A row as it was shown before it was confirmed (D27): that rule's call `vwap`; `answers`, None where none were made."""

    vwap: int = STATIONARY
    answers: RowAnswers | None = None


@dataclass(frozen=True, slots=True)
class RuleState:
    """The naive rules at a row.

    Attributes:
        when: time of the row, milliseconds. calls: (heads, rules) the classes that `RIVALS` call.
        forecasts: (heads, rules, 3) their probabilities: how often each class came after such a call, by then.
    """

    when: int
    calls: NDArray[np.int64]
    forecasts: FloatArray


class AnswerBoard:
    """Makes the answers of a market's heads and counts what came of them, as outcomes become known.

    Args:
        adaptive: recalibration of each head, which this resolves.
        before: lead of each head over earlier rows of the market; none where there is nothing.

    Attributes:
        leads: of each head, over the outcomes so far. here: with those before.
    """

    def __init__(self, heads: Sequence[Head], adaptive: Sequence[AdaptiveHead], before: Sequence[Lead] = ()) -> None:
        self._adaptive = adaptive
        self._heads = tuple(heads)
        self._rules = RuleForecasts(len(heads), len(RIVALS))
        self._confusion = np.zeros((len(heads), 1 + len(RIVALS), 3, 3), dtype=np.int64)
        self._right = np.zeros((len(heads), 1 + len(RIVALS)), dtype=np.int64)
        self._each = np.arange(1 + len(RIVALS))
        none = Lead.none(len(RIVALS))
        self.before = tuple(before) or (none,) * len(heads)
        self.leads, self.here = [none for _ in heads], list(self.before)
        self._decided = [Standing.UNDECIDED for _ in heads]
        self._lost = np.zeros(len(heads))  # log-losses of the answers, over all outcomes
        self._spacing = [Spacing(horizon * STEP_MS) for _, horizon in heads]
        self._lately = [Rates(HALF_LIFE) for _ in heads]
        self.gap()

    def gap(self) -> None:
        """A gap in the rows."""
        self._momentum = [Momentum(smoothing_steps(horizon)) for _, horizon in self._heads]
        self._moves = [0.0 for _ in self._heads]

    def take_mid(self, mid: float) -> None:
        """Takes the mid of the next row in."""
        self._moves = [rule.step(mid) for rule in self._momentum]

    def answers(self, probabilities: NDArray[np.floating]) -> RowAnswers:
        """Answers to a prediction (heads, 3) with what is known now; nothing comes of it."""
        return RowAnswers(tuple(one.recalibrate(p) for one, p in zip(self._adaptive, probabilities.tolist(), strict=True)))

    def predict(self, probabilities: NDArray[np.floating]) -> RowAnswers:
        """The same, as the next prediction in turn, at which a calibration may be fitted anew."""
        return RowAnswers(tuple(one.predict(p) for one, p in zip(self._adaptive, probabilities.tolist(), strict=True)))

    def rule_state(self, when: int, vwap: int, answers: RowAnswers) -> RuleState:
        """State of the rules at the row whose mid was taken in last, and whose outcome comes later.

        Args:
            when: time of the row, milliseconds. vwap: that rule's call there.
        """
        by_rule = {
            "momentum": [class_of(move, one.alpha) for move, one in zip(self._moves, self._adaptive, strict=True)],
            "stationary": [STATIONARY for _ in self._heads],
            "frequencies": [likeliest(one.experts[FREQUENCIES]) for one in answers.made],
            "decayed": [likeliest(rates.now) for rates in self._lately],
            "vwap": [vwap for _ in self._heads],
        }
        calls = np.array([by_rule[rule] for rule in RIVALS]).T
        return RuleState(when, calls, self._rules.probabilities(calls))

    def resolve(self, head: int, move: float, answers: tuple[Recalibrated, Recalibrated], rules: RuleState) -> int:
        """Counts an outcome and returns its class by the threshold in use.

        Args:
            move: the label's, a fraction of the price.
            answers: at that row, by all that was known of the rows before it, which is learnt from, and as it was shown, which
                is scored. rules: at that row.
        """
        one, when = self._adaptive[head], rules.when
        settled = one.settled
        truth, answer = one.resolve(answers[0], move), answers[1]
        if one.settled is not settled:  # what was counted by the other threshold does not hold any more
            self._begin(head)
            return truth
        calls = np.array([likeliest(answer.adapted), *rules.calls[head]])
        self._lost[head] -= math.log(max(answer.adapted[truth], 1e-6))
        self._confusion[head, self._each, truth, calls] += 1
        self._lately[head].step(truth)
        self._rules.learn(head, rules.calls[head], truth)
        if self._spacing[head].step(when):
            self._right[head] += calls == truth
            self._go_on(head, self.leads[head].after(answer.adapted, rules.forecasts[head], truth, when))
            standing = self.leads[head].standing
            self._decided[head] = self._decided[head] if standing is Standing.UNDECIDED else standing
        return truth

    def _begin(self, head: int) -> None:
        """Nothing is counted yet of a head."""
        self._confusion[head] = self._right[head] = self._lost[head] = 0
        self._lately[head] = Rates(HALF_LIFE)
        self._rules.forget(head)
        self._go_on(head, Lead.none(len(RIVALS)))
        self._decided[head], self._spacing[head] = Standing.UNDECIDED, Spacing(self._heads[head][1] * STEP_MS)

    def _go_on(self, head: int, lead: Lead) -> None:
        """A head's lead is this now."""
        self.leads[head] = lead
        self.here[head] = self.before[head] + lead if self.before[head].outcomes else lead

    def score(self, head: int) -> Comparison:
        """One head's scores so far."""
        names, confusion = (ANSWER, *RIVALS), self._confusion[head].copy()
        lost = {ANSWER: float(self._lost[head]), "frequencies": self._adaptive[head].rates_lost}
        return Comparison(
            scores={
                name: Scores(confusion=one, lost=lost.get(name, math.nan)) for name, one in zip(names, confusion, strict=True)
            },
            right=dict(zip(names, self._right[head].tolist(), strict=True)),
            lead=self.leads[head],
            decided=self._decided[head],
            here=self.here[head],
        )
