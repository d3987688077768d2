"""Measured cost over size, beside the operations that are counted."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.figures.style import BLUE, GREY, base_layout, figure_of
from core.messages import translate as _


def growth_figure(
    what: str, sizes: Sequence[int], ms: Sequence[float], operations: Sequence[float], *, exponent: float, theory: float
) -> go.Figure:
    """Milliseconds over size, both axes logarithmic; the counted operations are scaled to meet the last measured point.

    Args:
        what: what grows. exponent, theory: of the measured times and of the operations.
    """
    scale = ms[-1] / operations[-1]
    traces = [
        {"type": "scatter", "mode": "lines+markers", "x": sizes, "y": ms, "line": {"color": BLUE, "width": 2.5},
         "name": _("measured: exponent {value}").format(value=f"{exponent:.2f}"), "hovertemplate": "%{x}: %{y:.2f} ms"},
        {"type": "scatter", "mode": "lines", "x": sizes, "y": [scale * one for one in operations],
         "line": {"color": GREY, "width": 2, "dash": "dash"}, "hoverinfo": "skip",
         "name": _("operations counted: {value}").format(value=f"{theory:.2f}")},
    ]  # fmt: skip
    layout = base_layout(x_title=_(what).capitalize(), y_title=_("Milliseconds"), keep=what, height=320)
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"type": "log"}
    layout["xaxis"] |= {"tickvals": list(sizes)}
    return figure_of(traces, layout)
