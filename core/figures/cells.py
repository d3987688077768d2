"""Numbers over the cells of a heatmap that the page shows through."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray


def cell_text(table: NDArray[np.floating], form: str, *, first: int = 0, size: int = 12) -> go.Scatter:
    """The numbers of (rows, columns) at their cells, in the page's own colour.

    A heatmap's own text is black or white by the colour scale alone, as if nothing lay behind a clear cell.

    Args:
        form: d3's format, which follows the reader's decimal mark. first: x of the first column; rows count from 0.
        size: of the text, pixels. Cells that are NaN stay empty.
    """
    row, column = np.nonzero(np.isfinite(table))
    return go.Scatter(
        x=column + first,
        y=row,
        mode="text",
        customdata=np.asarray(table, dtype=np.float64)[row, column],
        texttemplate=f"%{{customdata:{form}}}",
        textfont={"size": size},
        hoverinfo="skip",
        showlegend=False,
    )
