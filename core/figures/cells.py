"""Numbers over the cells of a heatmap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def cell_text(table: NDArray[np.floating], form: str, *, first: int = 0, size: int = 12) -> dict[str, Any]:
    """A trace with the numbers of a table (rows, columns) at its cells, in the page's text colour.

    A heatmap's `texttemplate` chooses black or white by the colour scale and ignores the page behind transparent cells.

    Args:
        table: NaN leaves a cell empty, minus infinity is written as −∞.
        form: d3's number format; plotly writes the reader's decimal mark. first: x of the first column; the first row is y = 0.
        size: of the text, pixels.
    """
    row, column = np.nonzero(np.isfinite(table) | np.isneginf(table))
    values = np.asarray(table, dtype=np.float64)[row, column]
    template = f"%{{customdata:{form}}}"
    infinite = np.isneginf(values)
    return {
        "type": "scatter",
        "x": column + first,
        "y": row,
        "mode": "text",
        "customdata": np.where(infinite, 0.0, values),
        "texttemplate": np.where(infinite, "−∞", template).tolist() if infinite.any() else template,
        "textfont": {"size": size},
        "hoverinfo": "skip",
        "showlegend": False,
    }
