"""Claims of the metrics lab: about one entry of Levenshtein's table, and about a BLEU of 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from core.lecture.claims import Claim
from core.messages import compose
from core.signs.metrics import BleuScore, EditCell, Sentence


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry of the table of two sentences."""

    cell: EditCell
    reference: Sentence
    hypothesis: Sentence

    @property
    def edge(self) -> bool:
        """Tells whether one of both beginnings is empty."""
        return not (self.cell.row and self.cell.column)

    def words(self) -> dict[str, str]:
        """The two words that meet in it."""
        return {"reference": self.reference[self.cell.row - 1], "hypothesis": self.hypothesis[self.cell.column - 1]}


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A corpus's BLEU, and the words of the hypothesis whose n-grams are listed."""

    bleu: BleuScore
    listed: int

    @property
    def unmatched(self) -> int:
        """The first order of which the hypotheses have n-grams and the precision is 0; 0 where there is none."""
        pairs = zip(self.bleu.precisions, self.bleu.totals, strict=True)
        return next((order for order, (precision, total) in enumerate(pairs, 1) if total and not precision), 0)


ENTRY: Final = (
    Claim[Entry](
        "start",
        lambda one: one.cell.row == one.cell.column == 0,
        lambda _one: compose("Two empty beginnings need no edit."),
    ),
    Claim[Entry](
        "deletions",
        lambda one: one.edge and one.cell.row > 0,
        lambda one: compose("Deletions alone: {count}.", count=one.cell.row),
    ),
    Claim[Entry](
        "insertions",
        lambda one: one.edge and one.cell.column > 0,
        lambda one: compose("Insertions alone: {count}.", count=one.cell.column),
    ),
    Claim[Entry](
        "same",
        lambda one: one.cell.same,
        lambda one: compose(
            "`{reference}` equals `{hypothesis}`: the diagonal entry, {value}, is copied.", **one.words(), value=one.cell.diagonal
        ),
    ),
    Claim[Entry](
        "differ",
        lambda one: not one.edge and not one.cell.same,
        lambda one: compose(
            "`{reference}` differs from `{hypothesis}`: 1 + the least of {deletion} (above, a deletion), {insertion} (to the "
            "left, an insertion) and {diagonal} (diagonal, a substitution).",
            **one.words(), deletion=one.cell.deletion, insertion=one.cell.insertion, diagonal=one.cell.diagonal,
        ),
    ),
)  # fmt: skip
BLEU: Final = (
    Claim[Counted](
        "no words",
        lambda one: one.bleu.hypothesis_length == 0,
        lambda _one: compose("An empty hypothesis has no n-grams: BLEU is 0."),
    ),
    Claim[Counted](
        "no words here",
        lambda one: one.listed == 0 < one.bleu.hypothesis_length,
        lambda _one: compose("This sentence's hypothesis is empty and has no n-grams; BLEU is of all sentences."),
    ),
    Claim[Counted](
        "no match",
        lambda one: one.bleu.score == 0 < one.unmatched,
        lambda one: compose("No {order}-gram matches: a precision of 0, and so a BLEU of 0.", order=one.unmatched),
    ),
    Claim[Counted](
        "too short",
        lambda one: one.bleu.score == one.unmatched == 0 < one.bleu.hypothesis_length,
        lambda one: compose(
            "No hypothesis has {order} words: there is no {order}-gram, and BLEU is 0 without a precision of that order.",
            order=one.bleu.totals.index(0) + 1,
        ),
    ),
)  # fmt: skip
