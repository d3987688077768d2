"""The two labels that predictions are scored by (D8)."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.market.book import BookRows, FloatArray
from core.market.grid import segments

LabelKind = Literal["smoothed", "forward"]
LABEL_KINDS: tuple[LabelKind, ...] = ("smoothed", "forward")
HORIZONS = (10, 20, 50, 100)
"""Steps ahead; at 250 ms a step: 2.5, 5, 12.5 and 25 seconds."""
DOWN, STATIONARY, UP = 0, 1, 2
UNKNOWN = -1
"""The label where the outcome is not known."""
Head = tuple[LabelKind, int]
"""Target of one classifier: a label and a horizon in steps."""
SMOOTHING = 10
"""The longest average on either side of the smoothed label, steps."""
LEAST_ALPHA = 1e-9
"""Smallest threshold, a fraction of the price: below it a move is rounding, as in a market that is pegged."""


def smoothing_steps(horizon: int) -> int:
    """w = min(10, h) of D8."""
    return min(SMOOTHING, horizon)


def future_move(mid: FloatArray, horizon: int, kind: LabelKind) -> FloatArray:
    """l(t, h) of D8 for every t, as a fraction of the price; NaN where it is undefined.

    smoothed: mean of the w mids up to t+h against the mean of the w mids up to t.
    forward: mean of the next h mids against the mid now.

    Args:
        mid: (n,) mid-prices of one stretch without gaps.
        horizon: h, steps.
    """
    move = np.full(len(mid), np.nan)
    t = np.arange(first_labelled(horizon, kind), len(mid) - horizon)
    move[t] = moves_at(t, mid, totals(mid), (kind, horizon))
    return move


def first_labelled(horizon: int, kind: LabelKind) -> int:
    """Number of the first row of a stretch that has the mids before it that its label needs."""
    return 0 if kind == "forward" else smoothing_steps(horizon) - 1


def totals(mid: FloatArray) -> FloatArray:
    """(n + 1,) sums of the first 0, 1, ..., n mids."""
    return np.concatenate([[0.0], np.cumsum(mid)])


def moves_at(t: int | NDArray[np.int64], mid: FloatArray, total: FloatArray, head: Head) -> Any:
    """`future_move` at rows that have it, from the mids and their `totals`."""
    kind, horizon = head
    if kind == "forward":
        return (total[t + horizon + 1] - total[t + 1]) / horizon / mid[t] - 1
    w = smoothing_steps(horizon)
    past = (total[t + 1] - total[t + 1 - w]) / w
    future = (total[t + horizon + 1] - total[t + horizon + 1 - w]) / w
    return future / past - 1


def moves_after(rows: BookRows, head: Head) -> FloatArray:
    """(n,) `future_move` after every row; NaN where the horizon reaches past the end or over a gap, or the book is stalled."""
    return np.where(rows.stalled, np.nan, all_moves(rows, head))


def all_moves(rows: BookRows, head: Head) -> FloatArray:
    """`moves_after`, stalled rows included."""
    kind, horizon = head
    return np.concatenate([future_move(rows.mid[stretch], horizon, kind) for stretch in segments(rows.timestamps)])


def classify(move: FloatArray, alpha: float | FloatArray) -> NDArray[np.int64]:
    """DOWN below -alpha, UP above alpha, STATIONARY between, UNKNOWN for NaN. Several alphas broadcast to the moves."""
    label = np.where(move > alpha, UP, np.where(move < -alpha, DOWN, STATIONARY))
    return np.where(np.isnan(move), UNKNOWN, label).astype(np.int64)


def class_of(move: float, alpha: float) -> int:
    """`classify` of one known move."""
    return UP if move > alpha else DOWN if move < -alpha else STATIONARY


def fit_alpha(moves: list[FloatArray]) -> float:
    """The label threshold: half the mean |l| of the training part (D8), a fraction of the price, at least `LEAST_ALPHA`.

    Args:
        moves: l(t, h) by stretch, NaN where undefined.

    Raises:
        ValueError: where no move is known.
    """
    known = np.concatenate(moves)
    known = known[~np.isnan(known)]
    if not len(known):
        raise ValueError("no move is known to fit a threshold to: more rows than the horizon are needed")
    return max(float(np.abs(known).mean()) / 2, LEAST_ALPHA)
