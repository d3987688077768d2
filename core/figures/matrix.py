"""Matrices as a class sees them on a board: coloured cells with their numbers in them, rows and columns named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.cells import cell_text
from core.figures.style import DIVERGING, MOVED, ORANGE, SEQUENTIAL, VIOLET, Scale, base_layout, figure_of

MAX_NUMBERS: Final = 14
"""Columns up to which numbers are written into the cells."""
ROW_PX: Final = 30
FRAME_PX: Final = 92
BELOW_PX: Final = 28
"""Height of a colour bar under a matrix, with its numbers."""
TITLE_PX: Final = 44

PALE_SIGNED: Final[Scale] = [(0.0, "rgba(213,112,31,0.6)"), (0.5, "rgba(133,140,150,0.05)"), (1.0, "rgba(47,126,199,0.6)")]
PALE: Final[Scale] = [(0.0, "rgba(133,140,150,0.05)"), (1.0, "rgba(47,126,199,0.6)")]
"""Under numbers: pale, so that the page's own text colour can be read on every cell, on a light page and on a dark one."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """One matrix to draw.

    Attributes:
        values: (rows, columns), the first row on top; minus infinity is written so and left uncoloured, NaN is left empty.
        name: over it.
        rows, columns: names of the rows and columns; their numbers from 1 on where None.
        x_title, y_title: of the axes.
        signed: diverging colours around zero; else from 0 up.
        top: value at which the colours end; the largest in size where None.
        outlined: cells to outline, (first row, last row, first column, last column), from 0 on.
        moved: cells that a change of a dial moved, likewise; they flash once. before: (rows, columns) the values before it.
    """

    values: NDArray[np.floating]
    name: str
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    x_title: str = ""
    y_title: str = ""
    signed: bool = True
    top: float | None = None
    outlined: tuple[tuple[int, int, int, int], ...] = ()
    moved: tuple[tuple[int, int, int, int], ...] = ()
    before: NDArray[np.floating] | None = None

    @property
    def finite(self) -> NDArray[np.float32]:
        """The values, NaN where they are not finite."""
        return np.where(np.isfinite(self.values), self.values, np.nan).astype(np.float32)

    @property
    def end(self) -> float:
        """Value at which the colours end; 1 for a matrix of zeros, so that it has colours at all."""
        return self.top or largest_size([self.values])

    @property
    def row_names(self) -> list[str]:
        """One name per row."""
        return [str(index + 1) for index in range(self.values.shape[0])] if self.rows is None else list(self.rows)

    @property
    def column_names(self) -> list[str]:
        """One name per column."""
        return [str(index + 1) for index in range(self.values.shape[1])] if self.columns is None else list(self.columns)


def largest_size(matrices: Sequence[NDArray[np.floating]]) -> float:
    """Largest size of a finite entry of several matrices: the end of one scale for them all; 1 where there is none but zero."""
    return max((float(np.abs(one[np.isfinite(one)]).max(initial=0.0)) for one in matrices), default=0.0) or 1.0


def matrix_figure(
    matrix: Matrix,
    *,
    numbers: bool | None = None,
    form: str = ".2f",
    bar: bool | None = None,
    height: int | None = None,
    keep: str | None = None,
) -> go.Figure:
    """One matrix.

    Args:
        numbers: write the values into the cells; up to `MAX_NUMBERS` columns where None.
        form: d3's format of a number.
        bar: a colour bar on the right; where there are no numbers if None. A matrix with numbers has a flat one below.
        height: pixels; by the rows where None.
        keep: plotly's uirevision; the matrix's name where None.
    """
    written = matrix.values.shape[1] <= MAX_NUMBERS if numbers is None else numbers
    return matrices_figure(
        [matrix],
        numbers=written,
        form=form,
        bar=not written if bar is None else bar,
        below=written and bar is None,
        height=height or FRAME_PX + ROW_PX * len(matrix.values) + (BELOW_PX if written and bar is None else 0),
        keep=matrix.name if keep is None else keep,
    )


def matrices_figure(
    matrices: Sequence[Matrix],
    *,
    across: int = 3,
    numbers: bool = False,
    form: str = ".2f",
    bar: bool = False,
    below: bool = False,
    height: int = 320,
    row_gap: float = 0.3,
    keep: str = "matrices",
) -> go.Figure:
    """Several matrices side by side, `across` in a row, empty places at the end.

    Args:
        numbers: write the values into the cells. form: d3's format of a number.
        bar: a colour bar, of the first matrix's scale. below: it lies under the matrices instead.
        row_gap: room between rows of matrices, as a share of a matrix's height.
    """
    across = min(across, len(matrices))
    down = -(-len(matrices) // across)
    gap = 0.16 if across > 1 else 0.0
    width, tall = 1 / (across + gap * (across - 1)), 1 / (down + row_gap * (down - 1))
    traces: list[Any] = []
    layout = base_layout(keep=keep, legend=False, height=height)
    foot = 8 + (48 + BELOW_PX if below else 0)
    layout |= {"margin": {"t": TITLE_PX, "b": foot, "l": 8, "r": 8}, "annotations": [], "shapes": []}
    for number, matrix in enumerate(matrices):
        row, column = divmod(number, across)
        suffix = str(number + 1) if number else ""
        x, y = f"x{suffix}", f"y{suffix}"
        left, high = column * (1 + gap) * width, 1 - row * (1 + row_gap) * tall
        columns, rows = _axis(matrix.column_names, 16), _axis(matrix.row_names, 24)
        layout[f"xaxis{suffix}"] = columns | {
            "domain": [left, min(1.0, left + width)], "anchor": y, "title": {"text": matrix.x_title}, "tickangle": 0,
            "range": [-0.5, matrix.values.shape[1] - 0.5],
        }  # fmt: skip
        layout[f"yaxis{suffix}"] = rows | {
            "domain": [max(0.0, high - tall), high], "anchor": x, "title": {"text": matrix.y_title},
            "range": [matrix.values.shape[0] - 0.5, -0.5],
        }  # fmt: skip
        layout["annotations"].append(
            {"text": f"<b>{matrix.name}</b>", "xref": f"{x} domain", "yref": f"{y} domain", "x": 0, "y": 1, "xanchor": "left",
             "yanchor": "bottom", "align": "left", "showarrow": False, "font": {"size": 13}}
        )  # fmt: skip
        layout["shapes"] += [
            {"type": "rect", "xref": x, "yref": y, "x0": first - 0.5, "x1": last + 0.5, "y0": first_row - 0.5,
             "y1": last_row + 0.5, "layer": "above", "line": {"color": colour, "width": width}, "name": name}
            for colour, width, name, cells in (
                (VIOLET, 1.5, MOVED, matrix.moved), (ORANGE, 2.5, "outlined", matrix.outlined)
            )
            for first_row, last_row, first, last in cells
        ]  # fmt: skip
        traces.append(_heatmap(matrix, x, y, pale=numbers, bar=(bar or below) and number == 0, below=below))
        if numbers:
            traces.append(cell_text(matrix.values, form) | {"xaxis": x, "yaxis": y})
    return figure_of(traces, layout)


def _heatmap(matrix: Matrix, x: str, y: str, *, pale: bool, bar: bool, below: bool) -> dict[str, Any]:
    flat = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "ypad": 0, "x": 0.5, "len": 1.0}
    scale = (PALE_SIGNED if matrix.signed else PALE) if pale else DIVERGING if matrix.signed else SEQUENTIAL
    down, across = matrix.values.shape
    return {
        "type": "heatmap", "name": matrix.name, "z": matrix.finite, "x": list(range(across)), "y": list(range(down)),
        "xaxis": x, "yaxis": y, "colorscale": scale, "zmin": -matrix.end if matrix.signed else 0.0, "zmax": matrix.end,
        "showscale": bar, "colorbar": {"thickness": 8, "ticks": "", "outlinewidth": 0, "nticks": 5} | (flat if below else {}),
        "xgap": int(max(down, across) <= 40), "ygap": int(max(down, across) <= 40),
        "customdata": [
            [f"{row}, {column}{_ghost(matrix, i, j)}" for j, column in enumerate(matrix.column_names)]
            for i, row in enumerate(matrix.row_names)
        ],
        "hovertemplate": "%{customdata}: %{z:.4~g}<extra></extra>",
    }  # fmt: skip


def _ghost(matrix: Matrix, row: int, column: int) -> str:
    """The value before a change, where it was another."""
    if matrix.before is None or matrix.before[row, column] == matrix.values[row, column]:
        return ""
    return f": {matrix.before[row, column]:.4g} →"


def _axis(names: Sequence[str], most: int) -> dict[str, Any]:
    """Ticks at places counted from 0, so that two words which are spelt alike stay two; up to `most`, or 40 short ones."""
    step = max(1, -(-len(names) // (40 if max(map(len, names), default=0) <= 2 else most)))
    ticks = {"tickmode": "array", "tickvals": list(range(0, len(names), step)), "ticktext": list(names[::step])}
    return {"showgrid": False, "ticks": "", **ticks}
