"""Matrices as a class sees them on a board: coloured cells with their numbers in them, rows and columns named.

`matrix_html` is what a page shows, a table that needs no script; `matrix_figure` a heat map to zoom into, for what is too large
for a table. Hover, downloads and the choice of a row are in `assets/scripts/matrix.js`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import DIVERGING, ORANGE, SEQUENTIAL
from core.figures.traces import chart, heat
from core.lecture.moved import Moved

MAX_NUMBERS: Final = 14
"""Columns up to which numbers are written into the cells."""
MAX_CELLS: Final = 900
MAX_COLUMNS: Final = 40
"""Of a table; a larger matrix is a heat map."""

PALE_SIGNED: Final = ((213, 112, 31, 0.6), (133, 140, 150, 0.05), (47, 126, 199, 0.6))
PALE: Final = ((133, 140, 150, 0.05), (47, 126, 199, 0.6))
"""Under numbers: pale, so that the page's own text colour can be read on every cell, on a light page and on a dark one."""
FULL_SIGNED: Final = ((213, 112, 31, 1.0), (133, 140, 150, 0.08), (47, 126, 199, 1.0))
FULL: Final = ((133, 140, 150, 0.05), (47, 126, 199, 1.0))

Cells = tuple[int, int, int, int]
"""First row, last row, first column, last column, from 0 on."""
Write = Callable[[float, int], str]
"""A number and its decimals, as text; of fewer than none: three significant digits."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """One matrix to draw.

    Attributes:
        values: (rows, columns), the first row on top; minus infinity is written so and left uncoloured, NaN is left empty.
        name: over it.
        rows, columns: names of the rows and columns; their numbers from 1 on where None.
        x_title, y_title: what columns and rows are.
        signed: diverging colours around zero; else from 0 up.
        top: value at which the colours end; the largest in size where None.
        digits: decimals of the numbers in the cells; below 0 three significant digits, for numbers of any size.
        numbers: whether numbers are written into the cells; up to `MAX_NUMBERS` columns where None.
        outlined: cells to outline. moved: what a change of a dial moved: these cells flash once and tell what they were.
        masked: (rows, columns) cells that no query may look at: hatched, and without a number, unlike a zero.
        of: matrices that its numbers come from, by the names that `core.lecture.origins` has for them.
    """

    values: NDArray[np.floating]
    name: str
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    x_title: str = ""
    y_title: str = ""
    signed: bool = True
    top: float | None = None
    digits: int = 2
    numbers: bool | None = None
    outlined: tuple[Cells, ...] = ()
    moved: Moved | None = None
    masked: NDArray[np.bool_] | None = None
    of: Mapping[str, NDArray[Any]] = field(default_factory=dict)

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

    @property
    def written(self) -> bool:
        """Tells whether numbers are written into the cells."""
        return self.values.shape[1] <= MAX_NUMBERS if self.numbers is None else self.numbers


def largest_size(matrices: Sequence[NDArray[np.floating]]) -> float:
    """Largest size of a finite entry of several matrices: the end of one scale for them all; 1 where there is none but zero."""
    return max((float(np.abs(one[np.isfinite(one)]).max(initial=0.0)) for one in matrices), default=0.0) or 1.0


def matrix_html(
    matrix: Matrix,
    *,
    key: str,
    alt: str,
    write: Write,
    csv: str = "",
    chooses: str = "",
    origin: str = "",
) -> str:
    """The matrix as a table, HTML; its numbers at four digits stand in the cells' `data-v`.

    Args:
        key: its name in the page, and of its download. alt: one sentence on what it shows.
        csv: label of its download, translated; no button without. write: see `Write`.
        chooses: the dial that a row's name chooses, as its key in the page. origin: of its numbers, JSON for matrix.js.
    """
    down, across = matrix.values.shape
    outlined = np.zeros((down, across), dtype=bool)
    for first_row, last_row, first, last in matrix.outlined:
        outlined[first_row : last_row + 1, first : last + 1] = True
    columns = "".join(f'<th scope="col">{escape(one)}</th>' for one in matrix.column_names)
    cells = ["".join(_cell(matrix, i, j, outlined, write) for j in range(across)) for i in range(down)]
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{row}</tr>' for name, row in zip(matrix.row_names, cells, strict=True)
    )
    titles = " · ".join(f"{title} {arrow}" for title, arrow in ((matrix.y_title, "↓"), (matrix.x_title, "→")) if title)
    save = f'<button type="button" title="{escape(csv)}" aria-label="{escape(csv)}">CSV</button>' if csv else ""
    choosing = "".join(f' data-{name}="{escape(one)}"' for name, one in (("chooses", chooses), ("origin", origin)) if one)
    size = f' style="--across:{across};--down:{down}"'
    kind = "matrix" if matrix.written else "matrix matrix-plain"
    return (
        f'<figure class="{kind}" data-key="{escape(key)}" data-name="{escape(matrix.name)}"{choosing}{size}>'
        f"<figcaption><b>{escape(matrix.name)}</b> <small>{escape(titles)}</small><span>{save}</span></figcaption>"
        f'<div tabindex="0" role="group" aria-label="{escape(alt)}"><table><thead><tr><td></td>{columns}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></figure>"
    )


def _cell(matrix: Matrix, i: int, j: int, outlined: NDArray[np.bool_], write: Write) -> str:
    value = float(matrix.values[i, j])
    moved = matrix.moved is not None and bool(matrix.moved.cells[i, j])
    masked = matrix.masked is not None and bool(matrix.masked[i, j])
    text, at = "", ""
    if np.isfinite(value):
        text = write(value, matrix.digits) if matrix.written and not masked else ""
        at = f' data-v="{value:.4g}"'
    elif np.isneginf(value):
        text = "−∞"
    if matrix.moved is not None and moved:
        at += f' data-was="{matrix.moved.before[i, j]:.4g}"'
    style = f"background:{colour(matrix, value)}" if np.isfinite(value) and not masked else ""
    if outlined[i, j]:  # the edges of a rectangle, where its neighbour lies outside
        edges = {"t": (i - 1, j), "b": (i + 1, j), "l": (i, j - 1), "r": (i, j + 1)}
        style += "".join(f";--{side}:1" for side, near in edges.items() if not _at(outlined, *near))
    kinds = " ".join(name for name, on in (("out", outlined[i, j]), ("moved", moved), ("masked", masked)) if on)
    kind = f' class="{kinds}"' if kinds else ""
    return f'<td{at}{kind} style="{style}">{text}</td>'


def _at(cells: NDArray[np.bool_], row: int, column: int) -> bool:
    return bool(0 <= row < len(cells) and 0 <= column < cells.shape[1] and cells[row, column])


def colour(matrix: Matrix, value: float) -> str:
    """A cell's colour, CSS: pale under numbers."""
    scale = (PALE_SIGNED if matrix.signed else PALE) if matrix.written else (FULL_SIGNED if matrix.signed else FULL)
    share = (value / matrix.end + 1) / 2 if matrix.signed else value / matrix.end
    at = min(max(share, 0.0), 1.0) * (len(scale) - 1)
    low = min(int(at), len(scale) - 2)
    red, green, blue, alpha = (a + (b - a) * (at - low) for a, b in zip(scale[low], scale[low + 1], strict=True))
    return f"rgba({red:.0f},{green:.0f},{blue:.0f},{alpha:.2f})"


def matrix_figure(matrix: Matrix, *, height: int | None = None) -> go.Figure:
    """One matrix as a heat map without numbers, so many pixels high."""
    down, across = matrix.values.shape
    values, scale = np.where(np.isfinite(matrix.values), matrix.values, np.nan), DIVERGING if matrix.signed else SEQUENTIAL
    names = [[f"{row}, {column}" for column in matrix.column_names] for row in matrix.row_names]
    gap = int(max(down, across) <= 40)
    trace = heat(
        values.astype(np.float32),
        scale,
        -matrix.end if matrix.signed else 0.0,
        matrix.end,
        bar={"nticks": 5},
        name=matrix.name,
        hover="%{customdata}: %{z:.4~g}<extra></extra>",
        customdata=np.array(names, object),
        showscale=True,
        xgap=gap,
        ygap=gap,
    )
    title = {
        "text": f"<b>{matrix.name}</b>",
        "xref": "x domain",
        "yref": "y domain",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "align": "left",
        "showarrow": False,
        "font": {"size": 13},
    }
    outlines = [
        {"type": "rect", "x0": first - 0.5, "x1": last + 0.5, "y0": first_row - 0.5, "y1": last_row + 0.5, "layer": "above",
         "line": {"color": ORANGE, "width": 2.5}, "name": "outlined"}
        for first_row, last_row, first, last in matrix.outlined
    ]  # fmt: skip
    return chart(
        [trace],
        x_title=matrix.x_title,
        y_title=matrix.y_title,
        keep=matrix.name,
        legend=False,
        height=height or 400,
        x=_axis(matrix.column_names, 16) | {"tickangle": 0, "range": [-0.5, across - 0.5]},
        y=_axis(matrix.row_names, 24) | {"range": [down - 0.5, -0.5]},
        margin={"t": 44, "b": 8, "l": 8, "r": 8},
        annotations=[title],
        shapes=outlines,
    )


def _axis(names: Sequence[str], most: int) -> dict[str, Any]:
    """Ticks at places counted from 0, so that two words which are spelt alike stay two; up to `most`, or 20 short ones."""
    step = max(1, -(-len(names) // (20 if max(map(len, names), default=0) <= 2 else most)))
    ticks = {"tickmode": "array", "tickvals": list(range(0, len(names), step)), "ticktext": list(names[::step])}
    return {"showgrid": False, "ticks": "", **ticks}
