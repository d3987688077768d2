"""Figures of the lesson on encoder and decoder: next symbols, the text that a symbol looks at, a vector's stages."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.matrix import Matrix
from core.figures.style import BLUE, GREY, ORANGE
from core.figures.traces import bars, chart
from core.messages import translate as _

SPACE = "␣"
"""Sign that stands for a space on an axis."""


def visible(characters: Sequence[str]) -> list[str]:
    """Characters for an axis: a space is shown as `SPACE`."""
    return [SPACE if one == " " else one for one in characters]


def next_figure(probabilities: NDArray[np.floating], symbols: Sequence[str], *, chosen: int) -> go.Figure:
    """The likeliest next symbols at one step, the chosen one in blue.

    Args:
        probabilities: (vocabulary,). symbols: their signs. chosen: number of the one that was taken.
    """
    order = np.argsort(probabilities)[::-1][:8]
    labels = visible([symbols[int(index)] for index in order])
    colours = [BLUE if int(index) == chosen else GREY for index in order]
    trace = bars(
        labels,
        probabilities[order],
        colour=colours,
        hover="%{x}: %{y:.4~g}<extra></extra>",
        text=[f"{value:.3g}" for value in probabilities[order]],
        textposition="outside",
        cliponaxis=False,
    )
    return chart([trace], x_title=_("Next symbol"), y_title=_("Probability"), keep="next", legend=False, height=300,
                 x={"type": "category"}, y={"range": [0, 1.12], "tickvals": [0, 0.25, 0.5, 0.75, 1]})  # fmt: skip


def cross_map(cross: NDArray[np.floating], *, source: Sequence[str], target: Sequence[str], step: int) -> Matrix:
    """Cross-attention up to a step, whose row is outlined; a query is named by the symbol it yields.

    Args:
        cross: (T, S) weights. source: (S,) characters read. target: (T,) symbols answered.
        step: from 0 on; later rows are left empty.
    """
    seen = np.where(np.arange(len(cross))[:, None] <= step, cross, np.nan)
    return Matrix(
        values=seen, name=_("Cross-attention: answer to text"), columns=visible(source), rows=visible(target), signed=False,
        top=1.0, x_title=_("Text read (keys)"), y_title=_("Symbol answered (query)"), numbers=False,
        outlined=((step, step, 0, len(source) - 1),),
    )  # fmt: skip


def reading_figure(attention: NDArray[np.floating], relevance: NDArray[np.floating], source: Sequence[str]) -> go.Figure:
    """Attention of one answered symbol over the text, beside the gradient times input of each character.

    Args:
        attention: (S,) weights. relevance: (S,) gradient times input of the log-odds against the runner-up, signed, in nats.
    """
    places = list(range(len(source)))
    traces: list[dict[str, Any]] = [
        bars(places, attention, _("Attention weight"), BLUE, hover="%{y:.3~g}<extra></extra>"),
        bars(
            places, relevance, _("Gradient x input of the log-odds (nats)"), ORANGE, hover="%{y:.3~g}<extra></extra>", yaxis="y2"
        ),
    ]
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": visible(source), "tickangle": 0}
    largest = float(np.abs(relevance).max()) or 1.0
    return chart(
        traces,
        keep="reading",
        height=360,
        xaxis={"title": {"text": _("Text read")}, "anchor": "y2", **ticks},
        yaxis={"title": {"text": _("Weight")}, "rangemode": "tozero", "domain": [0.55, 1]},
        yaxis2={"title": {"text": _("Nats")}, "range": [-1.1 * largest, 1.1 * largest], "domain": [0, 0.42], "zeroline": True},
    )


def vectors(stages: Mapping[str, NDArray[np.floating]]) -> Matrix:
    """A vector's stages on its way through a layer, one row per stage, (width,) by name."""
    return Matrix(
        values=np.stack(list(stages.values())),
        name=_("One vector through the layer"),
        rows=list(stages),
        x_title=_("Channel"),
        top=3.0,
        numbers=False,
    )
