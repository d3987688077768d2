"""Charts from traces in plotly's form: a line, marks, bars, a heat map, and lines through the whole pane.

What is None is left out. `hover` is plotly's template of what the pointer reads; nothing where it is "". `more` are plotly's own
properties.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from core.figures.style import Scale, base_layout, figure_of

Trace = dict[str, Any]


def line(
    x: Any,
    y: Any,
    name: str | None = None,
    colour: Any = None,
    *,
    width: float | None = None,
    dash: str | None = None,
    hover: str | None = None,
    **more: Any,
) -> Trace:
    """A line, with marks where `mode` is "lines+markers"."""
    more = {"mode": "lines", "line": _known(color=colour, width=width, dash=dash)} | more
    return _trace("scatter", x, y, name, hover, more)


def marks(
    x: Any,
    y: Any,
    name: str | None = None,
    colour: Any = None,
    *,
    size: Any = None,
    symbol: Any = None,
    hover: str | None = None,
    **more: Any,
) -> Trace:
    """Points."""
    more = {"mode": "markers", "marker": _known(color=colour, size=size, symbol=symbol)} | more
    return _trace("scatter", x, y, name, hover, more)


def bars(x: Any, y: Any, name: str | None = None, colour: Any = None, *, hover: str | None = None, **more: Any) -> Trace:
    """Bars, upright where `orientation` is not "h"."""
    return _trace("bar", x, y, name, hover, {"marker": _known(color=colour)} | more)


def _trace(kind: str, x: Any, y: Any, name: str | None, hover: str | None, more: Trace) -> Trace:
    return {"type": kind, "x": x, "y": y} | _known(name=name) | _read(hover) | _known(**more)


def _read(hover: str | None) -> Trace:
    return {"hoverinfo": "skip"} if hover == "" else _known(hovertemplate=hover)


def _known(**properties: Any) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if value is not None}


def upright(at: Any, colour: str, width: float = 1.5, **line: Any) -> Trace:
    """A line up the pane at this place of the x axis, a shape of the layout."""
    ends = {"x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1}
    return {"type": "line", **ends, "line": {"color": colour, "width": width, **line}}


def heat(z: Any, scale: Scale, low: float, high: float, *, bar: Any = None, hover: str | None = None, **more: Any) -> Trace:
    """A heat map from `low` to `high`; without a colour bar where `bar` is None."""
    shown = {"showscale": False} if bar is None else {"colorbar": {"thickness": 8, "outlinewidth": 0, "ticks": "", **bar}}
    trace = {"type": "heatmap", "z": z, "colorscale": scale, "zmin": low, "zmax": high, **shown}
    return trace | _read(hover) | _known(**more)


BASE = frozenset({"x_title", "y_title", "height", "keep"})


def chart(
    traces: Sequence[Any], *, x: dict[str, Any] | None = None, y: dict[str, Any] | None = None, legend: Any = True, **layout: Any
) -> go.Figure:
    """A figure of these traces.

    Args:
        x, y: more of an axis than its title. legend: whether there is one, or plotly's properties of it.
        layout: for `base_layout`, and more of plotly's layout.
    """
    base = {name: layout.pop(name) for name in BASE & layout.keys()}
    whole = base_layout(**base, legend=legend is not False)
    for name, axis in (("xaxis", x), ("yaxis", y)):
        whole[name] |= _known(**(axis or {}))
    return figure_of(traces, whole | layout | ({} if isinstance(legend, bool) else {"legend": legend}))


def series_chart(traces: Sequence[Any], x_title: str, y_title: str, **more: Any) -> go.Figure:
    """A `chart` whose traces the pointer reads together, at one place of the x axis."""
    return chart(traces, x_title=x_title, y_title=y_title, hovermode="x unified", **more)
