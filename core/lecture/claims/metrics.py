"""Claims of the metrics lab: about one entry of Levenshtein's table, and about a BLEU of 0."""

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEUScore

from core.lecture.claims import Said
from core.messages import compose
from core.signs.metrics import Sentence


def entry(table: NDArray[np.int64], reference: Sentence, hypothesis: Sentence, place: tuple[int, int]) -> Said:
    """An entry of the table of two sentences (`core.signs.edits.edit_table`, section 12.2), by its row and column."""
    claims: Said = {}
    i, j = place
    if not i and not j:
        claims["start"] = compose("Two empty beginnings need no edit.")
    elif not j:
        claims["deletions"] = compose("Deletions alone: {count}.", count=i)
    elif not i:
        claims["insertions"] = compose("Insertions alone: {count}.", count=j)
    elif reference[i - 1] == hypothesis[j - 1]:
        claims["same"] = compose(
            "`{reference}` equals `{hypothesis}`: the diagonal entry, {value}, is copied.",
            reference=reference[i - 1],
            hypothesis=hypothesis[j - 1],
            value=int(table[i - 1, j - 1]),
        )
    else:
        claims["differ"] = compose(
            "`{reference}` differs from `{hypothesis}`: 1 + the least of {deletion} (above, a deletion), {insertion} (to the "
            "left, an insertion) and {diagonal} (diagonal, a substitution).",
            reference=reference[i - 1],
            hypothesis=hypothesis[j - 1],
            deletion=int(table[i - 1, j]),
            insertion=int(table[i, j - 1]),
            diagonal=int(table[i - 1, j - 1]),
        )
    return claims


def zero(bleu: BLEUScore, listed: int) -> Said:
    """Reasons of a corpus's BLEU of 0; `listed` are the words of the hypothesis whose n-grams are shown."""
    claims: Said = {}
    if not bleu.sys_len:
        claims["no words"] = compose("An empty hypothesis has no n-grams: BLEU is 0.")
        return claims
    if not listed:
        claims["no words here"] = compose("This sentence's hypothesis is empty and has no n-grams; BLEU is of all sentences.")
    if bleu.score:
        return claims
    pairs = zip(bleu.precisions, bleu.totals, strict=True)
    if order := next((order for order, (precision, total) in enumerate(pairs, 1) if total and not precision), 0):
        claims["no match"] = compose("No {order}-gram matches: a precision of 0, and so a BLEU of 0.", order=order)
    else:
        claims["too short"] = compose(
            "No hypothesis has {order} words: there is no {order}-gram, and BLEU is 0 without a precision of that order.",
            order=bleu.totals.index(0) + 1,
        )
    return claims
