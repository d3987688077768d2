"""Claims of the lesson on encoder and decoder: about where an answer looks, and about a beam beside greedy search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from core.lecture import dates
from core.lecture.claims import Said
from core.lecture.decoding import DateHypothesis
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


def beam(ended: Sequence[DateHypothesis]) -> Said:
    """The sequences of a beam at its end, the best first."""
    said: Said = {}
    if len(ended) == 1:
        said["alone"] = compose("A beam of width 1 is greedy search.")
    else:
        said["second"] = compose(
            "The second of this beam has {share:.2g} of the best one's probability.",
            share=ended[1].probability / ended[0].probability,
        )
    return said


def lost(best: DateHypothesis, greedy: DateHypothesis) -> bool:
    """Tells whether a beam dropped the beginning of a greedy sequence that is more probable than the best it ended in."""
    return best.symbols != greedy.symbols and best.score < greedy.score


def compared(best: DateHypothesis, greedy: DateHypothesis) -> Said:
    """A beam's best sequence beside the greedy one."""
    said: Said = {}
    other, answer = dates.decode_text(best.symbols), dates.decode_text(greedy.symbols)
    if best.symbols == greedy.symbols:
        said["same"] = compose("Greedy and beam search agree on {answer}.", other=other, answer=answer)
    elif lost(best, greedy):
        said["worse"] = compose(
            "The beam ends in {other}, less probable than the greedy {answer}, whose beginning it dropped.",
            other=other,
            answer=answer,
        )
    else:
        said["better"] = compose("The beam ends in {other}, more probable than the greedy {answer}.", other=other, answer=answer)
    return said
