"""Formats of the numbers that a figure writes as text, in English; a page passes formats of the reader's language."""

from __future__ import annotations

from collections.abc import Callable

Write = Callable[[float], str]


def three_digits(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}"


def two_decimals(value: float) -> str:
    """Two decimals; minus zero is written as zero."""
    return f"{value + 0.0:.2f}"
