"""Tables of sentence metrics, of edits and of the longest common subsequence, and what one entry says (iiga-equations 12)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.figures.matrix import Matrix
from core.messages import Message, compose
from core.messages import translate as _
from core.signs.edits import Edit


def sentences_table(
    table: NDArray[np.int64],
    reference: Sequence[str],
    hypothesis: Sequence[str],
    *,
    name: str,
    path: Sequence[tuple[int, int]],
    filled: int | None = None,
) -> Matrix:
    """A table (N + 1, M + 1), the reference down and the hypothesis across, filled row by row.

    Args:
        path: (row, column) entries that are outlined. filled: how many entries are filled already; all where None.
    """
    known = np.arange(table.size).reshape(table.shape) < (table.size if filled is None else filled)
    return Matrix(
        values=np.where(known, table, np.nan),
        name=name,
        rows=["–", *reference],
        columns=["–", *hypothesis],
        x_title=_("Hypothesis"),
        y_title=_("Reference"),
        signed=False,
        top=max(1.0, float(table.max())),
        digits=0,
        numbers=True,
        outlined=tuple((row, row, column, column) for row, column in path),
    )


def alignment_path(steps: Sequence[Edit]) -> list[tuple[int, int]]:
    """The entries of the table that an alignment goes through, from (0, 0) to the last one."""
    path = [(0, 0)]
    for step in steps:
        row, column = path[-1]
        path.append((row + (step.reference is not None), column + (step.hypothesis is not None)))
    return path


def about_entry(table: NDArray[np.int64], reference: Sequence[str], hypothesis: Sequence[str], place: tuple[int, int]) -> Message:
    """An entry of Levenshtein's table (`core.signs.edits.edit_table`, section 12.2), by its row and column, in words (D34)."""
    i, j = place
    if not i and not j:
        return compose("Two empty beginnings need no edit.")
    if not j:
        return compose("Deletions alone: {count}.", count=i)
    if not i:
        return compose("Insertions alone: {count}.", count=j)
    words: dict[str, str] = {"reference": reference[i - 1], "hypothesis": hypothesis[j - 1]}
    diagonal = int(table[i - 1, j - 1])
    if words["reference"] == words["hypothesis"]:
        return compose("`{reference}` equals `{hypothesis}`: the diagonal entry, {value}, is copied.", value=diagonal, **words)
    return compose(
        "`{reference}` differs from `{hypothesis}`: 1 + the least of {deletion} (above, a deletion), {insertion} (to the "
        "left, an insertion) and {diagonal} (diagonal, a substitution).",
        deletion=int(table[i - 1, j]),
        insertion=int(table[i, j - 1]),
        diagonal=diagonal,
        **words,
    )
