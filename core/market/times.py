"""Times of files: milliseconds since the epoch, recognised by type, unit and plausible date, between 1990 and tomorrow (D40)."""

import time
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from core.market.grid import DAY_MS
from core.messages import Message, compose

UNITS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Units of whole numbers, in nanoseconds. No number is a plausible date in two of them."""
EARLIEST: Final = 631_152_000_000
"""1 January 1990, milliseconds: before it no market had an order book in a computer."""
UNKNOWN: Final = int(np.iinfo(np.int64).min)
"""In the place of what is no time."""
NO_TIME: Final = compose(
    "is no time between 1990 and tomorrow: a date in ISO 8601, such as 2024-08-08T13:00:00.250Z, or whole seconds, "
    "milliseconds, microseconds or nanoseconds since 1970 are right"
)


def plausible(milliseconds: ArrayLike) -> NDArray[np.bool_]:
    """Mask of the times at which a market may have been open: from 1990 until tomorrow."""
    times = np.asarray(milliseconds)
    return (times >= EARLIEST) & (times <= time.time() * 1e3 + DAY_MS)


def unit_of(numbers: NDArray[np.float64] | NDArray[np.int64]) -> str:
    """The unit in which most of these numbers are plausible dates; "" where they are in none."""
    values = numbers[np.isfinite(numbers)].astype(np.float64)
    if not len(values):
        return ""
    middle = np.sort(values)[len(values) // 2]
    return next((unit for unit, size in UNITS.items() if plausible(middle * (size / 1e6))), "")


def milliseconds(column: pd.Series, unit: str = "") -> tuple[NDArray[np.int64], str]:
    """Times of a column, milliseconds since the epoch, rounded up, so that no row knows a book before it came.

    Dates of any unit and zone, text in ISO 8601 (UTC where it names no zone), or numbers, whose unit is found.

    Args:
        unit: of numbers, where it is known already.

    Returns:
        (n,) times, `UNKNOWN` for what is none or lies out of all reason, and the unit of its numbers, "" where it has none.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.dtype.categories.dtype)
    if pd.api.types.is_datetime64_any_dtype(column):
        return _of_dates(column), unit
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return _of_numbers(column, unit)
    if not pd.api.types.is_object_dtype(column) and not pd.api.types.is_string_dtype(column):
        return np.full(len(column), UNKNOWN), unit
    texts = column.map(str, na_action="ignore").astype(str).str.strip(' "').str.replace(",", ".")  # ISO 8601 has either
    numbers = pd.to_numeric(texts, errors="coerce")
    times, unit = _of_numbers(numbers, unit)
    if (words := numbers.isna().to_numpy()).any():
        times[words] = _of_dates(pd.to_datetime(texts[words], format="ISO8601", utc=True, errors="coerce"))
    return times, unit


def why_not(value: object, column: str) -> Message:
    """A clause on a cell that is no time."""
    return compose("has {text!r} in column {column}, which {what}", text=str(value)[:40], column=column, what=NO_TIME)


def _of_dates(column: pd.Series) -> NDArray[np.int64]:
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert(None)
    values = column.to_numpy()
    known = ~np.isnat(values)
    size = UNITS[np.datetime_data(values.dtype)[0]]
    counts = values.astype(np.int64)
    times = -(-counts // (1_000_000 // size)) if size <= 1_000_000 else np.where(known, counts, 0) * (size // 1_000_000)
    return _only_plausible(np.where(known, times, UNKNOWN))


def _of_numbers(column: pd.Series, unit: str) -> tuple[NDArray[np.int64], str]:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    unit = unit or unit_of(values)
    if not unit:
        return np.full(len(values), UNKNOWN), unit
    size = UNITS[unit]
    if column.dtype.kind in "iu" and not column.hasnans:  # exact, where floats hold nanoseconds to 256 of them
        whole = column.to_numpy(dtype=np.int64, na_value=0)
        times = -(-whole // (1_000_000 // size)) if size <= 1_000_000 else np.clip(whole, 0, 2**40) * (size // 1_000_000)
        return _only_plausible(times), unit
    times = np.ceil(np.round(values * (size / 1e6), 3))
    known = np.isfinite(times) & (np.abs(times) < 2**53)
    return _only_plausible(np.where(known, times, UNKNOWN).astype(np.int64)), unit


def _only_plausible(times: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(plausible(times), times, UNKNOWN)
