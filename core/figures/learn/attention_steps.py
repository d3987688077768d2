"""Figures of the lessons on attention and permutation: bar charts, and their block diagrams.

Sources: iiga-equations 5.1 to 5.7, sequence-modelling, attention-notebook (self-attention under permutation; D21).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, GREY, ORANGE, SERIES
from core.figures.traces import bars, chart, line
from core.messages import translate as _

MAX_LABELLED = 8
"""Bars that have room for their change as text."""


def row_bars(
    values: NDArray[np.floating],
    names: Sequence[str],
    *,
    y_title: str,
    even: NDArray[np.floating] | None = None,
    mark: int | None = None,
    before: NDArray[np.floating] | None = None,
) -> go.Figure:
    """One bar per token, with a dotted line at what looking at all keys alike gives it.

    Args:
        even: height of the dotted line at each bar. mark: index of the bar in another colour.
        before: heights before a change, drawn as faded bars; a bar that changed is labelled `0.31 → 0.51`.
    """
    places = list(range(len(names)))
    colours = [ORANGE if index == mark else BLUE for index in places]
    traces: list[dict[str, Any]] = [
        bars(places, values, y_title, colours, hover="%{text}: %{y:.4~g}<extra></extra>", text=list(names), textposition="none")
    ]
    if before is not None:
        changed = ~np.isclose(before, values, rtol=1e-9, atol=1e-12)
        traces[0]["textposition"] = "none"
        traces.insert(0, bars(places, before, _("before"), hover="", width=0.95, marker={"color": GREY, "opacity": 0.35}))
        if len(names) <= MAX_LABELLED:
            label = np.where(changed, [f"{old:.2f} → {new:.2f}" for old, new in zip(before, values, strict=True)], "")
            traces.append(
                {"type": "scatter", "mode": "text", "x": places, "y": np.maximum(before, values), "text": label.tolist(),
                 "textposition": "top center", "textfont": {"size": 11}, "hoverinfo": "skip", "name": "moved",
                 "cliponaxis": False}
            )  # fmt: skip
    if even is not None:
        steps = np.repeat([place + 0.5 for place in range(-1, len(names))], 2)[1:-1]
        traces.append(line(steps, np.repeat(even, 2), _("All alike"), GREY, dash="dot", width=2, hover="%{y:.4~g}"))
    return chart(
        traces,
        y_title=y_title,
        height=230,
        keep=y_title,
        legend=False,
        y={"rangemode": "tozero", "automargin": False},
        bargap=0.3,
        barmode="overlay",
        xaxis={"tickmode": "array", "tickvals": places, "ticktext": list(names), "range": [-0.5, len(names) - 0.5]},
        margin={"l": 60, "r": 8, "t": 28, "b": 8},
    )


def grouped_bars(rows: Mapping[str, NDArray[np.floating]], *, x_title: str, y_title: str) -> go.Figure:
    """Named rows of numbers as bars side by side, one group per channel."""
    traces = [
        bars([str(index + 1) for index in range(len(values))], values, name, SERIES[number % len(SERIES)], hover="%{y:.4f}")
        for number, (name, values) in enumerate(rows.items())
    ]
    return chart(
        traces,
        x_title=x_title,
        y_title=y_title,
        height=300,
        hover="x unified",
        keep=y_title,
        x={"type": "category"},
        barmode="group",
    )
