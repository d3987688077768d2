"""Numbers that a figure writes as text, as English does; a page passes its reader's own way."""

from __future__ import annotations

from collections.abc import Callable

Write = Callable[[float], str]
WriteDigits = Callable[[float, int], str]
"""Of a number and its count of decimals."""


def three_digits(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}"


def two_decimals(value: float) -> str:
    """Two decimals, and no minus before zero."""
    return f"{value + 0.0:.2f}"


def fixed_digits(value: float, digits: int) -> str:
    """So many decimals."""
    return f"{value:.{digits}f}"
