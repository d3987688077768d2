"""Measured cost over size, beside the operations that are counted."""

from __future__ import annotations

import plotly.graph_objects as go

from core.bench.growth import Curve
from core.figures.style import BLUE, GREY, base_layout
from core.messages import translate as _


def growth_figure(curve: Curve) -> go.Figure:
    """Milliseconds over size, both axes logarithmic; the counted operations are scaled to meet the last measured point."""
    scale = curve.ms[-1] / curve.operations[-1]
    traces = [
        {"type": "scatter", "mode": "lines+markers", "x": curve.sizes, "y": curve.ms, "line": {"color": BLUE, "width": 2.5},
         "name": _("measured: exponent {value}").format(value=f"{curve.exponent:.2f}"), "hovertemplate": "%{x}: %{y:.2f} ms"},
        {"type": "scatter", "mode": "lines", "x": curve.sizes, "y": [scale * one for one in curve.operations],
         "line": {"color": GREY, "width": 2, "dash": "dash"}, "hoverinfo": "skip",
         "name": _("operations counted: {value}").format(value=f"{curve.theory:.2f}")},
    ]  # fmt: skip
    layout = base_layout(x_title=_(curve.what).capitalize(), y_title=_("Milliseconds"), keep=curve.what, height=320)
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"type": "log"}
    layout["xaxis"] |= {"tickvals": list(curve.sizes)}
    return go.Figure({"data": traces, "layout": layout})
