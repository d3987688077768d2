"""Figures of the page on backpropagation: written, autograd, and what lies between."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.learn.grids import Panel, panels_figure, shared_top
from core.figures.style import BLUE, GREY, ORANGE, base_layout
from core.messages import translate as _


def compared_figures(
    written: NDArray[np.floating],
    autograd: NDArray[np.floating],
    *,
    name: str,
    entry: tuple[int, int],
) -> tuple[go.Figure, go.Figure, go.Figure]:
    """A gradient by the formulas, by autograd, and their difference magnified to its own scale; the read entry is outlined."""
    top = shared_top([written, autograd])
    gap = written - autograd
    frame = ((entry[0], entry[0], entry[1], entry[1]),)
    numbers = written.shape[1] <= 8
    panels = (
        Panel(z=written, title=_("{name}, written").format(name=name), top=top, frames=frame),
        Panel(z=autograd, title=_("{name}, autograd").format(name=name), top=top, frames=frame),
        Panel(
            z=gap,
            title=_("difference, largest {value}").format(value=f"{np.abs(gap).max():.1e}"),
            top=max(float(np.abs(gap).max()), 1e-15),
        ),
    )
    height = 100 + 44 * max(3, len(written))
    first, second, third = (panels_figure([panel], numbers=numbers, height=height, keep="compared") for panel in panels)
    if numbers:
        third.data[0].texttemplate = "%{z:.0e}"
    return first, second, third


def matrix_figure(matrix: NDArray[np.floating], *, name: str, top: float) -> go.Figure:
    """One matrix with its numbers; `top` is where the colours end."""
    return panels_figure([Panel(z=matrix, title=name, top=top)], numbers=True, height=90 + 40 * len(matrix), keep="inputs")


def slopes_figure(
    x: NDArray[np.floating], true: NDArray[np.floating], report: NDArray[np.floating], points: NDArray[np.floating]
) -> go.Figure:
    """GELU's two derivatives and, magnified below, how far the report's is off; the inputs on the page are marked."""
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
    return go.Figure({"data": traces, "layout": layout})
