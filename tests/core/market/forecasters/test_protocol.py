"""What forecasters answer: every kind of bad answer is missing, with one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.market.forecasters.catalogue import MomentumForecaster, StationaryForecaster
from core.market.forecasters.protocol import Checked, Fault, Forecaster, ForecastTask, ask, check
from core.market.labels import momentum
from core.market.predictor import windows_of
from tests.core.market.helpers import HEADS, random_book

TASK = ForecastTask(heads=HEADS, alphas=(1e-4, 2e-4, 3e-4, 0.5e-4), window=24)
ROWS = random_book(200, 3)
ENDS = np.arange(23, 200)
WINDOWS = windows_of(ROWS.levels, ENDS, 24)
GOOD = np.full((len(ENDS), len(HEADS), 3), 1 / 3)


class Answering:
    """Gives what it was made with, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def predict(self, windows: np.ndarray) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def answered(answer: Any) -> Checked:
    return ask(Answering(answer), "Mine", ROWS.timestamps[ENDS], WINDOWS, TASK)


def changed(values: list[float]) -> np.ndarray:
    p = GOOD.copy()
    p[5, 2] = values
    return p


@pytest.mark.parametrize(
    ("values", "fault", "reason"),
    [
        ([np.nan, 0.5, 0.5], Fault.NOT_A_NUMBER, "Mine gave a probability that is not a number from 0 to 1."),
        ([-0.1, 0.6, 0.5], Fault.NOT_A_NUMBER, "Mine gave a probability that is not a number from 0 to 1."),
        ([np.inf, 0.0, 0.0], Fault.NOT_A_NUMBER, "Mine gave a probability that is not a number from 0 to 1."),
        ([0.5, 0.5, 0.2], Fault.SUM, "Mine gave three probabilities that sum to 1.200: they must sum to 1."),
    ],
)
def test_a_bad_row_is_missing_and_the_others_stay(values: list[float], fault: Fault, reason: str) -> None:
    found = answered(changed(values))
    assert found.faults[5, 2] == fault and found.reason == reason
    assert (found.faults != Fault.NONE).sum() == 1
    assert np.isnan(found.probabilities).sum() == 3 and np.isnan(found.probabilities[5, 2]).all()


@pytest.mark.parametrize(
    ("answer", "fault", "reason"),
    [
        (GOOD[:-1], Fault.SHAPE, "Mine gave an array of the shape (176, 4, 3): (177, 4, 3) is right."),
        (GOOD[..., :2], Fault.SHAPE, "Mine gave an array of the shape (177, 4, 2): (177, 4, 3) is right."),
        ("up", Fault.SHAPE, "Mine gave no array of numbers: one of the shape (177, 4, 3) is right."),
        (
            {("forward", 10): GOOD[:, 0, :1]},
            Fault.SHAPE,
            "Mine gave an array of the shape (177, 1) for forward_10: (177, 3) is right.",
        ),
        (RuntimeError("no weights"), Fault.FAILED, "Mine failed: RuntimeError: no weights."),
    ],
)
def test_an_answer_that_is_bad_as_a_whole_is_missing_throughout(answer: Any, fault: Fault, reason: str) -> None:
    found = answered(answer)
    assert (found.faults == fault).all() and found.reason == reason
    assert found.probabilities.shape == GOOD.shape and np.isnan(found.probabilities).all()


def test_rounded_rows_are_divided_by_their_sum() -> None:
    found = answered(changed([0.333, 0.333, 0.333]))
    assert found.reason == "" and (found.faults == Fault.NONE).all()
    assert found.probabilities[5, 2] == pytest.approx([1 / 3] * 3, abs=1e-12)


@pytest.mark.parametrize("key", [("forward", 5), "forward_5"])
def test_heads_that_are_not_offered_are_no_fault(key: Any) -> None:
    p = np.random.default_rng(0).dirichlet([1, 1, 1], len(ENDS))
    found = answered({key: p})
    assert found.reason == "" and found.probabilities[:, 3] == pytest.approx(p, abs=1e-12)
    assert (found.faults[:, 3] == Fault.NONE).all() and (found.faults[:, :3] == Fault.NOT_OFFERED).all()


def test_any_object_with_predict_is_a_forecaster() -> None:
    assert isinstance(Answering(GOOD), Forecaster)
    assert not isinstance(object(), Forecaster)


def test_the_likeliest_class_of_momentum_is_what_the_rule_calls() -> None:
    found = check(MomentumForecaster(TASK).predict(WINDOWS), "momentum", len(ENDS), HEADS)
    assert (found.faults == Fault.NONE).all()
    for index, ((_, horizon), alpha) in enumerate(zip(HEADS, TASK.alphas, strict=True)):
        called = momentum(ROWS.mid, horizon, alpha)[ENDS]
        assert found.probabilities[:, index].argmax(axis=1).tolist() == called.tolist()
        assert len(set(called.tolist())) == 3


def test_always_stationary_calls_nothing_else() -> None:
    found = check(StationaryForecaster(TASK).predict(WINDOWS), "stationary", len(ENDS), HEADS)
    assert (found.faults == Fault.NONE).all() and (found.probabilities.argmax(axis=-1) == 1).all()
