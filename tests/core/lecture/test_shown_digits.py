"""How many decimals a printed calculation shows."""

import math

import numpy as np
import pytest

from core.lecture.shown_digits import MAX_DIGITS, digits_needed, dot, flat


def quotient(a: float, b: float) -> float:
    return a / b


@pytest.mark.parametrize("seed", range(40))
def test_the_printed_numbers_give_the_printed_result(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for compute, values in (
        (quotient, rng.uniform(0.02, 3, 2)),
        (dot, rng.normal(size=8)),
        (lambda *given: sum(given), rng.normal(size=5)),
        (lambda a, b: (math.tanh(a + b), a * b), rng.normal(size=2)),
    ):
        digits = digits_needed(compute, *values, result=3)
        again = compute(*(float(f"{value:.{digits}f}") for value in values))
        assert [f"{value + 0.0:.3f}" for value in np.atleast_1d(again)] == [
            f"{value + 0.0:.3f}" for value in np.atleast_1d(compute(*values))
        ]


def test_no_more_decimals_than_it_takes() -> None:
    assert digits_needed(quotient, 1.0, 4.0, result=3) == 3
    digits = digits_needed(quotient, 2 / 3, 1 / 30, result=1)
    assert round(round(2 / 3, digits) / round(1 / 30, digits), 1) == 20.0
    assert round(round(2 / 3, digits - 1) / round(1 / 30, digits - 1), 1) != 20.0
    assert digits_needed(lambda x: 1e12 * x, 1 / 3, result=3) == MAX_DIGITS


def test_rows_are_read_one_after_the_other() -> None:
    values = flat(np.array([1.0, 2.0]), np.array([[3.0], [4.0]]))
    assert values == [1.0, 2.0, 3.0, 4.0] and dot(*values) == 11.0
