"""The naive rules that stand beside every score (D8): what is known of a market without a model, and without its book."""

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import add
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.market.answers.table import Answered, Scores
from core.market.book import BookRows
from core.market.grid import STEP_MS, segments
from core.market.labels import STATIONARY, UNKNOWN, Head, class_of, classify, smoothing_steps

Triple = tuple[float, float, float]
"""Numbers of DOWN, STATIONARY and UP."""

NAIVE: Final = ("momentum", "stationary", "uniform", "frequencies", "decayed")
"""The momentum rule; always STATIONARY; a third each, calling the classes in turn; how often each class came until then; and how
often lately. The last three know nothing of the book and give probabilities."""
CALLERS: Final = ("tlob", *NAIVE[:2])
"""Those that call moves, or never do: the worth of calls is asked of these."""
HALF_LIFE: Final = 1_000
"""Outcomes after which one counts half in `decayed`: four minutes."""
VWAP_ROWS: Final = 240
"""Rows whose trades make the mean traded price: a minute."""
VWAP_MEMORY: Final = 1_200
"""Rows, five minutes, whose distances say what is far."""
VWAP_BEGIN: Final = 120
"""Rows before the first call."""
VWAP_FAR: Final = 0.8
"""Share of those distances that a far one exceeds."""
PRIOR: Final[Triple] = (1.0, 2.0, 1.0)
"""Counts that frequencies begin with."""
A_THIRD: Final[Triple] = (1 / 3, 1 / 3, 1 / 3)
A_THIRD_EACH: Final = math.log(3)
"""Log-loss of saying a third each, nats: a forecaster above it would do better to say nothing."""


def naive_answers(
    timestamps: NDArray[np.int64], truth: NDArray[np.integer], momentum: NDArray[np.integer], horizon: int
) -> dict[str, Answered]:
    """Returns the answers of each rule of `NAIVE` at n rows, in time order.

    Args:
        truth: (n,) what came, UNKNOWN where it is not known. momentum: (n,) the momentum rule's calls. horizon: steps.
    """
    rates = [base_rates(timestamps, truth, horizon, half_life=half_life) for half_life in (math.inf, HALF_LIFE)]
    none = np.full((len(truth), 3), np.nan)
    return {
        "momentum": Answered(calls=momentum, probabilities=none),
        "stationary": Answered(calls=np.full(len(truth), STATIONARY), probabilities=none),
        "uniform": Answered(calls=timestamps // STEP_MS % 3, probabilities=np.full((len(truth), 3), A_THIRD)),
        "frequencies": Answered(calls=rates[0].argmax(axis=1), probabilities=rates[0]),
        "decayed": Answered(calls=rates[1].argmax(axis=1), probabilities=rates[1]),
    }


class Momentum:
    """Distance of the mid from the mean of its last `steps`, fewer after a gap, which a new one begins."""

    def __init__(self, steps: int) -> None:
        self._mids = deque[float](maxlen=steps)

    def step(self, mid: float) -> float:
        """Returns the next row's distance, a fraction of the price; the label's threshold makes it a call."""
        self._mids.append(mid)
        return mid / (sum(self._mids) / len(self._mids)) - 1


def momentum_calls(rows: BookRows, heads: Sequence[Head], alphas: Sequence[float]) -> NDArray[np.int64]:
    """(n, heads) calls of the momentum rule at every row, by `smoothing_steps` and the label's threshold of each head."""
    steps, stretches = [smoothing_steps(horizon) for _, horizon in heads], segments(rows.timestamps)
    each = {w: chain(*(map(Momentum(w).step, rows.mid[one].tolist()) for one in stretches)) for w in set(steps)}
    moves = {w: np.fromiter(one, np.float64) for w, one in each.items()}
    return classify(np.stack([moves[w] for w in steps], axis=1), np.array(alphas))


class Rates:
    """Shares of each class so far, beside the counts `PRIOR`; an outcome counts half after `half_life` later ones."""

    def __init__(self, half_life: float = math.inf) -> None:
        self._kept = 0.5 ** (1 / half_life)
        self._counts = [0.0, 0.0, 0.0]

    def step(self, came: int) -> Triple:
        """Returns the rates with one more outcome."""
        self._counts = [count * self._kept for count in self._counts]
        self._counts[came] += 1
        return self.now

    @property
    def now(self) -> Triple:
        """The rates, which sum to 1."""
        return shares(*map(add, self._counts, PRIOR))


def shares(down: float, stationary: float, up: float) -> Triple:
    """The three numbers over their sum."""
    total = down + stationary + up
    return down / total, stationary / total, up / total


def base_rates(
    timestamps: NDArray[np.int64], truth: NDArray[np.integer], horizon: int, *, half_life: float
) -> NDArray[np.float64]:
    """(n, 3) `Rates` of the outcomes that were known at each row, a horizon after theirs."""
    known, rates = np.asarray(truth) != UNKNOWN, Rates(half_life)
    each = np.array([rates.now, *map(rates.step, truth[known].tolist())])
    return each[np.searchsorted(timestamps[known], timestamps - horizon * STEP_MS, side="right")]


class RunningVwap:
    """Calls by the mean traded price of the last `VWAP_ROWS`, as trades and rows come.

    UP where the mid is further above it than `VWAP_FAR` of its last distances, DOWN likewise below it. A trade counts for the
    first row that is not before it.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[float, float, float]] = []
        self._spans: deque[tuple[float, float]] = deque(maxlen=VWAP_ROWS)  # size and money traded before each row
        self._distances: deque[float] = deque()
        self._sorted: list[float] = []  # the same, in order

    def trade(self, time_ms: float, price: float, size: float) -> None:
        """A trade, at any time before the row that it counts for."""
        self._waiting.append((time_ms, price, size))

    def row(self, time_ms: int, mid: float) -> int:
        """Returns the next row's call."""
        due = [trade for trade in self._waiting if trade[0] <= time_ms]
        self._waiting = [trade for trade in self._waiting if trade[0] > time_ms]
        self._spans.append((sum(size for *_, size in due), sum(price * size for _, price, size in due)))
        size, money = (sum(column) for column in zip(*self._spans, strict=True))
        distance = mid - money / size if size > 1e-12 else 0.0
        call = class_of(distance, self._far())
        if len(self._distances) == VWAP_MEMORY:
            del self._sorted[bisect_left(self._sorted, self._distances.popleft())]
        self._distances.append(abs(distance))
        insort(self._sorted, abs(distance))
        return call

    def _far(self) -> float:
        if len(self._sorted) < VWAP_BEGIN:
            return math.inf
        place = VWAP_FAR * (len(self._sorted) - 1)
        low = self._sorted[int(place)]
        return low + (place % 1) * (self._sorted[math.ceil(place)] - low)


def baseline_summary(scored: Mapping[str, Scores]) -> dict[str, dict[str, float]]:
    """Accuracy, macro_f1, matthews and, of rules with probabilities, log_loss by naive rule, rounded to four decimals."""
    return {
        rule: {
            name: round(value, 4)
            for name, value in scored[rule].summary().items()
            if name != "ece" and not (name == "log_loss" and rule in ("momentum", "stationary"))
        }
        for rule in NAIVE
    }
