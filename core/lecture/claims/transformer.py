"""Claims of the lesson on encoder and decoder: about where an answer looks, and about a beam beside greedy search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.lecture import dates
from core.lecture.claims import Claim
from core.lecture.decoding import DateHypothesis
from core.messages import compose

PLACES: Final = {"year": range(4), "month": range(5, 7), "day": range(8, 10)}
"""Symbols of YYYY-MM-DD."""


@dataclass(frozen=True, kw_only=True)
class Looking:
    """Cross-attention (symbols, characters) from an answer to a text, and the symbol whose row is outlined, from 0."""

    cross: Any
    step: int
    text: Sequence[str]
    answer: str

    def at(self, symbols: Sequence[int]) -> str:
        """The characters, counted from 1, at which these symbols look most."""
        return ", ".join(str(int(self.cross[one].argmax()) + 1) for one in symbols)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The sequences of a beam at its end, the best first, and the greedy one."""

    beam: Sequence[DateHypothesis]
    greedy: DateHypothesis

    @property
    def same(self) -> bool:
        """Tells whether the beam's best is the greedy sequence."""
        return self.beam[0].symbols == self.greedy.symbols

    @property
    def lost(self) -> bool:
        """Tells whether the beam dropped the beginning of a greedy sequence that is more probable than all it ended in."""
        return not self.same and self.beam[0].score < self.greedy.score

    def texts(self) -> dict[str, str]:
        """Both as they are read."""
        return {"other": dates.decode_text(self.beam[0].symbols), "answer": dates.decode_text(self.greedy.symbols)}


DECODE: Final = (
    Claim[Looking](
        "row",
        lambda _one: True,
        lambda one: compose(
            "The outlined row, symbol {symbol}, looks most at character {place} of {count}, “{character}”, with {weight:.2f}.",
            symbol=one.step + 1, place=int(one.cross[one.step].argmax()) + 1, count=len(one.text),
            character=one.text[int(one.cross[one.step].argmax())], weight=float(one.cross[one.step].max()),
        ),
    ),
    Claim[Looking](
        "fields",
        lambda one: [len(field) for field in one.answer.split("-")] == [4, 2, 2],
        lambda one: compose(
            "The year's four symbols look most at characters {year}, the month's two at {month}, the day's two at {day}.",
            **{name: one.at(symbols) for name, symbols in PLACES.items()},
        ),
    ),
)  # fmt: skip
BEAM: Final = (
    Claim[Ended](
        "alone",
        lambda one: len(one.beam) == 1,
        lambda _one: compose("A beam of width 1 is greedy search."),
    ),
    Claim[Ended](
        "second",
        lambda one: len(one.beam) > 1,
        lambda one: compose(
            "The second of this beam has {share:.2g} of the best one's probability.",
            share=one.beam[1].probability / one.beam[0].probability,
        ),
    ),
)  # fmt: skip
COMPARED: Final = (
    Claim[Ended](
        "same",
        lambda one: one.same,
        lambda one: compose("Greedy and beam search agree on {answer}.", **one.texts()),
    ),
    Claim[Ended](
        "better",
        lambda one: not one.same and not one.lost,
        lambda one: compose("The beam ends in {other}, more probable than the greedy {answer}.", **one.texts()),
    ),
    Claim[Ended](
        "worse",
        lambda one: one.lost,
        lambda one: compose(
            "The beam ends in {other}, less probable than the greedy {answer}, whose beginning it dropped.", **one.texts()
        ),
    ),
)  # fmt: skip
