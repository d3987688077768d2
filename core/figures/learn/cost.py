"""Figures of the lesson on cost: multiply-adds by kind, their growth, memory, a layer's diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

import plotly.graph_objects as go

from core.figures.style import BLUE, BROWN, GREEN, GREY, ORANGE, VIOLET
from core.figures.traces import bars, chart, line, upright
from core.lecture.cost_growth import Growth
from core.messages import translate as _

KIND_COLOURS = {
    "attention": BLUE,
    "feed_forward": ORANGE,
    "convolution": GREEN,
    "embedding": VIOLET,
    "head": BROWN,
    "norm": GREY,
    "positions": GREY,
}


def kinds_figure(models: Mapping[str, Mapping[str, int]], kind_names: Mapping[str, str]) -> go.Figure:
    """One bar per model, divided among kinds of modules.

    Args:
        models: name -> MACs by kind. kind_names: label by kind, in the order of the bars' sections.
    """
    names = list(models)
    totals = {name: sum(macs.values()) or 1 for name, macs in models.items()}
    traces = [
        bars(
            [100 * models[name].get(kind, 0) / totals[name] for name in names],
            names,
            label,
            KIND_COLOURS[kind],
            hover="%{y}: %{x:.1f} %<br>%{customdata:,} MACs",
            orientation="h",
            customdata=[models[name].get(kind, 0) for name in names],
        )
        for kind, label in kind_names.items()
        if any(kind in macs for macs in models.values())
    ]
    return chart(
        traces,
        x_title=_("Share of the multiply-adds, %"),
        keep="kinds",
        height=110 + 26 * len(names),
        x={"range": [0, 100]},
        y={"autorange": "reversed", "automargin": True},
        barmode="stack",
    )


def growth_figure(growth: Growth, *, at: int) -> go.Figure:
    """MACs of a layer's terms along T, both axes logarithmic, with the crossings and the chosen T marked."""
    lines = (
        (_("scores: 2T²D"), growth.scores, BLUE, "solid"),
        (_("projections: 4TD²"), growth.projections, ORANGE, "solid"),
        (_("feed-forward: 8TD²"), growth.feed_forward, BROWN, "dash"),
        (_("projections and feed-forward: 12TD²"), growth.projections + growth.feed_forward, GREY, "dot"),
    )
    crossings = ((growth.crossing_attention, "T = 2D"), (growth.crossing_layer, "T = 6D"))
    return _along(
        growth, lines, "%{y:.3~s} MACs", crossings, at=at, y_title=_("Multiply-adds of one layer"), keep="growth", height=460
    )


def memory_figure(growth: Growth, *, at: int) -> go.Figure:
    """Bytes of the maps and of the feed-forward middle along T."""
    lines = (
        (_("attention maps: N T²"), growth.maps, BLUE, "solid"),
        (_("feed-forward middle: T · 4D"), growth.middle, ORANGE, "dash"),
    )
    crossing = ((growth.crossing_memory, "T = 4D/N"),)
    return _along(
        growth, lines, "%{y:.3~s}B", crossing, at=at, y_title=_("Bytes of one layer, float32"), keep="memory", height=460
    )


def _along(
    growth: Growth, lines: Sequence[Any], hover: str, crossings: Sequence[tuple[float, str]], *, at: int, **layout: Any
) -> go.Figure:
    """Lines along T, both axes logarithmic, with the chosen T and the crossings in sight."""
    traces = [line(growth.tokens, y, name, colour, width=2.5, dash=dash, hover=hover) for name, y, colour, dash in lines]
    seen = [one for one in crossings if 1 <= one[0] <= growth.tokens[-1]]
    notes = [
        {"x": log10(x), "y": 0.02 + 0.07 * (index % 2), "xref": "x", "yref": "paper", "text": text, "showarrow": False,
         "xanchor": "right", "xshift": -4}
        for index, (x, text) in enumerate([(at, f"T = {at}"), *seen])
    ]  # fmt: skip
    return chart(
        traces,
        x_title=_("Tokens T"),
        hover="x unified",
        x={"type": "log", "dtick": 1},
        y={"type": "log", "dtick": 2, "exponentformat": "SI"},
        annotations=notes,
        shapes=[upright(at, VIOLET, 2), *(upright(x, GREY, 1, dash="dash") for x, _text in seen)],
        **layout,
    )
