"""Figures of the lesson on recurrent cells: what is left of a change, one unit, and gradients through time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.figures.style import BLUE, BROWN, GREEN, GREY, ORANGE, VIOLET
from core.figures.traces import line, series_chart, upright
from core.lecture.recurrence import Array, ThroughTime
from core.messages import translate as _


@dataclass(frozen=True)
class UnitLine:
    """One number of a unit through time.

    Attributes:
        name: as on the page. values: (time,).
        gate: between 0 and 1; else of either sign.
    """

    name: str
    values: Array
    gate: bool = False


def unit_figure(lines: Sequence[UnitLine], *, at: int, before: Array | None = None) -> go.Figure:
    """One unit through time: its gates, where it has any, above on a scale from 0 to 1, its states below.

    Args:
        before: (time,) its state before a change of a dial, drawn faded.
    """
    colours, dashes = (ORANGE, GREEN, VIOLET, BROWN, BLUE, GREY), ("dot", "dash", "solid")
    gated = any(one.gate for one in lines)
    traces: list[dict[str, Any]] = [
        line(np.arange(1, len(one.values) + 1), one.values, one.name, colours[number % len(colours)], width=2,
             dash="solid" if one.gate else dashes[number % 3], hover="%{y:.3f}", yaxis="y" if one.gate else "y2")
        for number, one in enumerate(lines)
    ]  # fmt: skip
    if before is not None:
        faded = line(np.arange(1, len(before) + 1), before, _("before"), GREY, width=5, hover="%{y:.3f}", opacity=0.4, yaxis="y2")
        traces.append(faded)
    gates = {"yaxis": {"title": {"text": _("Gate")}, "domain": [0.55, 1], "range": [0, 1]}} if gated else {}
    return series_chart(
        traces,
        _("Step"),
        "",
        height=470,
        keep="unit",
        x={"anchor": "y2"},
        yaxis2={"title": {"text": _("State")}, "domain": [0, 0.47 if gated else 1]},
        shapes=[upright(at + 1, ORANGE)],
        **gates,
    )


def left_figure(rnn: Array, lstm: Array, *, chosen: str) -> go.Figure:
    """Share of a change of the first input that is left in each cell's state, by step; the chosen one filled."""
    traces = [
        line(np.arange(1, len(values) + 1), values, name, colour, width=3, hover="%{y:.1%}", mode="lines+markers",
             fill="tozeroy" if name == chosen else "none")
        for name, values, colour in (("RNN", rnn, ORANGE), ("LSTM", lstm, BLUE))
    ]  # fmt: skip
    y = {"rangemode": "tozero", "tickformat": ".0%"}
    return series_chart(traces, _("Step"), _("Left of the first input's change"), height=470, keep="left", y=y)


def gradients_figure(back: ThroughTime) -> go.Figure:
    """Norms by the step of the input, on a logarithmic axis; zeros (underflow) are left out."""
    rows = (
        ("RNN", back.rnn, ORANGE, "solid"),
        ("LSTM", back.lstm, BLUE, "solid"),
        (_("attention"), back.attention, GREEN, "solid"),
        (_("product of the forget gates"), back.forget, GREY, "dash"),
    )
    traces = [
        line(np.arange(1, len(values) + 1), np.where(values > 0, values, np.nan), name, colour, width=2, dash=dash,
             hover="%{y:.2e}", mode="lines+markers", marker={"size": 4 if dash == "solid" else 1})
        for name, values, colour, dash in rows
    ]  # fmt: skip
    y = {"type": "log", "exponentformat": "power", "nticks": 8}
    title = _("Step of the input; the output is at the last")
    return series_chart(traces, title, _("Norm of the gradient"), height=420, keep="gradients", y=y)
