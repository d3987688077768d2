"""Figures of the lesson on recurrent cells: states, gates and gradients through time, and the cells' diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from core.figures.style import BLUE, BROWN, DIVERGING, GREEN, GREY, ORANGE, SEQUENTIAL, VIOLET, base_layout, figure_of
from core.figures.traces import chart, heat, line, upright
from core.lecture.recurrence import Array
from core.messages import translate as _

SIDES: Final = {"l": 52, "r": 76, "t": 28, "b": 8}
"""Margins, in pixels, of figures that stand one under another: their steps lie under each other."""
BAND_PX: Final = 96
FRAME_PX: Final = 90


@dataclass(frozen=True, kw_only=True)
class Band:
    """One quantity through time.

    Attributes:
        name: as on the page. values: (time, units).
        gate: between 0 and 1; else of either sign.
    """

    name: str
    values: Array
    gate: bool = False


def states_figure(bands: Sequence[Band], *, steps: Sequence[str], at: int, unit: int | None = None, x_title: str) -> go.Figure:
    """Heatmaps one under another over the same steps, one row per unit and a colour bar for each.

    Args:
        steps: names of the steps, for the axis and for hovering. at: the step that is marked.
        unit: row outlined in every band that has that many units.
    """
    height, gap = 1 / (len(bands) + 0.28 * (len(bands) - 1)), 0.28
    layout = base_layout(height=FRAME_PX + BAND_PX * len(bands), keep="states", legend=False) | {"annotations": [], "shapes": []}
    layout["margin"] = SIDES
    traces: list[dict[str, Any]] = []
    for number, band in enumerate(bands):
        suffix = str(number + 1) if number else ""
        top = 1 - number * (1 + gap) * height
        domain = [max(0.0, top - height), top]
        end = 1.0 if band.gate else float(np.abs(band.values).max()) or 1.0
        units = band.values.shape[1]
        traces.append(
            heat(band.values.T, SEQUENTIAL if band.gate else DIVERGING, 0.0 if band.gate else -end, end, name=band.name,
                 bar={"len": height, "y": (domain[0] + domain[1]) / 2, "nticks": 3},
                 hover=_("step %{x} (%{customdata}), unit %{y}: %{z:.3~g}") + "<extra></extra>",
                 customdata=[list(steps)] * units, y=list(range(1, units + 1)), xaxis="x", yaxis=f"y{suffix}")
        )  # fmt: skip
        layout[f"yaxis{suffix}"] = {
            "domain": domain,
            "autorange": "reversed",
            "showgrid": False,
            "nticks": 4,
            "automargin": False,
            "dtick": max(1, units // 3),
        }
        layout["annotations"].append(
            {"text": f"<b>{band.name}</b>", "xref": "x domain", "yref": f"y{suffix} domain", "x": 0, "y": 1, "xanchor": "left",
             "yanchor": "bottom", "showarrow": False, "font": {"size": 12}}
        )  # fmt: skip
        if unit is not None and unit < units > 1:
            layout["shapes"].append(
                {"type": "rect", "xref": "x domain", "x0": 0, "x1": 1, "yref": f"y{suffix}", "y0": unit + 0.5, "y1": unit + 1.5,
                 "line": {"color": GREY, "width": 1.5}}
            )  # fmt: skip
    count = len(steps)
    every = max(1, -(-count // (30 if max(map(len, steps)) == 1 else 12)))  # as many as a phone's width holds apart
    layout["xaxis"] = {
        "title": {"text": x_title},
        "anchor": f"y{len(bands) if len(bands) > 1 else ''}",
        "showgrid": False,
        "tickmode": "array",
        "tickvals": list(range(0, count, every)),
        "ticktext": list(steps[::every]),
        "tickangle": 0,
    }
    layout["shapes"].append(upright(at, ORANGE))
    return figure_of(traces, layout)


def unit_figure(lines: Sequence[Band], *, unit: int, at: int, x_title: str, before: Array | None = None) -> go.Figure:
    """One unit through time: its gates above on a scale from 0 to 1, its states below.

    Args:
        before: (time,) its state before a change of a dial, drawn faded.
    """
    colours, dashes = (ORANGE, GREEN, VIOLET, BROWN, BLUE, GREY), ("dot", "dash", "solid")
    traces: list[dict[str, Any]] = [
        line(np.arange(1, len(band.values) + 1), band.values[:, unit], band.name, colours[number % len(colours)], width=2,
             dash="solid" if band.gate else dashes[number % 3], hover="%{y:.3f}", yaxis="y" if band.gate else "y2")
        for number, band in enumerate(lines)
    ]  # fmt: skip
    if before is not None:
        traces.append(_faded(before) | {"yaxis": "y2"})
    return chart(
        traces,
        height=470,
        hover="x unified",
        keep="unit",
        xaxis={"title": {"text": x_title}, "anchor": "y2"},
        yaxis={"title": {"text": _("Gate")}, "domain": [0.55, 1], "range": [0, 1]},
        yaxis2={"title": {"text": _("State")}, "domain": [0, 0.47]},
        shapes=[upright(at + 1, ORANGE)],
    )


def left_figure(rnn: Array, lstm: Array, *, chosen: str, x_title: str) -> go.Figure:
    """Share of a change of the first input that is left in each cell's state, by step; the chosen one filled."""
    traces = [
        line(np.arange(1, len(values) + 1), values, name, colour, width=3, hover="%{y:.1%}", mode="lines+markers",
             fill="tozeroy" if name == chosen else "none")
        for name, values, colour in (("RNN", rnn, ORANGE), ("LSTM", lstm, BLUE))
    ]  # fmt: skip
    return chart(
        traces,
        x_title=x_title,
        y_title=_("Left of the first input's change"),
        height=470,
        hover="x unified",
        keep="left",
        y={"rangemode": "tozero", "tickformat": ".0%"},
    )


def line_figure(values: Array, *, at: int, x_title: str, y_title: str) -> go.Figure:
    """One number per step."""
    trace = line(
        np.arange(1, len(values) + 1),
        values,
        colour=BLUE,
        width=2,
        hover="%{x}: %{y:.3f}<extra></extra>",
        mode="lines+markers",
        marker={"size": 4},
    )
    return chart([trace], x_title=x_title, y_title=y_title, height=220, keep=y_title, legend=False,
                 y={"automargin": False}, shapes=[upright(at + 1, ORANGE)], margin=SIDES)  # fmt: skip


def _faded(values: Array) -> dict[str, Any]:
    """A line as it was before a change."""
    return line(np.arange(1, len(values) + 1), values, _("before"), GREY, width=5, hover="%{y:.3f}", opacity=0.4)


def gradients_figure(*, rnn: Array, lstm: Array, attention: Array, forget: Array, x_title: str) -> go.Figure:
    """Norms by the step of the input, on a logarithmic axis; zeros (underflow) are left out."""
    rows = (
        (_("RNN"), rnn, ORANGE, "solid"),
        (_("LSTM"), lstm, BLUE, "solid"),
        (_("attention"), attention, GREEN, "solid"),
        (_("product of the forget gates"), forget, GREY, "dash"),
    )
    traces = [
        line(np.arange(1, len(values) + 1), np.where(values > 0, values, np.nan), name, colour, width=2, dash=dash,
             hover="%{y:.2e}", mode="lines+markers", marker={"size": 4 if dash == "solid" else 1})
        for name, values, colour, dash in rows
    ]  # fmt: skip
    return chart(
        traces,
        x_title=x_title,
        y_title=_("Norm of the gradient"),
        height=420,
        hover="x unified",
        keep="gradients",
        y={"type": "log", "exponentformat": "power", "nticks": 8},
    )
