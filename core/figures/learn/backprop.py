"""Figures of the page on backpropagation: the written gradient, autograd's, and their difference."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.matrix import Matrix, largest_size
from core.figures.style import BLUE, GREY, ORANGE, base_layout, figure_of
from core.messages import translate as _


def compared(
    written: NDArray[np.floating],
    autograd: NDArray[np.floating],
    *,
    name: str,
    entry: tuple[int, int],
) -> tuple[Matrix, Matrix, Matrix]:
    """A gradient by the formulas, by autograd, and their difference on a scale of its own.

    Args:
        written, autograd: (rows, columns). entry: (row, column) of the entry that is outlined.
    """
    top, gap = largest_size([written, autograd]), written - autograd
    outlined = ((entry[0], entry[0], entry[1], entry[1]),)
    title = _("difference, largest {value}").format(value=f"{np.abs(gap).max():.1e}")
    return (
        Matrix(values=written, name=_("{name}, written").format(name=name), top=top, outlined=outlined),
        Matrix(values=autograd, name=_("{name}, autograd").format(name=name), top=top, outlined=outlined),
        Matrix(values=gap, name=title, top=max(float(np.abs(gap).max()), 1e-15), digits=-1),
    )


def slopes_figure(
    x: NDArray[np.floating], true: NDArray[np.floating], report: NDArray[np.floating], points: NDArray[np.floating]
) -> go.Figure:
    """Both derivatives of GELU and, below on a scale of its own, their difference; the page's inputs are marked.

    Args:
        x: (n,). true: (n,) derivative of the tanh form. report: (n,) the vit-report's. points: (k,) the page's inputs.
    """
    traces = [
        {"type": "scatter", "mode": "lines", "x": x, "y": true, "name": _("derivative of the tanh form"),
         "line": {"color": BLUE, "width": 3}, "hovertemplate": "%{x:.2f}: %{y:.5f}<extra></extra>"},
        {"type": "scatter", "mode": "lines", "x": x, "y": report, "name": _("the report's Φ(x) + x φ(x)"),
         "line": {"color": ORANGE, "width": 1.5, "dash": "dash"}, "hovertemplate": "%{x:.2f}: %{y:.5f}<extra></extra>"},
        {"type": "scatter", "mode": "lines", "x": x, "y": report - true, "name": _("difference"), "yaxis": "y2",
         "line": {"color": GREY, "width": 2}, "hovertemplate": "%{x:.2f}: %{y:.2~e}<extra></extra>"},
        {"type": "scatter", "mode": "markers", "x": points, "y": np.zeros(len(points)), "name": _("inputs on this page"),
         "yaxis": "y2", "marker": {"color": BLUE, "symbol": "line-ns-open", "size": 10},
         "hovertemplate": "%{x:.2f}<extra></extra>"},
    ]  # fmt: skip
    layout = base_layout(keep="slopes", height=420)
    layout["xaxis"] = {"title": {"text": "x"}, "anchor": "y2"}
    layout["yaxis"] = {"title": {"text": _("Derivative")}, "domain": [0.45, 1]}
    layout["yaxis2"] = {"title": {"text": _("Difference")}, "domain": [0, 0.36], "exponentformat": "power", "zeroline": True}
    return figure_of(traces, layout)
