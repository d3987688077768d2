"""Claims of the metrics lab, against edits counted by recursion and n-grams by hand."""

from collections import Counter
from functools import cache
from typing import Any

from core.lecture.claims import metrics as claims
from core.signs import metrics
from core.signs.edits import edit_table
from tests.core.lecture.claims.walk import Walk, states

SENTENCES = ["A B C A B", "", "A", "B A", "X A A Y"]


@cache
def edits(reference: tuple[str, ...], hypothesis: tuple[str, ...]) -> int:
    if not reference or not hypothesis:
        return len(reference) + len(hypothesis)
    last = edits(reference[:-1], hypothesis[:-1]) + (reference[-1] != hypothesis[-1])
    return min(last, edits(reference[:-1], hypothesis) + 1, edits(reference, hypothesis[:-1]) + 1)


def test_an_entry_of_levenshteins_table() -> None:
    walk = Walk(claims.entry)
    for state in states(reference=SENTENCES, hypothesis=["A C B", *SENTENCES], row=[2, 0, 1, 9], column=[2, 0, 1, 9]):
        ref, hyp = state["reference"].split(), state["hypothesis"].split()
        i, j = min(state["row"], len(ref)), min(state["column"], len(hyp))
        above, left, diagonal, here = (edits(tuple(ref[:a]), tuple(hyp[:b])) if a >= 0 <= b else None
                                       for a, b in ((i - 1, j), (i, j - 1), (i - 1, j - 1), (i, j)))  # fmt: skip
        truth: dict[str, Any]
        if not i or not j:
            truth = {"deletions": {"count": here}} if i else {"insertions": {"count": here}} if j else {"start": {}}
        elif ref[i - 1] == hyp[j - 1]:
            truth = {"same": {"reference": ref[i - 1], "hypothesis": hyp[j - 1], "value": here}}
        else:
            truth = {"differ": {"deletion": above, "insertion": left, "diagonal": diagonal, "reference": ref[i - 1]}}
            assert here == 1 + min(above, left, diagonal)  # type: ignore[type-var,operator]
        table = edit_table(ref, hyp)
        assert table[i, j] == here
        walk.check((table, ref, hyp, (i, j)), truth, state)
    walk.end()


def grams(sentence: str, order: int) -> Counter[tuple[str, ...]]:
    words = sentence.split()
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def test_a_bleu_of_0() -> None:
    walk = Walk(claims.zero)
    for state in states(hypothesis=["A B C", "", "B A", "C B A", "A B C D E"], second=[None, "", "X Y"], order=[4, 1, 2]):
        references, hypotheses = ["A B C D E"], [state["hypothesis"]]
        if state["second"] is not None:
            references, hypotheses = [*references, "X Y Z"], [*hypotheses, state["second"]]
        orders = range(1, state["order"] + 1)
        pairs = list(zip(references, hypotheses, strict=True))
        matches = [sum((grams(ref, n) & grams(hyp, n)).total() for ref, hyp in pairs) for n in orders]
        totals = [sum(grams(hyp, n).total() for hyp in hypotheses) for n in orders]
        lists = ([one.split() for one in side] for side in (references, hypotheses))
        bleu = metrics.bleu(*lists, order=state["order"])
        assert (list(bleu.counts), list(bleu.totals)) == (matches, totals), state
        truth: dict[str, dict[str, Any]] = {}
        words = sum(len(one.split()) for one in hypotheses)
        if not words or not hypotheses[0]:
            truth["no words here" if words else "no words"] = {}
        missing = [n for n, match, total in zip(orders, matches, totals, strict=True) if total and not match]
        if missing:
            truth["no match"] = {"order": missing[0]}
        elif words and not all(totals):
            truth["too short"] = {"order": totals.index(0) + 1}
        walk.check((bleu, len(hypotheses[0].split())), truth, state)
    walk.end()
