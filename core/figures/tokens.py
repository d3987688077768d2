"""Figures of a ViT's forward pass: small grids of numbers, vectors by channel, the sequence of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, DIVERGING, GREY, ORANGE, Scale, Write, three_digits
from core.figures.traces import bars, chart, heat
from core.messages import translate as _

GREYS: Final[Scale] = [(0.0, "black"), (1.0, "white")]


def numbers_figure(
    values: NDArray[np.generic], *, grey: bool = False, write: Write = three_digits, height: int = 260
) -> go.Figure:
    """A small grid with its numbers in it: grey levels as grey, others coloured about zero.

    Args:
        values: (rows, columns).
    """
    z = np.asarray(values, dtype=np.float64)
    top = float(np.abs(z).max()) or 1.0
    colours: dict[str, Any] = (
        {"colorscale": GREYS, "zmin": 0, "zmax": 255} if grey else {"colorscale": DIVERGING, "zmin": -top, "zmax": top}
    )
    words = [[write(float(value)) for value in row] for row in z]
    # A label a cell: plotly would give all of them one colour, and grey levels need black on white and white on black.
    labels = [
        {"x": j, "y": i, "text": words[i][j], "showarrow": False, "font": {"size": 12}}
        | ({"font": {"size": 12, "color": "black" if z[i, j] > 127 else "white"}} if grey else {})
        for i in range(z.shape[0])
        for j in range(z.shape[1])
    ]
    cells = {"type": "heatmap", "z": z, "showscale": False, "xgap": 1, "ygap": 1, "hoverinfo": "skip", **colours}
    hidden = {"visible": False, "fixedrange": True}
    return chart([cells], keep="numbers", legend=False, height=height, annotations=labels, margin=dict.fromkeys("tblr", 4),
                 x={"constrain": "domain", **hidden}, y={"autorange": "reversed", "scaleanchor": "x", **hidden})  # fmt: skip


def vectors_figure(vectors: Mapping[str, NDArray[np.floating]], *, chosen: int | None = None) -> go.Figure:
    """Vectors of the same width above each other, each as a row of bars, all to one scale.

    Args:
        vectors: (d,) by name. chosen: channel, from 0, that is marked.
    """
    rows, width = len(vectors), len(next(iter(vectors.values())))
    top = max(float(np.abs(one).max()) for one in vectors.values()) or 1.0
    each = 1 / rows
    traces, axes, titles = [], {}, []
    for index, (name, vector) in enumerate(vectors.items()):
        axis, high = "" if index == 0 else str(index + 1), 1 - index * each
        colours = [ORANGE if channel == chosen else BLUE if value >= 0 else GREY for channel, value in enumerate(vector)]
        hover = _("channel {channel}: {value}").format(channel="%{x}", value="%{y:.4~g}") + "<extra></extra>"
        traces.append(
            bars(
                np.arange(1, width + 1),
                np.asarray(vector, dtype=np.float32),
                name,
                hover=hover,
                yaxis=f"y{axis}",
                marker={"color": colours, "line": {"width": 0}},
            )
        )
        domain = [high - 0.78 * each, high - 0.16 * each]
        axes[f"yaxis{axis}"] = {"domain": domain, "range": [-1.05 * top, 1.05 * top], "nticks": 4}
        titles.append(
            {"x": 0, "xref": "paper", "xanchor": "left", "y": high - 0.15 * each, "yref": "paper", "yanchor": "bottom",
             "text": name, "showarrow": False}
        )  # fmt: skip
    x = {"title": {"text": _("Channel")}, "anchor": f"y{rows}" if rows > 1 else "y", "range": [0.2, width + 0.8]}
    return chart(traces, keep="vectors", legend=False, height=70 + 110 * rows, xaxis=x, annotations=titles, bargap=0.1, **axes)


def sequence_figure(tokens: NDArray[np.floating], *, token: int) -> go.Figure:
    """All tokens, one per row with the class token on top; the chosen one is framed.

    Args:
        tokens: (tokens, d).
    """
    count, width = tokens.shape
    top = float(np.abs(tokens).max()) or 1.0
    hover = _("token {token}, channel {channel}: {value}").format(token="%{y}", channel="%{x}", value="%{z:.3~g}")
    cells = heat(np.asarray(tokens, dtype=np.float32), DIVERGING, -top, top, bar={}, hover=hover + "<extra></extra>",
                 x0=1, dx=1, y0=0, dy=1)  # fmt: skip
    frame = {"type": "rect", "x0": 0.5, "x1": width + 0.5, "y0": token - 0.5, "y1": token + 0.5}
    return chart(
        [cells],
        x_title=_("Channel"),
        y_title=_("Token (0: the class token)"),
        keep="sequence",
        legend=False,
        height=380,
        x={"range": [0.5, width + 0.5], "showgrid": False},
        y={"range": [count - 0.5, -0.5], "showgrid": False},
        shapes=[frame | {"line": {"color": ORANGE, "width": 2}}],
    )


def classes_figure(names: Sequence[str], logits: NDArray[np.floating], probabilities: NDArray[np.floating]) -> go.Figure:
    """Logits beside their softmax, one row per class in the model's order."""
    traces = [
        bars(np.asarray(logits, dtype=np.float32), list(names), colour=np.where(logits >= 0, BLUE, GREY), orientation="h",
             hover="%{y}: %{x:.3~f}<extra></extra>"),
        bars(100 * np.asarray(probabilities, dtype=np.float64), list(names), colour=ORANGE, orientation="h", xaxis="x2",
             hover="%{y}: %{x:.3~f} %<extra></extra>"),
    ]  # fmt: skip
    return chart(
        traces,
        keep="classes",
        legend=False,
        height=360,
        bargap=0.25,
        x={"domain": [0, 0.47], "title": {"text": _("Logit")}},
        y={"autorange": "reversed", "ticks": ""},
        xaxis2={"domain": [0.53, 1], "title": {"text": _("Probability (%)")}, "range": [0, 100], "anchor": "y"},
    )
