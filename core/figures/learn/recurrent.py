"""Figures of the lesson on recurrent cells: states, gates and gradients through time, and the cells' diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write, few
from core.figures.style import BLUE, BROWN, DIVERGING, GREEN, GREY, ORANGE, SEQUENTIAL, VIOLET, base_layout, figure_of
from core.figures.traces import chart, heat, line, upright
from core.lecture.recurrence import Array, LSTMTrace, RNNTrace, ThroughTime
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


def rnn_diagram(x: Array, run: RNNTrace, terms: tuple[float, float, float], *, step: int, unit: int, write: Write) -> Diagram:
    """One step of an RNN, one unit's numbers on the wires.

    Args:
        terms: of `core.lecture.recurrence.rnn_terms`. step, unit: from 0 on.
    """
    before = float(run.h[step - 1, unit]) if step else 0.0
    t, k = step + 1, unit + 1
    return Diagram(
        title=_("Block diagram of an RNN cell"),
        blocks=(
            Block("x", f"x_{{{t}}}", (0, 0), few(x[step], write), kind="data"),
            Block("before", f"h_{{{t - 1},{k}}}", (0, 1), write(before), "gradient", kind="data"),
            Block("in", "W_{hx} x", (1, 0), write(terms[0]), "rnn"),
            Block("back", "W_{hh} h", (1, 1), write(terms[1]), "rnn"),
            Block("sum", "+", (2, 0.5), part="rnn", kind="sum"),
            Block("tanh", "tanh", (3, 0.5), write(float(run.h[step, unit])), "rnn"),
            Block("h", f"h_{{{t},{k}}}", (4, 0.5), write(float(run.h[step, unit])), "rnn", kind="data"),
            Block("y", f"y_{{{t}}}", (5, 0.5), write(float(run.y[step, 0])), "rnn", kind="data"),
        ),
        wires=(
            Wire("x", "in"),
            Wire("before", "back", write(before)),
            Wire("in", "sum", write(terms[0])),
            Wire("back", "sum", write(terms[1])),
            Wire("sum", "tanh", write(float(run.z[step, unit]))),
            Wire("tanh", "h", write(float(run.h[step, unit]))),
            Wire("h", "y", "W_{hy} h + b_y"),
            Wire("h", "before", _("to the next step"), "under"),
        ),
    )


def lstm_diagram(x: Array, run: LSTMTrace, *, step: int, unit: int, write: Write) -> Diagram:
    """One step of an LSTM, one unit's numbers on the wires; step and unit from 0 on."""
    f, i, o, candidate, c, h = (write(float(one[step, unit])) for one in (run.f, run.i, run.o, run.candidate, run.c, run.h))
    before = write(float(run.c[step - 1, unit]) if step else 0.0)
    kept, added = (write(value) for value in cell_terms(run, step, unit))
    t = step + 1
    return Diagram(
        title=_("Block diagram of an LSTM cell"),
        blocks=(
            Block("cell", f"c_{{{t - 1}}}", (0, 0), before, "gradient", kind="data"),
            Block("in", f"x_{{{t}}}, h_{{{t - 1}}}", (0, 2), few(x[step], write, 1), kind="data"),
            Block("f", "f_t: sigmoid", (1, 1), f, "lstm"),
            Block("i", "i_t: sigmoid", (1, 2), i, "lstm"),
            Block("candidate", "c̃ = tanh", (1, 3), candidate, "lstm"),
            Block("keep", "⊙", (2, 0), part="lstm", kind="sum"),
            Block("add", "⊙", (2, 2.5), part="lstm", kind="sum"),
            Block("sum", "+", (3, 0), part="lstm", kind="sum"),
            Block("o", "o_t: sigmoid", (3, 3), o, "lstm"),
            Block("c", f"c_{{{t}}}", (4, 0), c, "lstm", kind="data"),
            Block("tanh", "tanh", (4, 1.5), part="lstm"),
            Block("out", "⊙", (5, 1.5), part="lstm", kind="sum"),
            Block("h", f"h_{{{t}}}", (6, 1.5), h, "lstm", kind="data"),
        ),
        wires=(
            Wire("cell", "keep", before),
            Wire("in", "f"),
            Wire("in", "i"),
            Wire("in", "candidate"),
            Wire("in", "o", way="under"),
            Wire("f", "keep", f),
            Wire("i", "add", i),
            Wire("candidate", "add", candidate),
            Wire("keep", "sum", kept),
            Wire("add", "sum", added),
            Wire("sum", "c", c),
            Wire("c", "tanh"),
            Wire("tanh", "out"),
            Wire("o", "out", o),
            Wire("out", "h", h),
        ),
    )


def cell_terms(run: LSTMTrace, step: int, unit: int) -> tuple[float, float]:
    """Returns the two terms of c_t: what is kept, f c_{t-1}, and what is added, i times the candidate."""
    before = float(run.c[step - 1, unit]) if step else 0.0
    return float(run.f[step, unit]) * before, float(run.i[step, unit]) * float(run.candidate[step, unit])


def gradient_diagram(back: ThroughTime, write: Write) -> Diagram:
    """The cells unrolled: gradients go back step by step, attention's goes straight to the first input."""
    last = len(back.rnn)
    steps = (1, 2, last - 1, last)
    cells = tuple(
        Block(f"h{t}", f"h_{{{t}}}", (place + (place > 1), 0), part="rnn" if place < 2 else "lstm")
        for place, t in enumerate(steps)
    )
    norms = {t: f"‖∇‖ {write(float(back.rnn[t - 1]))}" for t in steps}
    inputs = tuple(
        Block(f"x{t}", f"x_{{{t}}}", (place + (place > 1), 1), norms[t], "gradient", kind="data") for place, t in enumerate(steps)
    )
    middle = (Block("dots", "…", (2, 0), kind="sum"),)
    chain = [f"h{steps[0]}", f"h{steps[1]}", "dots", f"h{steps[2]}", f"h{steps[3]}"]
    wires = [Wire(f"x{t}", f"h{t}") for t in steps]
    for source, target in pairwise(chain):
        wires += [Wire(source, target), Wire(target, source, "W_{hh}ᵀ", "back")]
    straight = Wire(f"x{last}", "x1", _("attention: {value}").format(value=write(float(back.attention[0]))), "under")
    return Diagram(
        title=_("Block diagram of gradients back through time"), blocks=(*cells, *middle, *inputs), wires=(*wires, straight)
    )
