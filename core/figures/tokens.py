"""Figures of a ViT's forward pass: small grids of numbers, vectors by channel, the sequence of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.draft import Draft
from core.figures.numbers import Write, three_digits
from core.figures.pictures import GREYS
from core.figures.style import BLUE, DIVERGING, GREY, ORANGE, base_layout
from core.messages import translate as _


def numbers_figure(
    values: NDArray[np.generic], *, grey: bool = False, write: Write = three_digits, height: int = 260, keep: str = "numbers"
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
        | ({"font": {"size": 12, "color": "#000000" if z[i, j] > 127 else "#FFFFFF"}} if grey else {})
        for i in range(z.shape[0])
        for j in range(z.shape[1])
    ]
    figure = Draft()
    figure.add_heatmap(z=z, showscale=False, xgap=1, ygap=1, hoverinfo="skip", **colours)
    figure.update_layout(base_layout(keep=keep, legend=False, height=height))
    figure.update_layout(annotations=labels, margin={"t": 4, "b": 4, "l": 4, "r": 4})
    figure.update_xaxes(visible=False, constrain="domain", fixedrange=True)
    figure.update_yaxes(visible=False, autorange="reversed", scaleanchor="x", fixedrange=True)
    return figure.figure()


def vectors_figure(
    vectors: Mapping[str, NDArray[np.floating]],
    *,
    chosen: int | None = None,
    height: int | None = None,
    keep: str = "vectors",
) -> go.Figure:
    """Vectors of the same width above each other, each as a row of bars, all to one scale.

    Args:
        vectors: (d,) by name. chosen: channel, from 0, that is marked.
    """
    rows = len(vectors)
    figure = Draft()
    layout = base_layout(keep=keep, legend=False, height=height or 70 + 110 * rows) | {"bargap": 0.1, "annotations": []}
    top = max(float(np.abs(one).max()) for one in vectors.values()) or 1.0
    each = 1 / rows
    for index, (name, vector) in enumerate(vectors.items()):
        axis = "" if index == 0 else str(index + 1)
        colours = [ORANGE if channel == chosen else BLUE if value >= 0 else GREY for channel, value in enumerate(vector)]
        figure.add_bar(
            x=np.arange(1, len(vector) + 1),
            y=np.asarray(vector, dtype=np.float32),
            yaxis=f"y{axis}",
            name=name,
            marker={"color": colours, "line": {"width": 0}},
            hovertemplate=_("channel {channel}: {value}").format(channel="%{x}", value="%{y:.4~g}") + "<extra></extra>",
        )
        high = 1 - index * each
        layout[f"yaxis{axis}"] = {
            "domain": [high - 0.78 * each, high - 0.16 * each],
            "range": [-1.05 * top, 1.05 * top],
            "nticks": 4,
        }
        layout["annotations"].append(
            {"x": 0, "xref": "paper", "xanchor": "left", "y": high - 0.15 * each, "yref": "paper", "yanchor": "bottom",
             "text": name, "showarrow": False}
        )  # fmt: skip
    width = len(next(iter(vectors.values())))
    anchor = f"y{rows}" if rows > 1 else "y"
    layout["xaxis"] = {"title": {"text": _("Channel")}, "anchor": anchor, "range": [0.2, width + 0.8]}
    figure.update_layout(layout)
    return figure.figure()


def sequence_figure(tokens: NDArray[np.floating], *, token: int, height: int = 380, keep: str = "sequence") -> go.Figure:
    """All tokens, one per row with the class token on top; the chosen one is framed.

    Args:
        tokens: (tokens, d).
    """
    count, width = tokens.shape
    top = float(np.abs(tokens).max()) or 1.0
    figure = Draft()
    hover = _("token {token}, channel {channel}: {value}").format(token="%{y}", channel="%{x}", value="%{z:.3~g}")
    figure.add_heatmap(
        z=np.asarray(tokens, dtype=np.float32),
        x0=1,
        dx=1,
        y0=0,
        dy=1,
        zmin=-top,
        zmax=top,
        colorscale=DIVERGING,
        colorbar={"thickness": 8, "outlinewidth": 0},
        hovertemplate=hover + "<extra></extra>",
    )
    figure.update_layout(
        base_layout(x_title=_("Channel"), y_title=_("Token (0: the class token)"), keep=keep, legend=False, height=height)
    )
    figure.update_yaxes(range=[count - 0.5, -0.5], showgrid=False)
    figure.update_xaxes(range=[0.5, width + 0.5], showgrid=False)
    figure.add_shape(type="rect", x0=0.5, x1=width + 0.5, y0=token - 0.5, y1=token + 0.5, line={"color": ORANGE, "width": 2})
    return figure.figure()


def keys_figure(
    scores: NDArray[np.floating],
    weights: NDArray[np.floating],
    *,
    height: int = 300,
    keep: str = "keys",
) -> go.Figure:
    """One query's scores for all keys above, and the softmax of them below.

    Args:
        scores, weights: (tokens,), the class token first.
    """
    figure = Draft()
    names = np.arange(len(scores))
    figure.add_bar(
        x=names, y=np.asarray(scores, dtype=np.float32), yaxis="y2", marker={"color": np.where(scores >= 0, BLUE, GREY)},
        hovertemplate=_("key {key}: score {value}").format(key="%{x}", value="%{y:.3~g}") + "<extra></extra>",
    )  # fmt: skip
    figure.add_bar(
        x=names, y=np.asarray(weights, dtype=np.float32), marker={"color": ORANGE},
        hovertemplate=_("key {key}: weight {value}").format(key="%{x}", value="%{y:.3~g}") + "<extra></extra>",
    )  # fmt: skip
    figure.update_layout(base_layout(x_title=_("Key (0: the class token)"), keep=keep, legend=False, height=height))
    figure.update_layout(
        bargap=0.15,
        yaxis={"domain": [0, 0.46], "title": {"text": _("Weight")}, "rangemode": "tozero"},
        yaxis2={"domain": [0.54, 1], "title": {"text": _("Score")}, "anchor": "x"},
    )
    return figure.figure()


def classes_figure(
    names: Sequence[str],
    logits: NDArray[np.floating],
    probabilities: NDArray[np.floating],
    *,
    height: int = 360,
    keep: str = "classes",
) -> go.Figure:
    """Logits beside their softmax, one row per class in the model's order."""
    figure = Draft()
    figure.add_bar(
        x=np.asarray(logits, dtype=np.float32), y=list(names), orientation="h",
        marker={"color": np.where(logits >= 0, BLUE, GREY)}, hovertemplate="%{y}: %{x:.3~f}<extra></extra>",
    )  # fmt: skip
    figure.add_bar(
        x=100 * np.asarray(probabilities, dtype=np.float64), y=list(names), orientation="h", xaxis="x2", marker={"color": ORANGE},
        hovertemplate="%{y}: %{x:.3~f} %<extra></extra>",
    )  # fmt: skip
    figure.update_layout(base_layout(keep=keep, legend=False, height=height))
    figure.update_layout(
        bargap=0.25,
        xaxis={"domain": [0, 0.47], "title": {"text": _("Logit")}},
        xaxis2={"domain": [0.53, 1], "title": {"text": _("Probability (%)")}, "range": [0, 100], "anchor": "y"},
        yaxis={"autorange": "reversed", "ticks": ""},
    )
    return figure.figure()
