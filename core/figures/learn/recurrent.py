"""Figures of the recurrent-cells page: states through time, one unit's gates, gradients back through time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.play import Play, PlayFrame
from core.figures.style import BLUE, BROWN, DIVERGING, GREEN, GREY, ORANGE, SEQUENTIAL, VIOLET, base_layout, figure_of
from core.messages import translate as _

Array = NDArray[np.float64]
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
            {"type": "heatmap", "z": band.values.T, "y": list(range(1, units + 1)), "xaxis": "x", "yaxis": f"y{suffix}",
             "zmin": 0.0 if band.gate else -end, "zmax": end, "colorscale": SEQUENTIAL if band.gate else DIVERGING,
             "customdata": [list(steps)] * units, "name": band.name,
             "colorbar": {"len": height, "y": (domain[0] + domain[1]) / 2, "thickness": 8, "ticks": "", "nticks": 3,
                          "outlinewidth": 0},
             "hovertemplate": _("step %{x} (%{customdata}), unit %{y}: %{z:.3~g}") + "<extra></extra>"}
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
    every = max(1, -(-count // 30))
    layout["xaxis"] = {
        "title": {"text": x_title}, "anchor": f"y{len(bands) if len(bands) > 1 else ''}", "showgrid": False, "tickmode": "array",
        "tickvals": list(range(0, count, every)), "ticktext": list(steps[::every]), "tickangle": 0,
    }  # fmt: skip
    layout["shapes"].append(_mark(at))
    return figure_of(traces, layout)


def states_play(figure: go.Figure, captions: Sequence[str], *, at: int) -> Play:
    """The heatmaps of `states_figure`, unrolled step by step; a caption a step."""
    mark = len(figure.layout.shapes) - 1
    frames = [
        PlayFrame(
            shown=(step + 1,) * len(figure.data), caption=caption, layout={f"shapes.{mark}.x0": step, f"shapes.{mark}.x1": step}
        )
        for step, caption in enumerate(captions)
    ]
    return Play(how=dict.fromkeys(range(len(figure.data)), "columns"), frames=frames, start=at, every_ms=400)


def unit_figure(lines: Sequence[Band], *, unit: int, at: int, x_title: str, before: Array | None = None) -> go.Figure:
    """One unit through time: its gates above on a scale from 0 to 1, its states below.

    Args:
        before: (time,) its state before a change of a dial, drawn faded.
    """
    colours, dashes = (ORANGE, GREEN, VIOLET, BROWN, BLUE, GREY), ("dot", "dash", "solid")
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "x": np.arange(1, len(band.values) + 1), "y": band.values[:, unit], "mode": "lines",
         "name": band.name,
         "line": {"color": colours[number % len(colours)], "width": 2, "dash": "solid" if band.gate else dashes[number % 3]},
         "yaxis": "y" if band.gate else "y2", "hovertemplate": "%{y:.3f}"}
        for number, band in enumerate(lines)
    ]  # fmt: skip
    if before is not None:
        traces.append(_faded(before) | {"yaxis": "y2"})
    layout = base_layout(height=380, hover="x unified", keep="unit")
    layout["xaxis"] = {"title": {"text": x_title}, "anchor": "y2"}
    layout["yaxis"] = {"title": {"text": _("Gate")}, "domain": [0.55, 1], "range": [0, 1]}
    layout["yaxis2"] = {"title": {"text": _("State")}, "domain": [0, 0.47]}
    layout["shapes"] = [_mark(at + 1)]
    return figure_of(traces, layout)


def line_figure(values: Array, *, at: int, x_title: str, y_title: str, before: Array | None = None) -> go.Figure:
    """One number per step; `before`, those before a change of a dial, faded."""
    trace = {
        "type": "scatter", "x": np.arange(1, len(values) + 1), "y": values, "mode": "lines+markers", "marker": {"size": 4},
        "line": {"color": BLUE, "width": 2}, "hovertemplate": "%{x}: %{y:.3f}<extra></extra>",
    }  # fmt: skip
    layout = base_layout(x_title=x_title, y_title=y_title, height=220, keep=y_title, legend=False)
    layout["shapes"] = [_mark(at + 1)]
    layout["margin"] = SIDES
    layout["yaxis"]["automargin"] = False
    return figure_of([*([_faded(before)] if before is not None else []), trace], layout)


def _faded(values: Array) -> dict[str, Any]:
    """A line as it was before a change."""
    return {
        "type": "scatter", "x": np.arange(1, len(values) + 1), "y": values, "mode": "lines", "name": _("before"),
        "line": {"color": GREY, "width": 5}, "opacity": 0.4, "hovertemplate": "%{y:.3f}",
    }  # fmt: skip


def gradients_figure(*, rnn: Array, lstm: Array, attention: Array, forget: Array, x_title: str) -> go.Figure:
    """Norms by the step of the input, on a logarithmic axis; zeros (underflow) are left out."""
    rows = (
        (_("RNN"), rnn, ORANGE, "solid"),
        (_("LSTM"), lstm, BLUE, "solid"),
        (_("attention"), attention, GREEN, "solid"),
        (_("product of the forget gates"), forget, GREY, "dash"),
    )
    traces = [
        {"type": "scatter", "x": np.arange(1, len(values) + 1), "y": np.where(values > 0, values, np.nan),
         "mode": "lines+markers", "name": name, "line": {"color": colour, "width": 2, "dash": dash},
         "marker": {"size": 4 if dash == "solid" else 1}, "hovertemplate": "%{y:.2e}"}
        for name, values, colour, dash in rows
    ]  # fmt: skip
    layout = base_layout(x_title=x_title, y_title=_("Norm of the gradient"), height=420, hover="x unified", keep="gradients")
    layout["yaxis"] |= {"type": "log", "exponentformat": "power", "nticks": 8}
    return figure_of(traces, layout)


def _mark(at: int) -> dict[str, Any]:
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": ORANGE, "width": 1.5}}
