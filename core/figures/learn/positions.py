"""Figures of the positional-encoding page: waves, likeness to one position, the rotation of a pair, content against position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, GREEN, GREY, ORANGE, SERIES, VIOLET, base_layout, figure_of
from core.messages import translate as _

Array = NDArray[np.float64]


def waves_figure(matrix: Array, channels: Sequence[int], *, at: int | None = None) -> go.Figure:
    """Some channels of an encoding along the positions, one line each.

    Args:
        matrix: (length, width). channels: counted from 0. at: a position to mark.
    """
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "x": np.arange(len(matrix)), "y": matrix[:, channel], "mode": "lines+markers",
         "name": _("channel {number}").format(number=channel), "line": {"color": SERIES[index % len(SERIES)], "width": 2},
         "marker": {"size": 4}, "hovertemplate": "%{y:.3f}"}
        for index, channel in enumerate(channels)
    ]  # fmt: skip
    layout = base_layout(x_title=_("Position"), y_title=_("Value"), height=320, hover="x unified", keep="waves")
    if at is not None:
        layout["shapes"] = [_mark(at)]
    return figure_of(traces, layout)


def from_one_figure(rows: Sequence[tuple[str, Array]], *, at: int, y_title: str) -> go.Figure:
    """Lines by name along the positions; the position `at` is marked."""
    dashes = ("solid", "dash", "dot")
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "x": np.arange(len(row)), "y": row, "mode": "lines", "name": name,
         "line": {"color": SERIES[index], "width": 2.5 - 0.5 * index, "dash": dashes[index % 3]}, "hovertemplate": "%{y:.3f}"}
        for index, (name, row) in enumerate(rows)
    ]  # fmt: skip
    layout = base_layout(x_title=_("Position"), y_title=y_title, height=300, hover="x unified", keep=y_title)
    layout["shapes"] = [_mark(at)]
    return figure_of(traces, layout)


def turn_figure(pair: Array, *, at: int, shift: int, turned: Array) -> go.Figure:
    """One pair of channels as points on a circle, one position among them, and where a rotation matrix takes it.

    Args:
        pair: (length, 2) the sine and the cosine channel. turned: (2,) M PE(at).
    """
    radius = float(np.linalg.norm(pair, axis=1).max()) or 1.0
    round_ = np.linspace(0, 2 * math.pi, 181)
    here, there = pair[at], pair[at + shift]
    hover = "(%{x:.3f}, %{y:.3f})"
    ring = {"color": GREY, "width": 1, "dash": "dot"}
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "x": radius * np.cos(round_), "y": radius * np.sin(round_), "mode": "lines", "line": ring,
         "hoverinfo": "skip", "showlegend": False},
        {"type": "scatter", "x": pair[:, 0], "y": pair[:, 1], "mode": "markers", "marker": {"color": GREY, "size": 5},
         "name": _("all positions"), "text": [str(i) for i in range(len(pair))],
         "hovertemplate": "%{text}: " + hover + "<extra></extra>"},
        {"type": "scatter", "x": [0, here[0]], "y": [0, here[1]], "mode": "lines+markers", "line": {"color": BLUE, "width": 3},
         "marker": {"size": [1, 11]}, "name": _("position {number}").format(number=at), "hovertemplate": hover},
        {"type": "scatter", "x": [0, turned[0]], "y": [0, turned[1]], "mode": "lines+markers", "marker": {"size": [1, 11]},
         "line": {"color": ORANGE, "width": 3}, "name": _("turned by the matrix"), "hovertemplate": hover},
        {"type": "scatter", "x": [there[0]], "y": [there[1]], "mode": "markers",
         "name": _("position {number}").format(number=at + shift),
         "marker": {"size": 18, "color": "rgba(0,0,0,0)", "line": {"color": GREEN, "width": 3}}, "hovertemplate": hover},
    ]  # fmt: skip
    layout = base_layout(x_title=_("Sine channel"), y_title=_("Cosine channel"), height=400, keep="turn")
    span = [-1.15 * radius, 1.15 * radius]
    layout["xaxis"] |= {"range": span, "constrain": "domain"}
    layout["yaxis"] |= {"range": span, "scaleanchor": "x", "constrain": "domain"}
    return figure_of(traces, layout)


def balance_figure(content: Array, position: Array) -> go.Figure:
    """Root mean square of the content and of the position added to it, along the positions, (length,) each."""
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "x": np.arange(len(row)), "y": row, "mode": "lines", "name": name,
         "line": {"color": colour, "width": 2, "dash": dash}, "hovertemplate": "%{y:.3f}"}
        for name, row, colour, dash in (
            (_("content"), content, VIOLET, "solid"), (_("scale × position"), position, ORANGE, "dash")
        )
    ]  # fmt: skip
    layout = base_layout(x_title=_("Position"), y_title=_("Root mean square"), height=300, hover="x unified", keep="balance")
    layout["yaxis"] |= {"rangemode": "tozero"}
    return figure_of(traces, layout)


def _mark(at: int) -> dict[str, Any]:
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": ORANGE, "width": 1.5}}
