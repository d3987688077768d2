"""Figures of the page on cost: multiply-adds by kind of module, their growth with T, memory, and the documents' numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

import plotly.graph_objects as go

from core.figures.style import BLUE, BROWN, GREEN, GREY, ORANGE, SERIES, VIOLET, base_layout, figure_of
from core.lecture.cost_growth import Growth
from core.messages import translate as _

KIND_COLOURS = {
    "attention": BLUE, "feed_forward": ORANGE, "convolution": GREEN, "embedding": VIOLET, "head": BROWN, "norm": GREY,
    "positions": GREY,
}  # fmt: skip


def kinds_figure(models: Mapping[str, Mapping[str, int]], kind_names: Mapping[str, str]) -> go.Figure:
    """One bar per model, divided among kinds of modules.

    Args:
        models: name -> MACs by kind. kind_names: label by kind, in the order of the bars' sections.
    """
    names = list(models)
    totals = {name: sum(macs.values()) or 1 for name, macs in models.items()}
    traces = [
        {"type": "bar", "orientation": "h", "y": names, "x": [100 * models[name].get(kind, 0) / totals[name] for name in names],
         "customdata": [models[name].get(kind, 0) for name in names], "name": label,
         "marker": {"color": KIND_COLOURS[kind]}, "hovertemplate": "%{y}: %{x:.1f} %<br>%{customdata:,} MACs"}
        for kind, label in kind_names.items()
        if any(kind in macs for macs in models.values())
    ]  # fmt: skip
    layout = base_layout(x_title=_("Share of the multiply-adds, %"), keep="kinds", height=110 + 44 * len(names))
    layout |= {"barmode": "stack"}
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    layout["xaxis"] |= {"range": [0, 100]}
    return figure_of(traces, layout)


def growth_figure(growth: Growth, *, at: int) -> go.Figure:
    """MACs of a layer's terms along T, both axes logarithmic, with the crossings and the chosen T marked."""
    lines = (
        (_("scores: 2T²D"), growth.scores, BLUE, "solid"),
        (_("projections: 4TD²"), growth.projections, ORANGE, "solid"),
        (_("feed-forward: 8TD²"), growth.feed_forward, BROWN, "dash"),
        (_("projections and feed-forward: 12TD²"), growth.projections + growth.feed_forward, GREY, "dot"),
    )
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "lines", "x": growth.tokens, "y": y, "name": name,
         "line": {"color": colour, "width": 2.5, "dash": dash}, "hovertemplate": "%{y:.3~s} MACs"}
        for name, y, colour, dash in lines
    ]  # fmt: skip
    layout = base_layout(
        x_title=_("Tokens T"), y_title=_("Multiply-adds of one layer"), keep="growth", hover="x unified", height=440
    )
    marks = ((growth.crossing_attention, "T = 2D"), (growth.crossing_layer, "T = 6D"))
    _logarithmic(layout, at, [mark for mark in marks if mark[0] <= growth.tokens[-1]])
    return figure_of(traces, layout)


def memory_figure(growth: Growth, *, at: int) -> go.Figure:
    """Bytes of the maps and of the feed-forward middle along T."""
    traces = [
        {"type": "scatter", "mode": "lines", "x": growth.tokens, "y": y, "name": name,
         "line": {"color": colour, "width": 2.5, "dash": dash}, "hovertemplate": "%{y:.3~s}B"}
        for name, y, colour, dash in (
            (_("attention maps: N T²"), growth.maps, BLUE, "solid"),
            (_("feed-forward middle: T · 4D"), growth.middle, ORANGE, "dash"),
        )
    ]  # fmt: skip
    layout = base_layout(
        x_title=_("Tokens T"), y_title=_("Bytes of one layer, float32"), keep="memory", hover="x unified", height=420
    )
    marks = [(growth.crossing_memory, "T = 4D/N")] if 1 <= growth.crossing_memory <= growth.tokens[-1] else []
    _logarithmic(layout, at, marks)
    return figure_of(traces, layout)


def _logarithmic(layout: dict[str, Any], at: int, marks: Sequence[tuple[float, str]]) -> None:
    layout["xaxis"] |= {"type": "log", "dtick": 1}
    layout["yaxis"] |= {"type": "log", "dtick": 2, "exponentformat": "SI"}
    layout["shapes"] = [
        {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1,
         "line": {"color": colour, "width": width, "dash": dash}}
        for x, colour, width, dash in [(at, VIOLET, 2, "solid"), *((x, GREY, 1, "dash") for x, _name in marks)]
    ]  # fmt: skip
    layout["annotations"] = [
        {"x": log10(x), "y": 0.02 + 0.07 * (index % 2), "xref": "x", "yref": "paper", "text": text, "showarrow": False,
         "xanchor": "right", "xshift": -4}
        for index, (x, text) in enumerate([(at, f"T = {at}"), *marks])
    ]  # fmt: skip


def plane_figure(points: Sequence[tuple[str, int, int]], *, chosen: tuple[int, int]) -> go.Figure:
    """Draws each model's attention in the plane of D and T, with the lines T = D, 2D and 6D.

    Args:
        points: name, T and D. chosen: T and D of the sliders.
    """
    low, high = 8, 4096
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "lines", "x": [low, high], "y": [factor * low, factor * high], "name": name,
         "line": {"color": GREY, "width": 2, "dash": dash}, "hoverinfo": "skip"}
        for factor, name, dash in ((1, "T = D", "dot"), (2, "T = 2D", "dash"), (6, "T = 6D", "solid"))
    ]  # fmt: skip
    symbols = ("circle", "square", "diamond")
    for index, (name, t, d) in enumerate(points):
        traces.append(
            {"type": "scatter", "mode": "markers", "x": [d], "y": [t], "name": name,
             "marker": {"size": 13, "color": SERIES[index % len(SERIES)], "symbol": symbols[index // 6 % 3]},
             "hovertemplate": f"T = {t}, D = {d}<extra>{name}</extra>"}
        )  # fmt: skip
    traces.append(
        {"type": "scatter", "mode": "markers", "x": [chosen[1]], "y": [chosen[0]], "name": _("chosen above"),
         "marker": {"size": 17, "color": VIOLET, "symbol": "x"}, "hovertemplate": "T = %{y}, D = %{x}"}
    )  # fmt: skip
    layout = base_layout(x_title=_("Width D"), y_title=_("Tokens T"), keep="plane", height=460)
    layout["xaxis"] |= {"type": "log", "range": [log10(low), log10(high)], "dtick": 1}
    layout["yaxis"] |= {"type": "log", "range": [log10(4), log10(10_000)], "dtick": 1}
    return figure_of(traces, layout)


def claims_figure(rows: Sequence[tuple[str, float, float]]) -> go.Figure:
    """The counted number as a multiple of the document's, one bar per number.

    Args:
        rows: name, the document's number, the counted one.
    """
    names = [name for name, _document, _counted in rows]
    ratios = [counted / document for _name, document, counted in rows]
    trace = {
        "type": "bar", "orientation": "h", "y": names, "x": [ratio - 1 for ratio in ratios], "base": 1,
        "customdata": [[f"{document:,.0f}", f"{counted:,.0f}"] for _name, document, counted in rows],
        "text": [f"×{ratio:.3g}" for ratio in ratios], "textposition": "outside", "cliponaxis": False,
        "marker": {"color": [GREY if abs(ratio - 1) < 0.02 else ORANGE for ratio in ratios]},
        "hovertemplate": "%{customdata[0]} → %{customdata[1]}<extra></extra>",
    }  # fmt: skip
    layout = base_layout(x_title=_("Counted, as a multiple of what the document says"), keep="claims", legend=False,
                         height=110 + 34 * len(rows))  # fmt: skip
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    layout["xaxis"] |= {
        "type": "log",
        "range": [-0.3, 1.9],
        "tickvals": [1, 2, 4, 10, 40],
        "ticktext": ["×1", "×2", "×4", "×10", "×40"],
    }
    return figure_of([trace], layout)
