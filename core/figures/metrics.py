"""Figures of sentence metrics: tables of edits and of the longest common subsequence, the diagram (iiga-equations 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, shape
from core.figures.style import ORANGE, SEQUENTIAL_CLEAR
from core.figures.traces import cell_text, chart, heat, line
from core.messages import translate as _
from core.signs.edits import Edit

CELL_PX = 44


def table_figure(
    table: NDArray[np.int64],
    reference: Sequence[str],
    hypothesis: Sequence[str],
    *,
    filled: int | None = None,
    path: Sequence[tuple[int, int]] = (),
    keep: str = "table",
) -> go.Figure:
    """A table (N + 1, M + 1), the reference down and the hypothesis across, filled row by row.

    Args:
        filled: how many entries are filled already; the last of them is framed. All where None, and none framed.
        path: (row, column) entries that a line is drawn through.
    """
    count = table.size if filled is None else filled
    known = np.arange(table.size).reshape(table.shape) < count
    (down, across), z = table.shape, np.where(known, table, np.nan)
    traces = [heat(z, SEQUENTIAL_CLEAR, 0, max(1, int(table.max())), bar={}, hover="", xgap=1, ygap=1)]
    if path:
        rows, columns = zip(*path, strict=True)
        traces.append(line(columns, rows, colour=ORANGE, width=3, hover="", opacity=0.65))
    traces.append(cell_text(z, "d", size=15))
    box = {"type": "rect", **_box(filled - 1, across), "line": {"color": ORANGE, "width": 3}} if filled else None
    plain = {"showgrid": False, "ticks": ""}
    return chart(traces, x_title=_("Hypothesis"), y_title=_("Reference"), keep=keep, legend=False, height=100 + CELL_PX * down,
                 x={"side": "top", "tickvals": list(range(across)), "ticktext": ["–", *hypothesis],
                    "range": [-0.5, across - 0.5], **plain},
                 y={"tickvals": list(range(down)), "ticktext": ["–", *reference], "range": [down - 0.5, -0.5], **plain},
                 shapes=[box] if box else [])  # fmt: skip


def _box(entry: int, columns: int) -> dict[str, float]:
    """Corners of an entry's frame."""
    row, column = divmod(entry, columns)
    return {"x0": column - 0.48, "x1": column + 0.48, "y0": row - 0.48, "y1": row + 0.48}


def alignment_path(steps: Sequence[Edit]) -> list[tuple[int, int]]:
    """The entries of the table that an alignment goes through, from (0, 0) to the last one."""
    path = [(0, 0)]
    for step in steps:
        row, column = path[-1]
        path.append((row + (step.reference is not None), column + (step.hypothesis is not None)))
    return path


def metrics_diagram(*, words: tuple[str, str], table: tuple[int, int], written: Mapping[str, str], sentence: str = "") -> Diagram:
    """From a reference and a hypothesis to the three scores.

    Args:
        words: of the references and of the hypotheses. table: rows and columns of the sentence's tables.
        written: `edits` (errors), `matches` (n-grams), `common` (words of the common subsequence), `orders`
            of the n-grams, and the scores `WER`, `BLEU` and `ROUGE-L`.
        sentence: number of the one whose tables and ROUGE-L are shown, where there are several; WER and BLEU are of all.
    """
    longest = _("ROUGE-L of {sentence}").format(sentence=sentence) if sentence else "ROUGE-L"
    return Diagram(
        title=_("Block diagram of the sentence metrics"),
        blocks=(
            Block("reference", _("reference"), (0, 0.5), words[0], kind="data"),
            Block("hypothesis", _("hypothesis"), (0, 1.5), words[1], kind="data"),
            Block("edits", _("edits"), (2, 0), shape(table), "#metrics_table"),
            Block("grams", _("n-grams"), (2, 1), _("up to {count}").format(count=written["orders"]), "#ngrams"),
            Block("common", _("common"), (2, 2), shape(table), "#metrics_lcs"),
            Block("wer", "WER", (4, 0), written["WER"], "#metrics_table", kind="data"),
            Block("bleu", "BLEU", (4, 1), written["BLEU"], "#ngrams", kind="data"),
            Block("rouge", longest, (4, 2), written["ROUGE-L"], "#metrics_lcs", kind="data"),
        ),
        wires=(
            Wire("reference", "edits", words[0]),
            Wire("reference", "grams"),
            Wire("reference", "common"),
            Wire("hypothesis", "edits"),
            Wire("hypothesis", "grams"),
            Wire("hypothesis", "common", words[1]),
            Wire("edits", "wer", f"{written['edits']} / {words[0]}"),
            Wire("grams", "bleu", _("matches: {count}").format(count=written["matches"])),
            Wire("common", "rouge", _("{count} in order").format(count=written["common"])),
        ),
    )
