"""Protocols of forecasters, and the check of their answers.

A forecaster is any object with `predict(windows) -> probabilities`. Whatever it answers is checked row by row and head by head:
what cannot be scored becomes a missing answer with a reason, never an error of the caller.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.market.book import FloatArray
from core.market.labels import UNKNOWN, Head
from core.market.predictor import MarketCard, Predictor
from core.messages import Refusal, compose

log = logging.getLogger(__name__)
SUM_TOLERANCE = 1e-3
"""Allowed error of three probabilities' sum, for answers rounded to three decimals; they are then divided by their sum."""


class ForecasterError(Refusal, ValueError):
    """A forecaster cannot be used; the message says what was wrong and what would be right."""


def task_of(predictor: Predictor, market: MarketCard, spelling: str) -> ForecastTask:
    """Returns the task of a predictor's peers: its heads, and its thresholds for this market.

    Args:
        spelling: the file's name or the feed's key.
    """
    weights = str(predictor.card.get("weights_sha256", ""))
    return ForecastTask(heads=predictor.heads, alphas=market.alphas, window=predictor.window, market=spelling, weights=weights)


class Fault(IntEnum):
    """Reason that an answer cannot be scored."""

    NONE = 0
    NOT_OFFERED = 1
    """The forecaster does not predict this head at all: not counted as missing."""
    ABSENT = 2
    NEVER = 3
    LATE = 4
    FAILED = 5
    SHAPE = 6
    NOT_A_NUMBER = 7
    SUM = 8


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A forecaster's answers after the check.

    Attributes:
        probabilities: (n, heads, 3), NaN where missing, else rows summing to 1. faults: (n, heads) codes of `Fault`.
        reason: a sentence about the first fault; "" where there is none.
    """

    probabilities: NDArray[np.float64]
    faults: NDArray[np.int8]
    reason: str = ""


Answer = ArrayLike | Mapping[Any, ArrayLike] | Checked
"""Probabilities in the order DOWN, STATIONARY, UP: an array (n, heads, 3), or (n, 3) by head, or by its name ("forward_10")."""


@runtime_checkable
class Forecaster(Protocol):
    """Any object with this method can be scored beside TLOB."""

    def predict(self, windows: FloatArray) -> Answer:
        """Probabilities of the classes after each window.

        Args:
            windows: (n, 128, 40) float64: raw rows of the book, oldest first, 250 ms apart, without a gap. Columns are
                `core.market.book.FEATURES` (ASK_P1, ASK_V1, BID_P1, BID_V1, ASK_P2, ...), prices in the quote currency and sizes
                in the venue's unit. A checkpoint with windows of another length hands over that length.

        Returns:
            Either (n, heads, 3) in the order of `ForecastTask.heads`, or a mapping from a head, ("forward", 10) or
            "forward_10", to (n, 3), which may leave heads out. Classes are DOWN, STATIONARY, UP (D3) by the labels of D8; rows
            sum to 1.
        """
        ...


@runtime_checkable
class TimedForecaster(Protocol):
    """A forecaster that is also told when each window ends; a file of probabilities is one."""

    def predict_at(self, timestamps: NDArray[np.int64], windows: FloatArray) -> Answer:
        """As `Forecaster.predict`; timestamps are (n,), milliseconds since the epoch, of each window's last row."""
        ...


class BesideForecaster(Forecaster, Protocol):
    """A forecaster that uses TLOB's answers where they are there already."""

    def predict_beside(self, timestamps: NDArray[np.int64], windows: FloatArray, tlob: NDArray[np.floating]) -> Answer:
        """As `TimedForecaster.predict_at`; `tlob` is (n, heads, 3), calibrated probabilities of the TLOB that the task names."""
        ...


@dataclass(frozen=True, kw_only=True)
class ForecastTask:
    """Task that a forecaster is asked to predict; a factory of forecasters receives it.

    Attributes:
        heads: label and horizon in steps, in the order of an answer's second axis.
        alphas: (heads,) thresholds of the labels, fractions of the price (D8).
        window: rows of one window. market: the feed's key and symbol, or a file's name.
        weights: digest of the TLOB that it stands beside; "" for none.
    """

    heads: tuple[Head, ...]
    alphas: tuple[float, ...]
    window: int = 128
    market: str = ""
    weights: str = ""


def head_name(head: Head) -> str:
    """A head as the columns of tables write it: "forward_10"."""
    return f"{head[0]}_{head[1]}"


def ask(
    forecaster: Forecaster | BesideForecaster | TimedForecaster,
    name: str,
    timestamps: NDArray[np.int64],
    windows: FloatArray,
    task: ForecastTask,
    *,
    tlob: NDArray[np.floating] | None = None,
) -> Checked:
    """Asks the forecaster, and checks its answer; whatever it raises counts as a missing answer.

    Args:
        name: of the forecaster, for sentences. timestamps: (n,) of each window's last row. windows: (n, window, 40).
        tlob: (n, heads, 3) what TLOB answered, where it is known.
    """
    heads = len(task.heads)
    try:
        # by the name of the method: `isinstance` with a protocol takes longer than most answers
        if tlob is not None and hasattr(forecaster, "predict_beside"):
            answer = forecaster.predict_beside(timestamps, windows, tlob)
        elif hasattr(forecaster, "predict_at"):
            answer = forecaster.predict_at(timestamps, windows)
        else:
            answer = forecaster.predict(windows)
        return answer if isinstance(answer, Checked) else check(answer, name, len(windows), task.heads)
    except ForecasterError as error:
        return missing(len(windows), heads, Fault.FAILED, compose("{name}: {reason}", name=name, reason=error))
    except Exception as error:  # somebody else's code may raise anything
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return missing(len(windows), heads, Fault.FAILED, compose("{name} failed: {reason}.", name=name, reason=reason[:200]))


def tell(forecaster: object, head: int, timestamps: NDArray[np.int64], truth: NDArray[np.int64]) -> None:
    """Tell a forecaster that learns what came, (n,) classes in time order; nothing to any other. Unknown outcomes are left out.

    What it raises is logged: it goes on with what it knew.
    """
    if not hasattr(forecaster, "learn"):
        return
    known = truth != UNKNOWN
    if known.any():
        try:
            forecaster.learn(head, timestamps[known], truth[known])
        except Exception:  # somebody else's code may raise anything
            log.exception("a forecaster could not learn from outcomes")


def begin_anew(forecaster: object) -> None:
    """Have a forecaster that learns forget; nothing for any other."""
    if hasattr(forecaster, "forget"):
        forecaster.forget()


def missing(rows: int, heads: int, fault: Fault, reason: str = "") -> Checked:
    """No answer for any of the rows."""
    return Checked(
        probabilities=np.full((rows, heads, 3), np.nan), faults=np.full((rows, heads), fault, dtype=np.int8), reason=reason
    )


def check(answer: ArrayLike | Mapping[Any, ArrayLike], name: str, rows: int, heads: Sequence[Head]) -> Checked:
    """Check an answer for `rows` windows: its shape as a whole, its numbers row by row and head by head."""
    shape = (rows, len(heads), 3)
    p = np.full(shape, np.nan)
    offered = np.ones(len(heads), dtype=bool)
    if isinstance(answer, Mapping):
        for index, head in enumerate(heads):
            column = answer.get(head, answer.get(head_name(head)))
            offered[index] = column is not None
            if column is not None:
                numbers = _numbers(column)
                if numbers is None or numbers.shape != (rows, 3):
                    return _wrong_shape(name, numbers, f"({rows}, 3)", shape, head_name(head))
                p[:, index] = numbers
    else:
        numbers = _numbers(answer)
        if numbers is None or numbers.shape != shape:
            return _wrong_shape(name, numbers, f"{shape}", shape)
        p = numbers
    total = p.sum(axis=-1)
    if p.size and offered.all() and p.min() >= 0 and np.abs(total - 1).max() <= SUM_TOLERANCE:  # as nearly every answer
        return Checked(probabilities=p / total[..., None], faults=np.full(shape[:2], Fault.NONE.value, dtype=np.int8))
    whole = np.isfinite(p).all(axis=-1) & (p >= 0).all(axis=-1) & (p <= 1 + SUM_TOLERANCE).all(axis=-1)
    faults = np.where(~whole, Fault.NOT_A_NUMBER, np.where(np.abs(total - 1) > SUM_TOLERANCE, Fault.SUM, Fault.NONE))
    faults[:, ~offered] = Fault.NOT_OFFERED
    reason = ""
    if (faults == Fault.NOT_A_NUMBER).any():
        reason = compose("{name} gave a probability that is not a number from 0 to 1.", name=name)
    elif (faults == Fault.SUM).any():
        worst = float(total[faults == Fault.SUM][0])
        reason = compose("{name} gave three probabilities that sum to {total:.3f}: they must sum to 1.", name=name, total=worst)
    good = faults == Fault.NONE
    probabilities = np.where(good[..., None], p / np.where(good, total, 1.0)[..., None], np.nan)
    return Checked(probabilities=probabilities, faults=faults.astype(np.int8), reason=reason)


def _numbers(answer: ArrayLike) -> NDArray[np.float64] | None:
    """As an array of floats; None where it cannot be one."""
    try:
        return np.array(answer, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _wrong_shape(
    name: str, numbers: NDArray[np.float64] | None, right: str, shape: tuple[int, int, int], head: str = ""
) -> Checked:
    values = {"name": name, "right": right}
    if numbers is None:
        reason = compose("{name} gave no array of numbers: one of the shape {right} is right.", **values)
    elif head:
        reason = compose(
            "{name} gave an array of the shape {found} for {head}: {right} is right.",
            found=str(numbers.shape),
            head=head,
            **values,
        )
    else:
        reason = compose("{name} gave an array of the shape {found}: {right} is right.", found=str(numbers.shape), **values)
    return missing(*shape[:2], Fault.SHAPE, reason)
