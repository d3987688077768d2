"""Figures of the lesson on positions: waves, likeness, a pair's rotation, content against position, and their diagram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write
from core.figures.style import BLUE, GREEN, GREY, ORANGE, SERIES, VIOLET
from core.figures.traces import chart, line, marks, upright
from core.lecture.positions import EncodingEntry
from core.messages import translate as _

Array = NDArray[np.float64]


def waves_figure(matrix: Array, channels: Sequence[int]) -> go.Figure:
    """Some channels (from 0) of an encoding (length, width) along the positions, one line each."""
    traces: list[dict[str, Any]] = [
        line(np.arange(len(matrix)), matrix[:, channel], _("channel {number}").format(number=channel),
             SERIES[index % len(SERIES)], width=2, hover="%{y:.3f}", mode="lines+markers", marker={"size": 4})
        for index, channel in enumerate(channels)
    ]  # fmt: skip
    return chart(traces, x_title=_("Position"), y_title=_("Value"), height=320, hover="x unified", keep="waves")


def from_one_figure(rows: Sequence[tuple[str, Array]], *, at: int, y_title: str) -> go.Figure:
    """Lines by name along the positions; the position `at` is marked."""
    dashes = ("solid", "dash", "dot")
    traces: list[dict[str, Any]] = [
        line(np.arange(len(row)), row, name, SERIES[index], width=2.5 - 0.5 * index, dash=dashes[index % 3], hover="%{y:.3f}")
        for index, (name, row) in enumerate(rows)
    ]
    return chart(
        traces, x_title=_("Position"), y_title=y_title, height=300, hover="x unified", keep=y_title, shapes=[upright(at, ORANGE)]
    )


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


def balance_figure(content: Array, position: Array) -> go.Figure:
    """Root mean square of the content and of the position added to it, along the positions, (length,) each."""
    traces: list[dict[str, Any]] = [
        line(np.arange(len(row)), row, name, colour, width=2, dash=dash, hover="%{y:.3f}")
        for name, row, colour, dash in (
            (_("content"), content, VIOLET, "solid"),
            (_("scale × position"), position, ORANGE, "dash"),
        )
    ]
    return chart(
        traces,
        x_title=_("Position"),
        y_title=_("Root mean square"),
        height=300,
        hover="x unified",
        keep="balance",
        y={"rangemode": "tozero"},
    )


def positions_diagram(
    entry: EncodingEntry | None, *, shape: str, write: Write, learned: bool, read: Mapping[str, Any]
) -> Diagram:
    """From a position to X + s PE, with the numbers that a part has.

    Args:
        entry: the chosen pair's numbers. shape: of the encoding, written.
        read: what a part reads: `pos`, `pair`, `scale`, `shift` (k of the rotation), and `other`, the position that this
            one is compared with, and the dot product of both.
    """
    at = f"{read['pos']}" if "pos" in read else ""
    encoding, start = _learned(shape, at) if learned else _sinusoidal(entry, at, read, write)
    other = read.get("other")
    compared = "PE_{pos} · PE_{pos'}" if other is None else f"PE_{{{at}}} · PE_{{{other[0]}}}"
    return Diagram(
        title=_("Block diagram of positions added to embeddings"),
        blocks=(
            Block("pos", "pos", (0, 1), at, "matrix", kind="data"),
            *encoding,
            Block("pe", "PE", (3, 1), shape, "matrix", kind="data"),
            Block("scale", "s · PE", (4, 1), f"s = {write(read['scale'])}" if "scale" in read else "", "scale"),
            Block("x", "X", (4, 0), _("content"), "scale", kind="data"),
            Block("sum", "+", (5, 0.5), part="scale", kind="sum"),
            Block("out", "X + s PE", (6, 0.5), _("to attention"), "scale", kind="data"),
            Block("dot", compared, (4, 2), "" if other is None else write(other[1]), "similarity"),
            Block("turn", "M_k PE_{pos}", (5, 2), f"k = {read['shift']}" if "shift" in read else "", "rotation"),
        ),
        wires=(
            *start,
            Wire("pe", "scale"),
            Wire("scale", "sum"),
            Wire("x", "sum"),
            Wire("sum", "out"),
            Wire("pe", "dot"),
            Wire("dot", "turn"),
        ),
    )


def _learned(shape: str, at: str) -> tuple[list[Block], list[Wire]]:
    """From the position to a row of a learned encoding."""
    return [Block("waves", _("learned"), (2, 1), shape, "waves")], [Wire("pos", "waves", at), Wire("waves", "pe", shape)]


def _sinusoidal(entry: EncodingEntry | None, at: str, read: Mapping[str, Any], write: Write) -> tuple[list[Block], list[Wire]]:
    """From the position by a pace to sine and cosine."""
    frequency, angle, both = (
        ("", "", "")
        if entry is None
        else (write(entry.frequency), f"pos·ω_i = {write(entry.angle)}", f"{write(entry.sine)}\u00a0\u00a0{write(entry.cosine)}")
    )
    blocks = [
        Block("omega", "ω_i", (1, 1), frequency, "matrix"),
        Block("waves", "sin, cos", (2, 1), f"i = {read['pair']}" if "pair" in read else "", "waves"),
    ]
    wires = [Wire("pos", "omega", at), Wire("omega", "waves", angle if at else ""), Wire("waves", "pe", both if at else "")]
    return blocks, wires
