"""Figures of sentence metrics: tables of edits and of the longest common subsequence, the diagram (iiga-equations 12)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

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
