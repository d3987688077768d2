"""A matrix as a class sees it on a board: coloured cells with their numbers in them, rows and columns named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.numbers import Write, two_decimals
from core.figures.style import DIVERGING, ORANGE, SEQUENTIAL, Scale, base_layout

MOST_NUMBERS: Final = 14
"""Columns up to which numbers are written into the cells."""
ROW_PX: Final = 30
FRAME_PX: Final = 92


SOFT_SIGNED: Final[Scale] = [(0.0, "rgba(213,112,31,0.6)"), (0.5, "rgba(133,140,150,0.05)"), (1.0, "rgba(47,126,199,0.6)")]
SOFT: Final[Scale] = [(0.0, "rgba(133,140,150,0.05)"), (1.0, "rgba(47,126,199,0.6)")]
"""Pale, so that the page's own text colour can be read on every cell, on a light page and on a dark one."""


def matrix_figure(
    values: NDArray[np.floating],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    name: str,
    x_title: str = "",
    y_title: str = "",
    signed: bool = True,
    top: float | None = None,
    row: int | None = None,
    shown: bool | None = None,
    height: int | None = None,
    write: Write = two_decimals,
) -> go.Figure:
    """Rows from the top down, as a matrix is written.

    Args:
        values: (rows, columns); minus infinity is written so and left uncoloured.
        rows, columns: names, each different from the others of its axis.
        name: of the matrix, over it.
        signed: diverging colours around zero; else from 0 up.
        top: value at which the colours end; the largest in size where None.
        row: index of the row that is framed.
        shown: write the numbers into the cells; where there is room if None.
        height: pixels; by the rows where None.
    """
    finite = np.where(np.isfinite(values), values, np.nan)
    end = top or (float(np.nanmax(np.abs(finite))) if np.isfinite(finite).any() else 1.0) or 1.0
    numbers = shown if shown is not None else values.shape[1] <= MOST_NUMBERS
    scale = (SOFT_SIGNED if signed else SOFT) if numbers else DIVERGING if signed else SEQUENTIAL
    trace: dict[str, Any] = {
        "type": "heatmap", "name": name, "z": finite, "x": list(range(len(columns))), "y": list(range(len(rows))),
        "colorscale": scale, "zmin": -end if signed else 0.0, "zmax": end, "showscale": not numbers,
        "colorbar": {"thickness": 8, "ticks": "", "outlinewidth": 0, "nticks": 5}, "xgap": int(numbers), "ygap": int(numbers),
        "hoverongaps": True, "customdata": [[f"{down}, {across}" for across in columns] for down in rows],
        "hovertemplate": "%{customdata}: %{z:.4~g}<extra></extra>",
    }  # fmt: skip
    traces = [trace]
    layout = base_layout(height=height or FRAME_PX + ROW_PX * len(rows), keep=name, legend=False)
    layout |= {"title": {"text": f"<b>{name}</b>", "x": 0, "xanchor": "left", "font": {"size": 14}}, "margin": {"t": 30}}
    if numbers:
        down, across = (index.ravel() for index in np.indices(values.shape))
        texts = ["−∞" if value == -np.inf else write(float(value)) for value in values.ravel()]
        traces.append({"type": "scatter", "x": across, "y": down, "mode": "text", "text": texts, "hoverinfo": "skip"})
    ticks = {"showgrid": False, "ticks": "", "tickmode": "array"} if numbers else {"showgrid": False, "ticks": ""}
    every = max(1, -(-len(columns) // 16)), max(1, -(-len(rows) // 24))
    layout["xaxis"] = ticks | _named(columns, every[0]) | {"title": {"text": x_title}, "range": [-0.5, len(columns) - 0.5]}
    layout["yaxis"] = ticks | _named(rows, every[1]) | {"title": {"text": y_title}, "range": [len(rows) - 0.5, -0.5]}
    if row is not None:
        layout["shapes"] = [
            {"type": "rect", "xref": "x domain", "x0": 0, "x1": 1, "y0": row - 0.5, "y1": row + 0.5, "layer": "above",
             "line": {"color": ORANGE, "width": 3}}
        ]  # fmt: skip
    return go.Figure({"data": traces, "layout": layout})


def _named(names: Sequence[str], every: int) -> dict[str, Any]:
    """One tick in `every`, at places counted from 0: two words that are spelt alike stay two."""
    return {"tickmode": "array", "tickvals": list(range(0, len(names), every)), "ticktext": list(names[::every])}
