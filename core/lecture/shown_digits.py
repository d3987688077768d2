"""Number of decimals that a printed calculation needs so that a reader who repeats it gets the printed result."""

import contextlib
from collections.abc import Callable, Iterable
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
    wanted = _rounded(compute(*values), result)
    for digits in range(result, MAX_DIGITS):
        with contextlib.suppress(ZeroDivisionError):  # of a divisor that is rounded to 0
            if np.array_equal(_rounded(compute(*(round(float(value), digits) for value in values)), result), wanted):
                return digits
    return MAX_DIGITS


def significant_needed(compute: Callable[..., float], *values: float, result: int = 3) -> int:
    """Fewest significant digits of the values with which `compute` gives the result that is printed with `result` of them."""
    wanted = f"{compute(*values):.{result}g}"
    for digits in range(result, MAX_DIGITS):
        with contextlib.suppress(ZeroDivisionError):
            if f"{compute(*(float(f'{value:.{digits}g}') for value in values)):.{result}g}" == wanted:
                return digits
    return MAX_DIGITS


def dot(*values: float, scale: float = 1.0) -> float:
    """`scale` times the sum of products of two rows, the first row's entries before the second's."""
    half = len(values) // 2
    return scale * float(np.dot(values[:half], values[half:]))


def _rounded(result: ArrayLike, digits: int) -> np.ndarray:
    flat = np.atleast_1d(np.asarray(result, dtype=np.float64)).ravel()
    return np.array([round(float(value), digits) for value in flat])


def flat(*arrays: Iterable[float]) -> list[float]:
    """The entries of several arrays in one list."""
    return [float(value) for array in arrays for value in np.ravel(np.asarray(array))]
