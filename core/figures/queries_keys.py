"""Queries and keys of a head on a plane: circles and diamonds, coloured by what they are, their position or their class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.explain.queries_keys import HeadVectors, JointView
from core.figures.style import BLUE, GREY, ORANGE, SEQUENTIAL, SERIES, Write, base_layout, figure_of, three_digits
from core.figures.traces import Trace, marks
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
    traces: list[Trace] = []
    for kind, points in (("query", view.q[rows]), ("key", view.k[rows])):
        hovers = np.array([
            _("{kind}: input {number}, position {place}, {label}").format(
                kind=names[kind], number=vectors.inputs[row] + 1, place=vectors.positions[row] + 1,
                label=classes[vectors.labels[row]],
            )
            for row in rows
        ])  # fmt: skip
        symbol, plain = MARKS[kind]
        base = {"symbol": symbol, "size": 6, "opacity": 0.65, "line": {"width": 0}}
        for which, name, marker in _groups(vectors, rows, classes, colour, highlight, names[kind], plain):
            x, y = points[which].T.astype(np.float32)
            traces.append(
                marks(x, y, name, hover="%{customdata}<extra></extra>", legendgroup=kind, customdata=hovers[which].tolist(),
                      showlegend=True, marker=base | marker)
            )  # fmt: skip
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


def _groups(
    vectors: HeadVectors, rows: NDArray[np.int64], classes: Sequence[str], colour: ColourBy, highlight: int | None,
    kind: str, plain: str,
) -> list[tuple[NDArray[np.bool_], str, Trace]]:  # fmt: skip
    """Rows that share a marker: a mask of them, the name in the legend, and the marker's own properties."""
    every, labels = np.ones(len(rows), dtype=bool), vectors.labels[rows]
    if colour == "kind":
        return [(every, kind, {"color": plain})]
    if colour == "position":
        return [(every, kind, {"color": vectors.positions[rows].astype(np.float32) + 1, "coloraxis": "coloraxis"})]
    named = _("{kind}, {label}")
    if highlight is not None:
        others = _("{kind}, others").format(kind=kind)
        chosen = named.format(kind=kind, label=classes[highlight])
        return [
            (labels != highlight, others, {"color": GREY, "opacity": 0.3}),
            (labels == highlight, chosen, {"color": plain, "size": 8}),
        ]
    return [
        (labels == label, named.format(kind=kind, label=classes[label]), {"color": SERIES[number % len(SERIES)]})
        for number, label in enumerate(np.unique(vectors.labels))
    ]
