"""A figure while it is put together: plain dictionaries, which plotly sees once, when the figure is whole.

`go.Figure` compares every property with its schema at each `add_...` and `update_...`: twenty times as slow, and it takes most of
the server's time for a dial. A draft has those of its methods that figures here use, and gives the same figure; plotly checks it
in tests (`core.figures.style.CHECKED`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from core.figures.style import figure_of

Properties = dict[str, Any]


class Draft:
    """Traces and layout of a figure to be, each a dictionary in plotly's form."""

    def __init__(self, *traces: Properties) -> None:
        self._data: list[Properties] = []
        self._layout: Properties = {}
        for trace in traces:
            self.add_trace(trace)

    def add_trace(self, trace: Properties) -> None:
        """Add a trace, with its type; what is None is left out."""
        self._data.append({})
        _merge(self._data[-1], trace)

    def add_scatter(self, **properties: Any) -> None:
        """Add a trace of this type, as `go.Figure.add_scatter`."""
        self.add_trace({"type": "scatter", **properties})

    def add_bar(self, **properties: Any) -> None:
        """Add a trace of this type, as `go.Figure.add_bar`."""
        self.add_trace({"type": "bar", **properties})

    def add_heatmap(self, **properties: Any) -> None:
        """Add a trace of this type, as `go.Figure.add_heatmap`."""
        self.add_trace({"type": "heatmap", **properties})

    def add_shape(self, **properties: Any) -> None:
        """Add a shape of the layout."""
        self._layout["shapes"] = [*self._layout.get("shapes", []), properties]

    def add_hline(self, y: float, **properties: Any) -> None:
        """Add a line across the pane at this height."""
        self.add_shape(type="line", x0=0, x1=1, xref="x domain", y0=y, y1=y, yref="y", **properties)

    def add_vline(self, x: float, **properties: Any) -> None:
        """Add a line up the pane at this place, the first pane where there are several."""
        self.add_shape(type="line", x0=x, x1=x, xref="x", y0=0, y1=1, yref="y domain", **properties)

    def update_layout(self, given: Mapping[str, Any] | None = None, **properties: Any) -> None:
        """Merge properties into the layout; a list takes the place of the list before."""
        _merge(self._layout, {**(given or {}), **properties})

    def update_xaxes(self, **properties: Any) -> None:
        """Merge properties into every horizontal axis."""
        self._update_axes("xaxis", properties)

    def update_yaxes(self, **properties: Any) -> None:
        """Merge properties into every vertical axis."""
        self._update_axes("yaxis", properties)

    def _update_axes(self, name: str, properties: Properties) -> None:
        self._layout.setdefault(name, {})
        for axis in [one for one in self._layout if one.startswith(name)]:
            _merge(self._layout[axis], properties)

    def figure(self) -> go.Figure:
        """The figure; the draft is not used after."""
        return figure_of(self._data, self._layout)


def _merge(into: Properties, given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if isinstance(value, Mapping):
            inner = into.get(name)
            into[name] = dict(inner) if isinstance(inner, Mapping) else {}
            _merge(into[name], value)
        elif value is not None:
            into[name] = value
