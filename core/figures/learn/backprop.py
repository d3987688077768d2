"""Figures of the lesson on backpropagation: GELU's derivatives, and a layer's chain forward and backward.

Sources: vit-report 2.5 and 4; D14.
"""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, GREY, ORANGE
from core.figures.traces import chart, line, marks
from core.messages import translate as _


def slopes_figure(
    x: NDArray[np.floating], true: NDArray[np.floating], report: NDArray[np.floating], points: NDArray[np.floating]
) -> go.Figure:
    """Both derivatives of GELU and, below on a scale of its own, their difference; the page's inputs are marked.

    Args:
        x: (n,). true: (n,) derivative of the tanh form. report: (n,) the vit-report's. points: (k,) the page's inputs.
    """
    traces = [
        line(x, true, _("derivative of the tanh form"), BLUE, width=3, hover="%{x:.2f}: %{y:.5f}<extra></extra>"),
        line(x, report, _("the report's Φ(x) + x φ(x)"), ORANGE, width=1.5, dash="dash",
             hover="%{x:.2f}: %{y:.5f}<extra></extra>"),
        line(x, report - true, _("Difference"), GREY, width=2, hover="%{x:.2f}: %{y:.2~e}<extra></extra>", yaxis="y2"),
        marks(points, np.zeros(len(points)), _("inputs on this page"), BLUE, symbol="line-ns-open", size=10,
              hover="%{x:.2f}<extra></extra>", yaxis="y2"),
    ]  # fmt: skip
    return chart(
        traces,
        keep="slopes",
        height=420,
        xaxis={"title": {"text": "x"}, "anchor": "y2"},
        yaxis={"title": {"text": _("Derivative")}, "domain": [0.45, 1]},
        yaxis2={"title": {"text": _("Difference")}, "domain": [0, 0.36], "exponentformat": "power", "zeroline": True},
    )


def plain(name: str) -> str:
    """A gradient's name for a wire: w_q becomes W_q, gamma the Greek letter."""
    greek = {"gamma": "γ", "beta": "β"}
    first, mark, index = name.partition("_")
    return greek.get(first, first.upper() if len(first) == 1 and first != "x" and first != "b" else first) + mark + index
