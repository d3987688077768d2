"""Sentences of the metrics lab about one entry of Levenshtein's table and about a BLEU of 0, each said only where true (D34)."""

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEUScore

from core.messages import Message, compose
from core.signs.metrics import Sentence


def about_entry(table: NDArray[np.int64], reference: Sentence, hypothesis: Sentence, place: tuple[int, int]) -> Message:
    """An entry of the table of two sentences (`core.signs.edits.edit_table`, section 12.2), by its row and column."""
    i, j = place
    if not i and not j:
        return compose("Two empty beginnings need no edit.")
    if not j:
        return compose("Deletions alone: {count}.", count=i)
    if not i:
        return compose("Insertions alone: {count}.", count=j)
    words: dict[str, str] = {"reference": reference[i - 1], "hypothesis": hypothesis[j - 1]}
    if words["reference"] == words["hypothesis"]:
        return compose(
            "`{reference}` equals `{hypothesis}`: the diagonal entry, {value}, is copied.",
            value=int(table[i - 1, j - 1]),
            **words,
        )
    return compose(
        "`{reference}` differs from `{hypothesis}`: 1 + the least of {deletion} (above, a deletion), {insertion} (to the "
        "left, an insertion) and {diagonal} (diagonal, a substitution).",
        deletion=int(table[i - 1, j]),
        insertion=int(table[i, j - 1]),
        diagonal=int(table[i - 1, j - 1]),
        **words,
    )


def about_zero(bleu: BLEUScore, listed: int) -> list[Message]:
    """Reasons of a corpus's BLEU of 0; `listed` are the words of the hypothesis whose n-grams are shown."""
    if not bleu.sys_len:
        return [compose("An empty hypothesis has no n-grams: BLEU is 0.")]
    here = [] if listed else [compose("This sentence's hypothesis is empty and has no n-grams; BLEU is of all sentences.")]
    if bleu.score:
        return here
    pairs = zip(bleu.precisions, bleu.totals, strict=True)
    if order := next((order for order, (precision, total) in enumerate(pairs, 1) if total and not precision), 0):
        return [*here, compose("No {order}-gram matches: a precision of 0, and so a BLEU of 0.", order=order)]
    return [
        *here,
        compose(
            "No hypothesis has {order} words: there is no {order}-gram, and BLEU is 0 without a precision of that order.",
            order=bleu.totals.index(0) + 1,
        ),
    ]
