"""Recalibration of a market's probabilities from its own past, as outcomes become known (docs/value.md).

Every fifty seconds each head's temperature and class biases are fitted anew to the outcomes known by then, the newest weighing
most. What results is the mean of four `EXPERTS` by how well each has foretold so far. What was predicted, and the calls, stay as
they are. An outcome at row t is known at row t + h, and used from that row on.

Weights are those of the exponentially weighted average forecaster for the log-loss (Cesa-Bianchi and Lugosi 2006, sections 3.3
and 9.2). Adaptive conformal sets (Gibbs and Candes 2021, equation 2) say which classes to name so that what happens is among them
at a promised rate, whatever the market does.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from core.market.answers.intervals import block_length, resampled_sums
from core.market.answers.naive import PRIOR
from core.market.answers.predictions import RowPredictions
from core.market.answers.table import Answered, Scores
from core.market.book import BookError, BookRows, FloatArray
from core.market.calibration import fit_class_biases
from core.market.labels import UNKNOWN, classify, fit_alpha, moves_after
from core.market.predictor import MarketCard

REFIT_STEPS: Final = 200
"""Predictions between two fits: 50 s."""
HALF_LIFE: Final = 3_600
"""Outcomes after which an outcome's weight has halved: a quarter hour."""
KEPT: Final = 4 * HALF_LIFE
"""Outcomes that a fit reads: an hour."""
STRIDE: Final = 4
"""A fit reads every fourth outcome: neighbours tell nearly the same."""
MIN_OUTCOMES: Final = 200
"""Outcomes before the first fit."""
THRESHOLD_OUTCOMES: Final = 3_600
"""Outcomes that the label thresholds of an unknown market are fitted to: its first quarter hour."""
SCORED_AFTER: Final = 1_000
"""Outcomes that are left out of the scores of recalibrated probabilities: those the calibration begins with."""
PROMISED: Final = 0.9
"""Share of outcomes that shall be among the classes named."""
PACE: Final = 0.03
"""Step by which one miss moves the level (Gibbs and Candes's gamma)."""
MEMORY: Final = 1_000
"""Outcomes whose scores the quantile is taken of."""
MIN_SCORES: Final = 50
"""Outcomes before which all classes are named."""
EXPERTS: Final = ("uniform", "frequencies", "written", "fitted")
PACE_OF_WEIGHTS: Final = 0.25
"""Weight of an outcome is this over the horizon; chosen, as the experts were, on recordings of six markets (docs/value.md)."""
Thresholds = Literal["card", "past"]
"""Source of the label thresholds: the checkpoint's card, or the market's own first quarter hour."""


class AdaptiveSets:
    """The limit of the sets of one head, moved by each outcome as it becomes known.

    Attributes:
        limit: a class is named where 1 less its probability is at most this; 1 names every class, -1 none.
    """

    def __init__(self, *, promised: float = PROMISED, pace: float = PACE) -> None:
        self.promised, self.pace = promised, pace
        self.limit = 1.0
        self._missing_rate = 1 - promised
        self._recent: deque[float] = deque()
        self._sorted: list[float] = []

    def resolve(self, probability: float, limit: float) -> None:
        """An outcome that was given this probability, by a set of this limit."""
        score = 1 - probability
        self._missing_rate += self.pace * (1 - self.promised - (score > limit))
        insort(self._sorted, score)
        self._recent.append(score)
        if len(self._recent) > MEMORY:
            self._sorted.pop(bisect_left(self._sorted, self._recent.popleft()))
        self.limit = self._quantile()

    def _quantile(self) -> float:
        n = len(self._sorted)
        if n < MIN_SCORES or self._missing_rate <= 0:
            return 1.0
        rank = math.ceil((1 - self._missing_rate) * (n + 1))  # 1..n, or beyond the largest score
        return self._sorted[rank - 1] if 1 <= rank <= n else 1.0 if rank > n else -1.0


def named(probabilities: Sequence[float], limit: float) -> list[int]:
    """The classes of a set, in order."""
    return [label for label, p in enumerate(probabilities) if 1 - p <= limit]


Triple = tuple[float, float, float]
A_THIRD: Final[Triple] = (1 / 3, 1 / 3, 1 / 3)


@dataclass(frozen=True, slots=True)
class Recalibrated:
    """One head's prediction and what the past makes of it.

    Attributes:
        experts: the three probabilities of each of `EXPERTS`. adapted: their mean by the weights of the moment.
        limit: of the conformal set.
    """

    experts: tuple[Triple, Triple, Triple, Triple]
    adapted: Triple
    limit: float

    @property
    def written(self) -> Triple:
        """The probabilities as predicted."""
        return self.experts[2]


@dataclass(frozen=True, kw_only=True)
class AdaptiveScores:
    """One head's probabilities as written and recalibrated, over the same outcomes after the first `SCORED_AFTER`.

    Attributes:
        outcomes: known so far. due: until the scores begin. scored: of those by the threshold in use.
        own_threshold: whether the market's own past gives the threshold; settled: whether it does so by now (else the card's
            stands in; scores begin anew when it settles).
        alpha: the label threshold in use, a fraction of the price.
        written, adapted: scores of the likeliest class, as written and recalibrated.
        delivered, delivered_last: share of outcomes that the sets named, over all scored and the last `MEMORY` of them.
        mean_size: classes in a set. promised: the share that shall be named.
        newest: of the newest prediction, recalibrated: probabilities and the classes named; None before the first.
        weights: of each of `EXPERTS`, now.
    """

    outcomes: int
    due: int
    scored: int
    own_threshold: bool
    settled: bool
    alpha: float
    written: Scores
    adapted: Scores
    delivered: float
    delivered_last: float
    mean_size: float
    promised: float
    newest: tuple[Triple, list[int]] | None
    weights: dict[str, float]


class AdaptiveHead:
    """Recalibration, conformal sets and their scores, of one head of one market. Not safe to call from two threads at once.

    Args:
        horizon: steps. alpha: the card's label threshold.
        own_threshold: replace the threshold, once the first quarter hour of outcomes is known, by one fitted to them (D8).
        first_fit: predictions until the first fit, so that the heads of a market take turns.

    Attributes:
        alpha: the label threshold in use. settled: whether it stays. weights: of each of `EXPERTS`.
        scale, biases: the fitted probabilities are softmax(scale log p + biases).
    """

    def __init__(self, horizon: int, alpha: float, *, own_threshold: bool = False, first_fit: int = REFIT_STEPS) -> None:
        self.horizon = horizon
        self.alpha, self.settled, self._own_threshold = alpha, not own_threshold, own_threshold
        self._logits = np.zeros((KEPT // STRIDE, 3))
        self._moves = np.zeros(KEPT // STRIDE)
        self._first: list[float] = []  # moves of the first quarter hour
        self._count = 0
        self._independent = min(1.0, 2 / horizon)  # outcomes overlap: those of half a horizon count as one in a fit
        self._pace = min(1.0, PACE_OF_WEIGHTS / horizon)
        self._until_fit = first_fit
        self._newest: Recalibrated | None = None
        self._begin()

    def _begin(self) -> None:
        """Nothing is known yet by the threshold in use, nor scored."""
        self.scale, self.biases = 1.0, (0.0, 0.0, 0.0)
        self.sets = AdaptiveSets()
        self._counts = PRIOR.tolist()
        self._losses = [0.0] * len(EXPERTS)
        self.weights = [1 / len(EXPERTS)] * len(EXPERTS)
        self._due = SCORED_AFTER  # outcomes until the scores begin
        self._covered = self._named = 0
        self._last: deque[bool] = deque(maxlen=MEMORY)
        self._sums = [Scores.nothing(), Scores.nothing()]  # as written and recalibrated
        self._fresh: list[tuple[int, Recalibrated]] = []  # outcomes not yet among them

    def predict(self, probabilities: Sequence[float]) -> Recalibrated:
        """A prediction with what is known now; every `REFIT_STEPS` predictions the calibration is fitted first."""
        self._until_fit -= 1
        if self._until_fit <= 0:
            self._until_fit = REFIT_STEPS
            self._fit()
        down, stationary, up = probabilities
        written = (float(down), float(stationary), float(up))
        experts = A_THIRD, _shares(*self._counts), written, self._fitted(written)
        a, b, c = (sum(w * p[k] for w, p in zip(self.weights, experts, strict=True)) for k in range(3))
        self._newest = Recalibrated(experts, (a, b, c), self.sets.limit)
        return self._newest

    def _fitted(self, p: Triple) -> Triple:
        """softmax(scale log p + biases)."""
        a, b, c = (self.scale * _log(value) + bias for value, bias in zip(p, self.biases, strict=True))
        top = max(a, b, c)
        return _shares(math.exp(a - top), math.exp(b - top), math.exp(c - top))

    def resolve(self, prediction: Recalibrated, move: float) -> int:
        """Resolves a prediction from the label's move, a fraction of the price: the class by the threshold in use."""
        if self._count % STRIDE == 0:
            place = self._count // STRIDE % len(self._moves)
            self._logits[place] = [_log(p) for p in prediction.written]
            self._moves[place] = move
        self._count += 1
        truth = 2 if move > self.alpha else 0 if move < -self.alpha else 1
        self.sets.resolve(prediction.adapted[truth], prediction.limit)
        self._counts[truth] += 1
        self._losses = [sum_ - _log(p[truth]) for sum_, p in zip(self._losses, prediction.experts, strict=True)]
        least = min(self._losses)
        shares = [math.exp(self._pace * (least - loss)) for loss in self._losses]
        self.weights = [share / sum(shares) for share in shares]
        self._score(prediction, truth)
        if not self.settled:
            self._first.append(move)
            if len(self._first) == THRESHOLD_OUTCOMES:
                self._settle()
        return truth

    def _score(self, prediction: Recalibrated, truth: int) -> None:
        """Count an outcome, unless it is among the first that the calibration begins with."""
        if self._due:
            self._due -= 1
            return
        self._fresh.append((truth, prediction))
        if len(self._fresh) == MEMORY:
            self._fold()

    def _fold(self) -> None:
        predictions = [one for _, one in self._fresh]
        rows = RecalibratedRows.of(predictions, np.array([truth for truth, _ in self._fresh], dtype=np.int64), self.alpha)
        for which, p in enumerate((np.array([one.written for one in predictions]).reshape(-1, 3), rows.adapted)):
            self._sums[which] += Scores.of(rows.truth, Answered(calls=p.argmax(axis=1), probabilities=p))
        self._covered += int(rows.covered.sum())
        self._named += int(rows.sizes.sum())
        self._last.extend(rows.covered.tolist())
        self._fresh.clear()

    def scores(self) -> AdaptiveScores:
        """The scores so far."""
        self._fold()
        n, newest = self._sums[0].samples, self._newest
        return AdaptiveScores(
            outcomes=self._count,
            due=self._due,
            scored=n,
            own_threshold=self._own_threshold,
            settled=self.settled,
            alpha=self.alpha,
            written=self._sums[0],
            adapted=self._sums[1],
            delivered=self._covered / n if n else math.nan,
            delivered_last=sum(self._last) / len(self._last) if n else math.nan,
            mean_size=self._named / n if n else math.nan,
            promised=PROMISED,
            newest=None if newest is None else (newest.adapted, named(newest.adapted, newest.limit)),
            weights=dict(zip(EXPERTS, self.weights, strict=True)),
        )

    def _settle(self) -> None:
        """Go over to the market's own threshold: what was fitted and counted by the other one does not hold any more."""
        self.alpha, self.settled = max(fit_alpha([np.array(self._first)]), 1e-9), True
        self._begin()
        self._counts = (PRIOR + np.bincount(classify(np.array(self._first), self.alpha), minlength=3)).tolist()
        self._first = []
        self._fit()

    def _fit(self) -> None:
        if self._count < MIN_OUTCOMES:
            return
        used = -(-self._count // STRIDE)
        newest = (used - 1) % len(self._moves)
        filled = min(used, len(self._moves))
        age = (newest - np.arange(filled)) % len(self._moves) * STRIDE
        weights = 0.5 ** (age / HALF_LIFE) * STRIDE * self._independent
        truth = classify(self._moves[:filled], self.alpha)
        self.scale, self.biases = fit_class_biases(self._logits[:filled], truth, weights, start=(self.scale, self.biases))


def _log(p: float) -> float:
    return math.log(max(p, 1e-6))


def _shares(down: float, stationary: float, up: float) -> Triple:
    total = down + stationary + up
    return down / total, stationary / total, up / total


@dataclass(frozen=True, kw_only=True)
class RecalibratedRows:
    """Predictions of one head, recalibrated row by row from the past alone.

    Attributes:
        adapted: (n, 3). limits: (n,) of the conformal sets.
        truth: (n,) by `alpha`; UNKNOWN where it is not known, and before the threshold was settled.
        alpha: the threshold in use at the end.
    """

    adapted: FloatArray
    limits: FloatArray
    truth: NDArray[np.int64]
    alpha: float

    @classmethod
    def of(cls, predictions: Sequence[Recalibrated], truth: NDArray[np.int64], alpha: float) -> RecalibratedRows:
        """From the predictions of n rows, and what came of them (n,)."""
        adapted, limits = np.array([one.adapted for one in predictions]), np.array([one.limit for one in predictions])
        return cls(adapted=adapted.reshape(-1, 3), limits=limits, truth=truth, alpha=alpha)

    @property
    def covered(self) -> NDArray[np.bool_]:
        """(n,) whether the set named what happened; False where that is not known."""
        p = self.adapted[np.arange(len(self.truth)), np.maximum(self.truth, 0)]
        return (self.truth != UNKNOWN) & (1 - p <= self.limits)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(n,) classes in each set."""
        return (1 - self.adapted <= self.limits[:, None]).sum(axis=1)


def recalibrate_rows(
    rows: NDArray[np.int64], probabilities: NDArray[np.floating], moves: FloatArray, head: AdaptiveHead
) -> RecalibratedRows:
    """Go through a file as a live session does: at each row first what became known, then the prediction.

    Args:
        rows: (n,) numbers of the rows predicted, rising. probabilities: (n, 3). moves: (n,) that followed, NaN where unknown.
        head: a new one.
    """
    predictions: list[Recalibrated] = []
    truth = np.full(len(rows), UNKNOWN)
    due = 0
    numbers, known = rows.tolist(), moves.tolist()
    for now, written in zip(numbers, np.asarray(probabilities, dtype=np.float64).tolist(), strict=True):
        while due < len(predictions) and numbers[due] + head.horizon <= now:
            if not math.isnan(known[due]):
                settled = head.settled
                truth[due] = head.resolve(predictions[due], known[due])
                truth[due] = truth[due] if settled else UNKNOWN
            due += 1
        predictions.append(head.predict(written))
    if head.settled:  # of the rest the outcome is known only after the last prediction
        truth[due:] = classify(moves[due:], head.alpha)
    return RecalibratedRows.of(predictions, truth, head.alpha)


def recalibrate_file(
    predicted: RowPredictions, rows: BookRows, market: MarketCard, head: int, *, thresholds: Thresholds = "card"
) -> tuple[RecalibratedRows, NDArray[np.int64], dict[str, Any]]:
    """Recalibrate one head's predictions row by row.

    Args:
        predicted: predictions at rows of `rows`. head: index into its heads.

    Returns:
        What comes of them; which of them are scored, those after the first `SCORED_AFTER` outcomes; and as JSON's object, rounded
        to four decimals: `weights`, of `EXPERTS` at the end, and of the `sets` what was `promised`, `delivered` over all scored
        with its 95 % interval `low` to `high` (block bootstrap), and over the last `MEMORY` of them, the `mean_size`, and the
        share that are `empty`.

    Raises:
        BookError: where there are no more outcomes than those left out.
    """
    kind, horizon = predicted.heads[head]
    past = AdaptiveHead(horizon, market.alphas[head], own_threshold=thresholds == "past")
    moves = moves_after(rows, (kind, horizon))[predicted.rows]
    answer = recalibrate_rows(predicted.rows, predicted.probabilities[:, head], moves, past)
    known = np.flatnonzero(answer.truth != UNKNOWN)
    scored = known[SCORED_AFTER:]
    if not len(scored):
        raise BookError(
            "{count} outcomes of {kind} {horizon} are known: more than {least} are needed, which the calibration begins with",
            count=len(known),
            kind=kind,
            horizon=horizon,
            least=SCORED_AFTER,
        )
    covered, sizes = answer.covered[scored], answer.sizes[scored]
    drawn = resampled_sums(covered[:, None], block_length(len(covered), horizon)) / len(covered)
    sets = {
        "promised": PROMISED,
        "delivered": float(covered.mean()),
        **dict(zip(("low", "high"), np.quantile(drawn, [0.025, 0.975]).tolist(), strict=True)),
        "delivered_last": float(covered[-MEMORY:].mean()),
        "mean_size": float(sizes.mean()),
        "empty": float((sizes == 0).mean()),
    }
    about = {"thresholds": thresholds, "scored_after": SCORED_AFTER}
    return answer, scored, about | {"weights": _rounded(dict(zip(EXPERTS, past.weights, strict=True))), "sets": _rounded(sets)}


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}
