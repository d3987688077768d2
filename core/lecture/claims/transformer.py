"""Claims of the lesson on encoder and decoder: about where an answer looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from core.lecture.claims import Said
from core.messages import compose

PLACES: Final = {"year": range(4), "month": range(5, 7), "day": range(8, 10)}
"""Symbols of YYYY-MM-DD."""


def decode(cross: Any, step: int, text: Sequence[str], answer: str) -> Said:
    """Cross-attention (symbols, characters) from an answer to a text; `step` is the symbol whose row is outlined, from 0."""
    said: Said = {}
    most = [int(row.argmax()) for row in cross]
    said["row"] = compose(
        "The outlined row, symbol {symbol}, looks most at character {place} of {count}, “{character}”, with {weight:.2f}.",
        symbol=step + 1,
        place=most[step] + 1,
        count=len(text),
        character=text[most[step]],
        weight=float(cross[step].max()),
    )
    if [len(field) for field in answer.split("-")] == [4, 2, 2]:
        said["fields"] = compose(
            "The year's four symbols look most at characters {year}, the month's two at {month}, the day's two at {day}.",
            **{name: ", ".join(str(most[symbol] + 1) for symbol in symbols) for name, symbols in PLACES.items()},
        )
    return said
