"""Figures of the lessons on attention and permutation: bar charts, and their block diagrams.

Sources: iiga-equations 5.1 to 5.7, sequence-modelling, attention-notebook (self-attention under permutation; D21).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write, few, shape
from core.figures.style import BLUE, GREY, ORANGE, SERIES
from core.figures.traces import bars, chart, line
from core.lecture.attention_steps import Steps
from core.lecture.permutation import Shuffle, pooled
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


def attention_diagram(steps: Steps, *, head: int, query: int, key: int, write: Write) -> Diagram:
    """One head's way from tokens to outputs.

    Args:
        head, query, key: whose numbers stand on the wires, from 0 on.
    """
    i, j, scaled = query + 1, key + 1, f"{shape(steps.scaled[head])}, τ = {write(steps.temperature)}"
    q, k, v = (few(one[head, row], write) for one, row in ((steps.q, query), (steps.k, key), (steps.v, key)))
    return Diagram(
        title=_("Block diagram of attention"),
        blocks=(
            Block("x", "X", (0, 1), shape(steps.x), "project", kind="data"),
            Block("q", "Q = XW_Q", (1, 0), shape(steps.q[head]), "project"),
            Block("k", "K = XW_K", (1, 1), shape(steps.k[head]), "project"),
            Block("v", "V = XW_V", (1, 2), shape(steps.v[head]), "project"),
            Block("scores", "QKᵀ/(τ√d_k)", (2, 0.5), scaled, "scores"),
            Block("weights", "A = softmax", (3, 0.5), shape(steps.weights[head]), "softmax"),
            Block("z", "Z = AV", (4, 1), shape(steps.mixed[head]), "sum"),
            Block("out", "O = ZW_O", (5, 1), shape(steps.output), "heads"),
        ),
        wires=(
            Wire("x", "q"),
            Wire("x", "k"),
            Wire("x", "v"),
            Wire("q", "scores", q),
            Wire("k", "scores", k),
            Wire("scores", "weights", f"S_{{{i},{j}}} = {few([float(steps.masked[head, query, key])], write)}"),
            Wire("weights", "z", f"A_{{{i},{j}}} = {write(float(steps.weights[head, query, key]))}"),
            Wire("v", "z", v),
            Wire("z", "out", few(steps.mixed[head, query], write)),
        ),
    )


def permutation_diagram(shuffle: Shuffle, order: Sequence[int], *, heads: int, write: Write, size: Write) -> Diagram:
    """Both ways from X, compared row by row and after pooling.

    Args:
        order: from 0 on. size: writes the deviations.
    """
    word = ",".join(str(index + 1) for index in order)
    attention = _("Attention")
    return Diagram(
        title=_("Block diagram of a permutation before and after attention"),
        blocks=(
            Block("x", "X", (0, 0.5), shape(shuffle.before.x), "rows", kind="data"),
            Block("p", "P", (1, 0), word, "rows"),
            Block("after", attention, (2, 0), f"A' {shape(shuffle.after.weights[0])}", "maps"),
            Block("before", attention, (1, 1), f"A {shape(shuffle.before.weights[0])}", "maps"),
            Block("pz", "P", (2, 1), word, "rows"),
            Block("same", "Z' = PZ?", (3, 0.5), size(shuffle.rows), "table"),
            Block("mean", _("mean"), (4, 0), few(pooled(shuffle.after.joined), write), "pool"),
            Block("pool", _("mean"), (4, 1), few(pooled(shuffle.before.joined), write), "pool"),
            Block("equal", "Z̄' = Z̄?", (5, 0.5), size(shuffle.pool), "pool"),
        ),
        wires=(
            Wire("x", "p", few(shuffle.before.x[0], write)),
            Wire("x", "before", few(shuffle.before.x[0], write)),
            Wire("p", "after", "PX"),
            Wire("before", "pz", few(shuffle.before.joined[0], write)),
            Wire("after", "same", "Z'"),
            Wire("pz", "same", "PZ"),
            Wire("same", "mean", few(shuffle.after.joined[0], write)),
            Wire("same", "pool", few(shuffle.moved[0], write)),
            Wire("mean", "equal"),
            Wire("pool", "equal"),
        ),
    )
