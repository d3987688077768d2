"""Claims of the metrics lab: about one entry of Levenshtein's table, and about a BLEU of 0."""

from __future__ import annotations

from core.lecture.claims import Said
from core.messages import compose
from core.signs.metrics import BleuScore, EditCell, Sentence


def entry(cell: EditCell, reference: Sentence, hypothesis: Sentence) -> Said:
    """An entry of the table of two sentences."""
    said: Said = {}
    if not cell.row and not cell.column:
        said["start"] = compose("Two empty beginnings need no edit.")
    elif not cell.column:
        said["deletions"] = compose("Deletions alone: {count}.", count=cell.row)
    elif not cell.row:
        said["insertions"] = compose("Insertions alone: {count}.", count=cell.column)
    elif cell.same:
        said["same"] = compose(
            "`{reference}` equals `{hypothesis}`: the diagonal entry, {value}, is copied.",
            reference=reference[cell.row - 1],
            hypothesis=hypothesis[cell.column - 1],
            value=cell.diagonal,
        )
    else:
        said["differ"] = compose(
            "`{reference}` differs from `{hypothesis}`: 1 + the least of {deletion} (above, a deletion), {insertion} (to the "
            "left, an insertion) and {diagonal} (diagonal, a substitution).",
            reference=reference[cell.row - 1],
            hypothesis=hypothesis[cell.column - 1],
            deletion=cell.deletion,
            insertion=cell.insertion,
            diagonal=cell.diagonal,
        )
    return said


def zero(bleu: BleuScore, listed: int) -> Said:
    """Reasons of a corpus's BLEU of 0; `listed` are the words of the hypothesis whose n-grams are shown."""
    said: Said = {}
    if not bleu.hypothesis_length:
        said["no words"] = compose("An empty hypothesis has no n-grams: BLEU is 0.")
        return said
    if not listed:
        said["no words here"] = compose("This sentence's hypothesis is empty and has no n-grams; BLEU is of all sentences.")
    if bleu.score:
        return said
    pairs = zip(bleu.precisions, bleu.totals, strict=True)
    if order := next((order for order, (precision, total) in enumerate(pairs, 1) if total and not precision), 0):
        said["no match"] = compose("No {order}-gram matches: a precision of 0, and so a BLEU of 0.", order=order)
    else:
        said["too short"] = compose(
            "No hypothesis has {order} words: there is no {order}-gram, and BLEU is 0 without a precision of that order.",
            order=bleu.totals.index(0) + 1,
        )
    return said
