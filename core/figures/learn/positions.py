"""Figures of the lesson on positions: numbers along them, and a pair's rotation."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, GREEN, GREY, ORANGE, SERIES
from core.figures.traces import chart, line, marks, series_chart, upright
from core.messages import translate as _

Array = NDArray[np.float64]


def along_figure(rows: Sequence[tuple[str, Array]], y_title: str, *, at: int | None = None) -> go.Figure:
    """Numbers along the positions, from 0, a line each by its name; the position `at` is marked."""
    dashes = ("solid", "dash", "dot")
    traces = [
        line(np.arange(len(row)), row, name, SERIES[index], width=2.5 - 0.5 * index, dash=dashes[index], hover="%{y:.3f}")
        for index, (name, row) in enumerate(rows)
    ]
    marked = [] if at is None else [upright(at, ORANGE)]
    return series_chart(traces, _("Position"), y_title, height=300, keep=y_title, y={"rangemode": "tozero"}, shapes=marked)


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
        line(radius * np.cos(round_), radius * np.sin(round_), hover="", line=ring, showlegend=False),
        marks(pair[:, 0], pair[:, 1], _("all positions"), GREY, size=5, hover="%{text}: " + hover + "<extra></extra>",
              text=[str(i) for i in range(len(pair))]),
        line([0, here[0]], [0, here[1]], _("position {number}").format(number=at), BLUE, width=3, hover=hover,
             mode="lines+markers", marker={"size": [1, 11]}),
        line([0, turned[0]], [0, turned[1]], _("turned by the matrix"), ORANGE, width=3, hover=hover, mode="lines+markers",
             marker={"size": [1, 11]}),
        marks([there[0]], [there[1]], _("position {number}").format(number=at + shift), hover=hover,
              marker={"size": 18, "color": "rgba(0,0,0,0)", "line": {"color": GREEN, "width": 3}}),
    ]  # fmt: skip
    span = {"range": [-1.15 * radius, 1.15 * radius], "constrain": "domain"}
    return chart(
        traces,
        x_title=_("Sine channel"),
        y_title=_("Cosine channel"),
        height=400,
        keep="turn",
        x=span,
        y=span | {"scaleanchor": "x"},
    )
