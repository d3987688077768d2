"""Bar charts of the attention-steps and permutation pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, GREY, ORANGE, SERIES, base_layout, figure_of
from core.messages import translate as _

MAX_LABELLED = 8
"""Bars that have room for their change as text."""


def row_bars(
    values: NDArray[np.floating],
    names: Sequence[str],
    *,
    y_title: str,
    even: float | None = None,
    mark: int | None = None,
    before: NDArray[np.floating] | None = None,
) -> go.Figure:
    """One bar per token, with a dotted line at an even share.

    Args:
        even: height of the dotted line. mark: index of the bar in another colour.
        before: heights before a change, drawn as faded bars; a bar that changed is labelled `0.31 → 0.51`.
    """
    places = list(range(len(names)))
    colours = [ORANGE if index == mark else BLUE for index in places]
    traces: list[dict[str, Any]] = [
        {"type": "bar", "x": places, "y": values, "marker": {"color": colours},
         "hovertemplate": "%{text}: %{y:.4~g}<extra></extra>",
         "text": list(names), "textposition": "none", "name": y_title}
    ]  # fmt: skip
    if before is not None:
        changed = ~np.isclose(before, values, rtol=1e-9, atol=1e-12)
        traces[0]["textposition"] = "none"
        traces.insert(0, {"type": "bar", "x": places, "y": before, "name": _("before"), "width": 0.95, "hoverinfo": "skip",
                          "marker": {"color": GREY, "opacity": 0.35}})  # fmt: skip
        if len(names) <= MAX_LABELLED:
            label = np.where(changed, [f"{old:.2f} → {new:.2f}" for old, new in zip(before, values, strict=True)], "")
            traces.append(
                {"type": "scatter", "mode": "text", "x": places, "y": np.maximum(before, values), "text": label.tolist(),
                 "textposition": "top center", "textfont": {"size": 11}, "hoverinfo": "skip", "name": "moved",
                 "cliponaxis": False}
            )  # fmt: skip
    if even is not None:
        traces.append(
            {"type": "scatter", "x": [-0.5, len(names) - 0.5], "y": [even, even], "mode": "lines", "name": _("All alike"),
             "line": {"color": GREY, "dash": "dot", "width": 2}, "hovertemplate": "%{y:.4~g}"}
        )  # fmt: skip
    layout = base_layout(y_title=y_title, height=230, keep=y_title, legend=False) | {"bargap": 0.3, "barmode": "overlay"}
    layout["xaxis"] = {"tickmode": "array", "tickvals": places, "ticktext": list(names), "range": [-0.5, len(names) - 0.5]}
    layout["yaxis"] |= {"rangemode": "tozero", "automargin": False}
    layout["margin"] = {"l": 60, "r": 8, "t": 28, "b": 8}  # bars under bars: their tokens lie under each other
    return figure_of(traces, layout)


def grouped_bars(rows: Mapping[str, NDArray[np.floating]], *, x_title: str, y_title: str) -> go.Figure:
    """Named rows of numbers as bars side by side, one group per channel."""
    traces = [
        {"type": "bar", "name": name, "x": [str(index + 1) for index in range(len(values))], "y": values,
         "marker": {"color": SERIES[number]}, "hovertemplate": "%{y:.4f}"}
        for number, (name, values) in enumerate(rows.items())
    ]  # fmt: skip
    layout = base_layout(x_title=x_title, y_title=y_title, height=300, hover="x unified", keep=y_title) | {"barmode": "group"}
    layout["xaxis"] |= {"type": "category"}
    return figure_of(traces, layout)
