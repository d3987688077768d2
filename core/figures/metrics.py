"""Figures of sentence metrics: the tables of Levenshtein's distance and of the longest common subsequence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.cells import cell_text
from core.figures.draft import Draft
from core.figures.play import How, Play, PlayFrame
from core.figures.style import ORANGE, SEQUENTIAL_CLEAR, base_layout
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
    figure = Draft(
        {
            "type": "heatmap",
            "z": np.where(known, table, np.nan),
            "colorscale": SEQUENTIAL_CLEAR,
            "zmin": 0,
            "zmax": max(1, int(table.max())),
            "showscale": True,
            "colorbar": {"thickness": 8, "outlinewidth": 0, "ticks": ""},
            "xgap": 1,
            "ygap": 1,
            "hoverinfo": "skip",
        }
    )
    if path:
        figure.add_scatter(
            x=[column for _row, column in path],
            y=[row for row, _column in path],
            mode="lines",
            line={"color": ORANGE, "width": 3},
            opacity=0.65,
            hoverinfo="skip",
        )
    figure.add_trace(cell_text(np.where(known, table, np.nan), "d", size=15))
    layout = base_layout(
        x_title=_("Hypothesis"), y_title=_("Reference"), keep=keep, legend=False, height=100 + CELL_PX * table.shape[0]
    )
    figure.update_layout(layout)
    if filled:
        row, column = divmod(filled - 1, table.shape[1])
        box = {"type": "rect", "x0": column - 0.48, "x1": column + 0.48, "y0": row - 0.48, "y1": row + 0.48}
        figure.add_shape(**box, line={"color": ORANGE, "width": 3})
    common = {"showgrid": False, "ticks": ""}
    figure.update_xaxes(
        side="top",
        tickvals=list(range(table.shape[1])),
        ticktext=["–", *hypothesis],
        range=[-0.5, table.shape[1] - 0.5],
        **common,
    )
    figure.update_yaxes(
        tickvals=list(range(table.shape[0])), ticktext=["–", *reference], range=[table.shape[0] - 0.5, -0.5], **common
    )
    return figure.figure()


def table_play(figure: go.Figure, columns: int, captions: Sequence[str], *, start: int) -> Play:
    """The table of `table_figure` (filled to its end and framed), entry by entry; a caption an entry.

    Args:
        columns: of the table. start: the entry that is shown first, from 0 on. A path is drawn with the last entry.
    """
    kinds = {index: getattr(trace, "mode", None) for index, trace in enumerate(figure.data)}
    last = len(captions) - 1
    frames = []
    for entry, caption in enumerate(captions):
        row, column = divmod(entry, columns)
        box = {"x0": column - 0.48, "x1": column + 0.48, "y0": row - 0.48, "y1": row + 0.48}
        shown = tuple((10**6 if entry == last else 0) if mode == "lines" else entry + 1 for mode in kinds.values())
        frames.append(PlayFrame(shown=shown, caption=caption, layout={f"shapes.0.{name}": value for name, value in box.items()}))
    how: dict[int, How] = {index: "cells" if mode is None else "points" for index, mode in kinds.items()}
    return Play(how=how, frames=frames, start=start, every_ms=300)


def alignment_path(steps: Sequence[Edit]) -> list[tuple[int, int]]:
    """The entries of the table that an alignment goes through, from (0, 0) to the last one."""
    path = [(0, 0)]
    for step in steps:
        row, column = path[-1]
        path.append((row + (step.reference is not None), column + (step.hypothesis is not None)))
    return path
