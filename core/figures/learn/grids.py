"""Panels of small matrices side by side: batches, gradients, maps over characters. Arrays in, plotly figures out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, DIVERGING, ORANGE, SEQUENTIAL, Scale, base_layout

DIVERGING_OPAQUE: Final[Scale] = [(0.0, ORANGE), (0.5, "#F2F1ED"), (1.0, BLUE)]
"""For cells with a number in them, whose colour plotly chooses against the cell's: it must not shine through."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One matrix.

    Attributes:
        z: (rows, columns); the first row is drawn on top.
        title: above it. x, y: what the columns and the rows are called; their numbers from 1 on where None.
        x_title, y_title: of the axes.
        signed: colours are centred at zero. top: value at which they end; the panel's own largest where None.
        frames: cells to outline, (first row, last row, first column, last column), from 0 on.
    """

    z: NDArray[np.floating]
    title: str
    x: Sequence[str] | None = None
    y: Sequence[str] | None = None
    x_title: str = ""
    y_title: str = ""
    signed: bool = True
    top: float | None = None
    frames: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def largest(self) -> float:
        """Largest size of an entry; 1 for a matrix of zeros, so that it has colours at all."""
        return float(np.abs(self.z).max()) or 1.0


def shared_top(matrices: Sequence[NDArray[np.floating]]) -> float:
    """The end of one scale for several panels."""
    return max(float(np.abs(one).max()) for one in matrices) or 1.0


def panels_figure(
    panels: Sequence[Panel],
    *,
    columns: int = 3,
    numbers: bool = False,
    digits: int = 2,
    bar: bool = False,
    height: int = 320,
    row_gap: float = 0.3,
    keep: str = "panels",
) -> go.Figure:
    """Panels in rows of `columns`, empty places at the end.

    Args:
        numbers: write each value into its cell. bar: a colour bar, of the first panel's scale.
        row_gap: room between rows of panels, as a share of a panel's height.
    """
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    gap = 0.16 if columns > 1 else 0.0
    width = 1 / (columns + gap * (columns - 1))
    tall = 1 / (rows + row_gap * (rows - 1))
    traces: list[dict[str, Any]] = []
    layout = base_layout(keep=keep, legend=False, height=height)
    layout |= {"margin": {"t": 44, "b": 8, "l": 8, "r": 8}, "annotations": [], "shapes": []}
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        suffix = str(number + 1) if number else ""
        x, y = f"x{suffix}", f"y{suffix}"
        left, high = column * (1 + gap) * width, 1 - row * (1 + row_gap) * tall
        plain = {"showgrid": False, "ticks": ""}
        down, across = panel.z.shape
        layout[f"xaxis{suffix}"] = plain | {
            "domain": [left, min(1.0, left + width)], "anchor": y, "title": {"text": panel.x_title}, "tickangle": 0,
            **_ticks(panel.x, across),
        }  # fmt: skip
        layout[f"yaxis{suffix}"] = plain | {
            "domain": [max(0.0, high - tall), high], "anchor": x, "title": {"text": panel.y_title}, "autorange": "reversed",
            **_ticks(panel.y, down),
        }  # fmt: skip
        layout["annotations"].append(
            {"text": f"<b>{panel.title}</b>", "xref": f"{x} domain", "yref": f"{y} domain", "x": 0, "y": 1, "xanchor": "left",
             "yanchor": "bottom", "align": "left", "showarrow": False, "font": {"size": 13}}
        )  # fmt: skip
        for top, bottom, first, last in panel.frames:
            layout["shapes"].append(
                {"type": "rect", "xref": x, "yref": y, "x0": first - 0.5, "x1": last + 0.5, "y0": top - 0.5, "y1": bottom + 0.5,
                 "line": {"color": ORANGE, "width": 2.5}}
            )  # fmt: skip
        traces.append(_heatmap(panel, x, y, numbers=numbers, digits=digits, bar=bar and number == 0))
    return go.Figure({"data": traces, "layout": layout})


def _ticks(names: Sequence[str] | None, count: int) -> dict[str, Any]:
    labels = [str(index + 1) for index in range(count)] if names is None else list(names)
    step = max(1, -(-count // 40))
    return {"tickmode": "array", "tickvals": list(range(0, count, step)), "ticktext": labels[::step]}


def _heatmap(panel: Panel, x: str, y: str, *, numbers: bool, digits: int, bar: bool) -> dict[str, Any]:
    end = panel.top or panel.largest
    columns = list(panel.x) if panel.x is not None else [str(index + 1) for index in range(panel.z.shape[1])]
    rows = list(panel.y) if panel.y is not None else [str(index + 1) for index in range(panel.z.shape[0])]
    names = [[f"{row}, {column}" for column in columns] for row in rows]
    trace: dict[str, Any] = {
        "type": "heatmap", "name": panel.title, "z": np.asarray(panel.z, dtype=np.float32), "xaxis": x, "yaxis": y,
        "zmin": -end if panel.signed else 0.0, "zmax": end, "colorscale": DIVERGING if panel.signed else SEQUENTIAL,
        "showscale": bar, "text": names, "hovertemplate": "%{text}: %{z:.4~g}<extra>" + panel.title + "</extra>",
        "colorbar": {"thickness": 10, "outlinewidth": 0, "ticks": ""}, "xgap": 1, "ygap": 1,
    }  # fmt: skip
    if numbers:
        trace |= {"texttemplate": f"%{{z:.{digits}f}}", "textfont": {"size": 12}}
        trace |= {"colorscale": DIVERGING_OPAQUE} if panel.signed else {}
    return trace
