"""Figures of the lessons on attention and permutation: bar charts, and the growth of a layer's cost.

Sources: iiga-equations 5.1 to 5.7, sequence-modelling, attention-notebook (self-attention under permutation; D21).
"""

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, BROWN, GREY, ORANGE, SERIES, VIOLET
from core.figures.traces import bars, chart, line, series_chart, upright
from core.lecture import cost
from core.messages import translate as _

MAX_LABELLED = 8
"""Bars that have room for their change as text."""
LONGEST = 8192
"""Tokens to which the growth of cost is drawn."""


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


def grouped_bars(
    rows: Mapping[str, NDArray[np.floating]], *, x_title: str, y_title: str, names: Sequence[str] | None = None
) -> go.Figure:
    """Named rows of numbers as bars side by side, one group per channel, or by their names; none for what is no number."""
    traces = [
        bars(names or [str(index + 1) for index in range(len(values))], values, name, SERIES[number], hover="%{y:.4~g}")
        for number, (name, values) in enumerate(rows.items())
    ]
    return series_chart(traces, x_title, y_title, height=300, keep=y_title, x={"type": "category"}, barmode="group")


def growth_figure(width: int, *, at: int) -> go.Figure:
    """MACs of a layer's terms along T, both axes logarithmic, with the crossings and the chosen T marked."""
    tokens = np.unique(np.geomspace(1, LONGEST, 120).round().astype(int))
    lengths = tokens.tolist()
    projections = np.array([cost.projection_macs(t, t, width) for t in lengths])
    scores = np.array([cost.score_macs(t, t, width) for t in lengths])
    feed_forward = np.array([cost.feed_forward_macs(t, width, 4 * width) for t in lengths])
    lines = (
        (_("scores: 2T²D"), scores, BLUE, "solid"),
        (_("projections: 4TD²"), projections, ORANGE, "solid"),
        (_("feed-forward: 8TD²"), feed_forward, BROWN, "dash"),
        (_("projections and feed-forward: 12TD²"), projections + feed_forward, GREY, "dot"),
    )
    traces = [line(tokens, y, name, colour, width=2.5, dash=dash, hover="%{y:.3~s} MACs") for name, y, colour, dash in lines]
    crossings = ((cost.crossing_attention(width), "T = 2D"), (cost.crossing_layer(width), "T = 6D"))
    seen = [one for one in crossings if one[0] <= LONGEST]
    notes = [
        {"x": log10(x), "y": 0.02 + 0.07 * (index % 2), "xref": "x", "yref": "paper", "text": text, "showarrow": False,
         "xanchor": "right", "xshift": -4}
        for index, (x, text) in enumerate([(at, f"T = {at}"), *seen])
    ]  # fmt: skip
    return series_chart(
        traces,
        _("Tokens") + " T",
        _("Multiply-adds of one layer"),
        keep="growth",
        height=460,
        x={"type": "log", "dtick": 1},
        y={"type": "log", "dtick": 2, "exponentformat": "SI"},
        annotations=notes,
        shapes=[upright(at, VIOLET, 2), *(upright(x, GREY, 1, dash="dash") for x, _text in seen)],
    )
