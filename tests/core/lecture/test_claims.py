"""Sentences of the metrics lab, against edits counted by recursion and n-grams by hand, in both languages."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import product

from core.lecture import claims
from core.messages import Message
from core.signs import metrics
from core.signs.edits import edit_table
from pages.shared.language import translate_to

SENTENCES = ["A C B", "A B C A B", "", "A", "B A", "X A A Y"]


def check(told: Sequence[Message], true: Sequence[str], state: object) -> None:
    """Exactly these sentences, and in Spanish others with the same numbers."""
    assert [str(one) for one in told] == true, state
    for one in told:
        spanish = translate_to("es", one)
        assert spanish != one and sorted(re.findall(r"\d+", spanish)) == sorted(re.findall(r"\d+", one)), state


@cache
def edits(reference: tuple[str, ...], hypothesis: tuple[str, ...]) -> int:
    if not reference or not hypothesis:
        return len(reference) + len(hypothesis)
    last = edits(reference[:-1], hypothesis[:-1]) + (reference[-1] != hypothesis[-1])
    return min(last, edits(reference[:-1], hypothesis) + 1, edits(reference, hypothesis[:-1]) + 1)


def test_an_entry_of_levenshteins_table() -> None:
    for reference, hypothesis in product(SENTENCES[1:], SENTENCES):
        ref, hyp = reference.split(), hypothesis.split()
        table = edit_table(ref, hyp)
        for i, j in product(range(len(ref) + 1), range(len(hyp) + 1)):
            above, left, diagonal, here = (edits(tuple(ref[:a]), tuple(hyp[:b])) if a >= 0 <= b else 99
                                           for a, b in ((i - 1, j), (i, j - 1), (i - 1, j - 1), (i, j)))  # fmt: skip
            if not i or not j:
                alone = f"Deletions alone: {here}." if i else f"Insertions alone: {here}."
                true = alone if i or j else "Two empty beginnings need no edit."
            elif ref[i - 1] == hyp[j - 1]:
                true = f"`{ref[i - 1]}` equals `{hyp[j - 1]}`: the diagonal entry, {here}, is copied."
            else:
                assert here == 1 + min(above, left, diagonal)
                true = (
                    f"`{ref[i - 1]}` differs from `{hyp[j - 1]}`: 1 + the least of {above} (above, a deletion), {left} (to the "
                    f"left, an insertion) and {diagonal} (diagonal, a substitution)."
                )
            assert table[i, j] == here
            check([claims.about_entry(table, ref, hyp, (i, j))], [true], (reference, hypothesis, i, j))


def grams(sentence: str, order: int) -> Counter[tuple[str, ...]]:
    words = sentence.split()
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def test_a_bleu_of_0() -> None:
    found = set()
    for first, second, order in product(["A B C", "", "B A", "C B A", "A B C D E"], [None, "", "X Y"], [4, 1, 2]):
        references = ["A B C D E"] if second is None else ["A B C D E", "X Y Z"]
        hypotheses = [first] if second is None else [first, second]
        orders = range(1, order + 1)
        pairs = list(zip(references, hypotheses, strict=True))
        matches = [sum((grams(ref, n) & grams(hyp, n)).total() for ref, hyp in pairs) for n in orders]
        totals = [sum(grams(hyp, n).total() for hyp in hypotheses) for n in orders]
        lists = ([one.split() for one in side] for side in (references, hypotheses))
        bleu = metrics.bleu(*lists, order=order)
        assert (list(bleu.counts), list(bleu.totals)) == (matches, totals), (first, second, order)
        missing = [n for n, match, total in zip(orders, matches, totals, strict=True) if total and not match]
        true = []
        if not any(hypotheses):
            true.append("An empty hypothesis has no n-grams: BLEU is 0.")
        elif not first:
            true.append("This sentence's hypothesis is empty and has no n-grams; BLEU is of all sentences.")
        if missing:
            true.append(f"No {missing[0]}-gram matches: a precision of 0, and so a BLEU of 0.")
        elif any(hypotheses) and not all(totals):
            n = totals.index(0) + 1
            true.append(f"No hypothesis has {n} words: there is no {n}-gram, and BLEU is 0 without a precision of that order.")
        check(claims.about_zero(bleu, len(first.split())), true, (first, second, order))
        found.update(re.sub(r"\d", "n", one) for one in true)
    assert len(found) == 4, "each was true once"
