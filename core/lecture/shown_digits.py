"""Number of decimals that a printed calculation needs so that a reader who repeats it gets the printed result."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

MAX_DIGITS: Final = 9


def digits_needed(compute: Callable[..., ArrayLike], *values: float, result: int = 3) -> int:
    """Fewest decimals of the values with which `compute` gives the result that is printed with `result` decimals.

    Args:
        compute: the printed formula, of the values in this order; its result may be an array.
        values: the numbers that are printed in it.
        result: decimals of the printed result.

    Returns:
        From `result` to `MAX_DIGITS` decimals.
    """
    return _needed(round, compute, values, result)


def significant_needed(compute: Callable[..., float], *values: float, result: int = 3) -> int:
    """Fewest significant digits of the values with which `compute` gives the result that is printed with `result` of them."""
    return _needed(lambda value, digits: float(f"{value:.{digits}g}"), compute, values, result)


def _needed(printed: Callable[..., float], compute: Callable[..., ArrayLike], values: Sequence[float], result: int) -> int:
    def result_of(*given: float) -> list[float]:
        return [printed(one, result) for one in flat(compute(*given))]

    wanted = result_of(*values)
    for digits in range(result, MAX_DIGITS):
        with contextlib.suppress(ZeroDivisionError):  # of a divisor that is rounded to 0
            if result_of(*(printed(float(value), digits) for value in values)) == wanted:
                return digits
    return MAX_DIGITS


def dot(*values: float, scale: float = 1.0) -> float:
    """`scale` times the sum of products of two rows, the first row's entries before the second's."""
    half = len(values) // 2
    return scale * float(np.dot(values[:half], values[half:]))


def flat(*arrays: ArrayLike) -> list[float]:
    """The entries of several arrays in one list."""
    return [float(value) for array in arrays for value in np.ravel(np.asarray(array))]
