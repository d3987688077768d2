"""Queries and keys of a head on a plane: circles and diamonds, coloured by what they are, their position or their class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.explain.queries_keys import HeadVectors, JointView
from core.figures.numbers import Write, three_digits
from core.figures.style import BLUE, GREY, ORANGE, SEQUENTIAL, SERIES, base_layout, figure_of
from core.messages import translate as _

ColourBy = Literal["kind", "position", "class"]
MAX_SHOWN: Final = 800
"""Queries, and as many keys, that are drawn; the plane is that of all."""
MARKS: Final = {"query": ("circle", BLUE), "key": ("diamond", ORANGE)}


def shown_rows(count: int) -> NDArray[np.int64]:
    """The rows that are drawn, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, MAX_SHOWN)).round().astype(np.int64))


def joint_figure(
    view: JointView,
    vectors: HeadVectors,
    classes: Sequence[str],
    *,
    colour: ColourBy,
    highlight: int | None = None,
    position_title: str = "",
    keep: str = "joint",
    write: Write = three_digits,
) -> go.Figure:
    """The plane.

    Args:
        classes: translated names of the labels.
        highlight: with `colour` "class", the only class in colour; None gives every class its own, for at most six.
        position_title: of the colour bar.
    """
    rows = shown_rows(len(view.q))
    names = {"query": _("Queries"), "key": _("Keys")}
    labels = vectors.labels[rows]
    traces: list[dict[str, Any]] = []
    for kind, points in (("query", view.q[rows]), ("key", view.k[rows])):
        symbol, plain = MARKS[kind]
        base = {"type": "scatter", "mode": "markers", "legendgroup": kind}
        hovers = [
            _("{kind}: input {number}, position {place}, {label}").format(
                kind=names[kind], number=vectors.inputs[row] + 1, place=vectors.positions[row] + 1,
                label=classes[vectors.labels[row]],
            )
            for row in rows
        ]  # fmt: skip

        def trace(
            which: NDArray[np.bool_], name: str, marker: dict[str, Any], *, legend: bool = True,
            base: dict[str, Any] = base, points: NDArray[np.float64] = points, hovers: list[str] = hovers, symbol: str = symbol,
        ) -> dict[str, Any]:  # fmt: skip
            return base | {
                "name": name, "x": points[which, 0].astype(np.float32), "y": points[which, 1].astype(np.float32),
                "customdata": [one for one, drawn in zip(hovers, which, strict=True) if drawn],
                "hovertemplate": "%{customdata}<extra></extra>", "showlegend": legend,
                "marker": {"symbol": symbol, "size": 6, "opacity": 0.65, "line": {"width": 0}} | marker,
            }  # fmt: skip

        every = np.ones(len(rows), dtype=bool)
        if colour == "kind":
            traces.append(trace(every, names[kind], {"color": plain}))
        elif colour == "position":
            traces.append(
                trace(every, names[kind], {"color": vectors.positions[rows].astype(np.float32) + 1, "coloraxis": "coloraxis"})
            )
        elif highlight is not None:
            chosen = labels == highlight
            traces.append(trace(~chosen, _("{kind}, others").format(kind=names[kind]), {"color": GREY, "opacity": 0.3}))
            traces.append(
                trace(
                    chosen, _("{kind}, {label}").format(kind=names[kind], label=classes[highlight]), {"color": plain, "size": 8}
                )
            )
        else:
            for number, label in enumerate(np.unique(vectors.labels)):
                name = _("{kind}, {label}").format(kind=names[kind], label=classes[label])
                traces.append(trace(labels == label, name, {"color": SERIES[number % len(SERIES)]}))
    shares = [write(100 * float(share)) for share in view.shares]
    layout = base_layout(
        x_title=_("First component ({share} % of the variance)").format(share=shares[0]),
        y_title=_("Second component ({share} %)").format(share=shares[1]),
        keep=keep,
    )
    layout["yaxis"] |= {"scaleanchor": "x", "scaleratio": 1}
    layout["legend"] = {"itemsizing": "constant"}
    if colour == "position":
        layout["coloraxis"] = {
            "colorscale": SEQUENTIAL, "cmin": 1, "cmax": int(vectors.positions.max()) + 1,
            "colorbar": {"title": {"text": position_title, "side": "right"}, "thickness": 10, "outlinewidth": 0},
        }  # fmt: skip
    return figure_of(traces, layout)
