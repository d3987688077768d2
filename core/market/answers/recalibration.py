"""Recalibration of a market's probabilities from its own past, as outcomes become known (docs/value.md).

Every fifty seconds each head's temperature and class biases are fitted anew to the outcomes known by then, the newest weighing
most. What results is the mean of four `EXPERTS` by how well each has foretold so far. What was predicted, and the calls, stay as
they are. An outcome at row t is known at row t + h, and used from that row on.

Weights are those of the exponentially weighted average forecaster for the log-loss (Cesa-Bianchi and Lugosi 2006, sections 3.3
and 9.2).
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.market.answers.naive import A_THIRD, Rates, Triple, shares
from core.market.answers.predictions import RowPredictions
from core.market.book import BookError, BookRows, FloatArray
from core.market.calibration import fit_class_biases
from core.market.labels import UNKNOWN, class_of, classify, fit_alpha, moves_after
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
EXPERTS: Final = ("uniform", "frequencies", "written", "fitted")
FREQUENCIES, WRITTEN = EXPERTS.index("frequencies"), EXPERTS.index("written")
PACE_OF_WEIGHTS: Final = 0.25
"""Weight of an outcome is this over the horizon; chosen, as the experts were, on recordings of six markets (docs/value.md)."""
Item = TypeVar("Item")
Thresholds = Literal["card", "past"]
"""Source of the label thresholds: the checkpoint's card, or the market's own first quarter hour."""


def likeliest(p: Triple) -> int:
    """Class of the largest probability, the first of equal ones."""
    return max(range(3), key=p.__getitem__)


@dataclass(frozen=True, slots=True)
class Recalibrated:
    """One head's prediction and what the past makes of it.

    Attributes:
        experts: the three probabilities of each of `EXPERTS`. adapted: their mean by the weights of the moment.
    """

    experts: tuple[Triple, Triple, Triple, Triple]
    adapted: Triple


class AdaptiveHead:
    """Recalibration of one head of one market. Not safe to call from two threads at once.

    Args:
        horizon: steps. alpha: the card's label threshold.
        own_threshold: replace the threshold, once the first quarter hour of outcomes is known, by one fitted to them (D8).
        first_fit: predictions until the first fit, so that the heads of a market take turns.

    Attributes:
        alpha: the label threshold in use. own_threshold: whether it is to be the market's own; settled: whether it stays.
        weights: of each of `EXPERTS`.
        scale, biases: the fitted probabilities are softmax(scale log p + biases).
    """

    def __init__(self, horizon: int, alpha: float, *, own_threshold: bool = False, first_fit: int = REFIT_STEPS) -> None:
        self.horizon = horizon
        self.alpha, self.settled, self.own_threshold = alpha, not own_threshold, own_threshold
        self._logits = np.zeros((KEPT // STRIDE, 3))
        self._moves = np.zeros(KEPT // STRIDE)
        self._first: list[float] = []  # moves of the first quarter hour
        self._count = 0
        self._independent = min(1.0, 2 / horizon)  # outcomes overlap: those of half a horizon count as one in a fit
        self._pace = min(1.0, PACE_OF_WEIGHTS / horizon)
        self._until_fit = first_fit
        self._begin()

    def _begin(self) -> None:
        """Nothing is known yet by the threshold in use."""
        self.scale, self.biases = 1.0, (0.0, 0.0, 0.0)
        self._rates = Rates()
        self._losses = [0.0] * len(EXPERTS)
        self.weights = [1 / len(EXPERTS)] * len(EXPERTS)

    def predict(self, probabilities: Sequence[float]) -> Recalibrated:
        """A prediction with what is known now; every `REFIT_STEPS` predictions the calibration is fitted first."""
        self._until_fit -= 1
        if self._until_fit <= 0:
            self._until_fit = REFIT_STEPS
            self._fit()
        return self.recalibrate(probabilities)

    def recalibrate(self, probabilities: Sequence[float]) -> Recalibrated:
        """Probabilities with what is known now; nothing comes of it."""
        down, stationary, up = probabilities
        written = (float(down), float(stationary), float(up))
        experts = A_THIRD, self._rates.now, written, self._fitted(written)
        a, b, c = (sum(map(mul, self.weights, column)) for column in zip(*experts, strict=True))
        return Recalibrated(experts, (a, b, c))

    def adapted(self, probabilities: Sequence[float]) -> Triple:
        """`recalibrate`, of which the probabilities alone."""
        return self.recalibrate(probabilities).adapted

    @property
    def rates_lost(self) -> float:
        """Sum of the log-losses of the class rates so far."""
        return self._losses[FREQUENCIES]

    def _fitted(self, p: Triple) -> Triple:
        """softmax(scale log p + biases)."""
        a, b, c = (self.scale * _log(value) + bias for value, bias in zip(p, self.biases, strict=True))
        top = max(a, b, c)
        return shares(math.exp(a - top), math.exp(b - top), math.exp(c - top))

    def resolve(self, prediction: Recalibrated, move: float) -> int:
        """Resolves a prediction from the label's move, a fraction of the price: the class by the threshold in use."""
        if self._count % STRIDE == 0:
            place = self._count // STRIDE % len(self._moves)
            self._logits[place] = [_log(p) for p in prediction.experts[WRITTEN]]
            self._moves[place] = move
        self._count += 1
        truth = class_of(move, self.alpha)
        self._rates.step(truth)
        self._losses = [sum_ - _log(p[truth]) for sum_, p in zip(self._losses, prediction.experts, strict=True)]
        least = min(self._losses)
        shares = [math.exp(self._pace * (least - loss)) for loss in self._losses]
        self.weights = [share / sum(shares) for share in shares]
        if not self.settled:
            self._first.append(move)
            if len(self._first) == THRESHOLD_OUTCOMES:
                self._settle()
        return truth

    def _settle(self) -> None:
        """Go over to the market's own threshold: what was fitted and counted by the other one does not hold any more."""
        self.alpha, self.settled = fit_alpha([np.array(self._first)]), True
        self._begin()
        for move in self._first:
            self._rates.step(class_of(move, self.alpha))
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


@dataclass(frozen=True, kw_only=True)
class RecalibratedRows:
    """Predictions of one head, recalibrated row by row from the past alone.

    Attributes:
        adapted: (n, 3).
        truth: (n,) by `alpha`; UNKNOWN where it is not known, and before the threshold was settled.
        alpha: the threshold in use at the end.
    """

    adapted: FloatArray
    truth: NDArray[np.int64]
    alpha: float


class Awaiting(deque[tuple[int, Item]]):
    """Predictions whose outcome is yet to come, each with the number of its row: that of row t is known at row t + horizon."""

    def __init__(self, horizon: int) -> None:
        super().__init__()
        self._horizon = horizon

    def due(self, row: int) -> Iterator[Item]:
        """Takes those out whose outcome is known at that row."""
        while self and self[0][0] + self._horizon <= row:
            yield self.popleft()[1]


def recalibrate_rows(
    rows: NDArray[np.int64], probabilities: NDArray[np.floating], moves: FloatArray, head: AdaptiveHead
) -> RecalibratedRows:
    """Go through a file as a live session does: at each row first what became known, then the prediction.

    Args:
        rows: (n,) numbers of the rows predicted, rising. probabilities: (n, 3). moves: (n,) that followed, NaN where unknown.
        head: a new one.
    """
    predictions: list[Recalibrated] = []
    truth, awaiting, known = np.full(len(rows), UNKNOWN), Awaiting[int](head.horizon), moves.tolist()
    for now, written in zip(rows.tolist(), np.asarray(probabilities, dtype=np.float64).tolist(), strict=True):
        for i in awaiting.due(now):
            if not math.isnan(known[i]):
                settled, came = head.settled, head.resolve(predictions[i], known[i])
                truth[i] = came if settled else UNKNOWN
        awaiting.append((now, len(predictions)))
        predictions.append(head.predict(written))
    if head.settled:  # of the rest the outcome is known only after the last prediction
        rest = slice(len(rows) - len(awaiting), None)
        truth[rest] = classify(moves[rest], head.alpha)
    adapted = np.array([one.adapted for one in predictions]).reshape(-1, 3)
    return RecalibratedRows(adapted=adapted, truth=truth, alpha=head.alpha)


def recalibrate_file(
    predicted: RowPredictions, rows: BookRows, market: MarketCard, head: int, *, thresholds: Thresholds = "card"
) -> tuple[RecalibratedRows, NDArray[np.int64], dict[str, Any]]:
    """Recalibrate one head's predictions row by row.

    Args:
        predicted: predictions at rows of `rows`. head: index into its heads.

    Returns:
        What comes of them; which of them are scored, those after the first `SCORED_AFTER` outcomes; and as JSON's object
        `thresholds`, `scored_after` and `weights`, those of `EXPERTS` at the end.

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
    weights = {name: round(weight, 4) for name, weight in zip(EXPERTS, past.weights, strict=True)}
    return answer, scored, {"thresholds": thresholds, "scored_after": SCORED_AFTER, "weights": weights}
