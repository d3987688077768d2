"""Levenshtein's table between two sentences of glosses, and corpus-level word error rate (iiga-equations section 12; D20a)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Operation = Literal["equal", "substitution", "deletion", "insertion"]


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One step of an alignment: what became of a reference word.

    Attributes:
        reference: index of the word in the reference, None for an insertion.
        hypothesis: index of the word in the hypothesis, None for a deletion.
    """

    operation: Operation
    reference: int | None
    hypothesis: int | None


def edit_table(reference: Sequence[Hashable], hypothesis: Sequence[Hashable]) -> NDArray[np.int64]:
    """DP of section 12.2: (N + 1, M + 1), entry (i, j) the fewest edits from the first i words to the first j.

    >>> int(edit_table(["A", "B"], ["A", "C", "B"])[-1, -1])
    1
    """
    n, m = len(reference), len(hypothesis)
    table = np.zeros((n + 1, m + 1), dtype=np.int64)
    table[:, 0] = np.arange(n + 1)
    table[0] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if reference[i - 1] == hypothesis[j - 1]:
                table[i, j] = table[i - 1, j - 1]
            else:
                table[i, j] = 1 + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return table


def alignment(reference: Sequence[Hashable], hypothesis: Sequence[Hashable]) -> list[Edit]:
    """One way with the fewest edits, in reading order; of several, a pair before a gap, a deletion before an insertion."""
    table = edit_table(reference, hypothesis)
    i, j = len(reference), len(hypothesis)
    steps: list[Edit] = []
    while i or j:
        equal = bool(i and j) and reference[i - 1] == hypothesis[j - 1]
        if i and j and table[i, j] == table[i - 1, j - 1] + (not equal):
            i, j = i - 1, j - 1
            steps.append(Edit(operation="equal" if equal else "substitution", reference=i, hypothesis=j))
        elif i and table[i, j] == table[i - 1, j] + 1:
            i -= 1
            steps.append(Edit(operation="deletion", reference=i, hypothesis=None))
        else:
            j -= 1
            steps.append(Edit(operation="insertion", reference=None, hypothesis=j))
    return steps[::-1]


def word_error_rate(references: Sequence[Sequence[Hashable]], hypotheses: Sequence[Sequence[Hashable]]) -> float:
    """Sum of edit distances over sum of reference lengths (D20a).

    Raises:
        ValueError: where the references hold no word at all, or the two lists differ in length.
    """
    words = sum(len(reference) for reference in references)
    if words == 0:
        raise ValueError("the word error rate divides by the words of the references: these hold none")
    return sum(int(edit_table(r, h)[-1, -1]) for r, h in zip(references, hypotheses, strict=True)) / words
