"""Figures of the page on optimisers, schedules, clipping and initialisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.play import Play, PlayFrame
from core.figures.style import BLUE, BROWN, GREEN, GREY, ORANGE, SEQUENTIAL, SERIES, VIOLET, base_layout, figure_of
from core.messages import translate as _

Array = NDArray[np.floating]

OPTIMISER_COLOURS = {"sgd": GREY, "momentum": BROWN, "adam": BLUE, "adam_plain": VIOLET, "adamw": ORANGE}
SYMBOLS = {"sgd": "circle", "momentum": "square", "adam": "diamond", "adam_plain": "x", "adamw": "triangle-up"}


def surface_figure(
    x: Array,
    y: Array,
    heights: Array,
    walks: Mapping[str, Array],
    *,
    names: Mapping[str, str],
    minima: Sequence[tuple[float, float]],
    step: int,
) -> go.Figure:
    """Contours of a loss of two weights, each optimiser's path up to a step, and the minima.

    Args:
        heights: (y, x) losses; contours lie at equal steps of their logarithm. walks: (n, 2) points by optimiser.
    """
    traces: list[dict[str, Any]] = [
        {"type": "contour", "x": x, "y": y, "z": np.log10(heights - heights.min() + 0.05).astype(np.float32),
         "colorscale": SEQUENTIAL, "showscale": True, "ncontours": 18, "contours": {"coloring": "lines"},
         "colorbar": {"thickness": 8, "outlinewidth": 0, "ticks": "", "title": {"text": _("log loss"), "side": "right"}},
         "line": {"width": 1}, "hoverinfo": "skip", "opacity": 0.7, "name": _("loss")}
    ]  # fmt: skip
    for code, points in walks.items():
        seen = points[: step + 1]
        sizes = np.full(len(seen), 4.0)
        sizes[-1] = 12
        traces.append(
            {"type": "scatter", "mode": "lines+markers", "x": seen[:, 0], "y": seen[:, 1], "name": names[code],
             "line": {"color": OPTIMISER_COLOURS[code], "width": 2},
             "marker": {"size": sizes, "symbol": SYMBOLS[code], "color": OPTIMISER_COLOURS[code]},
             "hovertemplate": "%{x:.3f}, %{y:.3f}<extra>" + names[code] + "</extra>"}
        )  # fmt: skip
    traces.append(
        {"type": "scatter", "mode": "markers", "x": [one[0] for one in minima], "y": [one[1] for one in minima],
         "name": _("minimum"), "marker": {"symbol": "star", "size": 14, "color": GREEN}, "hovertemplate": "%{x:.3f}, %{y:.3f}"}
    )  # fmt: skip
    layout = base_layout(x_title="θ₁", y_title="θ₂", keep="surface", height=460)
    layout["xaxis"] |= {"range": [float(x[0]), float(x[-1])], "showgrid": False}
    layout["yaxis"] |= {"range": [float(y[0]), float(y[-1])], "showgrid": False}
    return figure_of(traces, layout)


def surface_play(walks: Mapping[str, Array], captions: Sequence[str], *, start: int) -> Play:
    """The paths of `surface_figure` (drawn to the last step), step by step; a caption a step, the start first."""
    frames = [
        PlayFrame(shown=tuple(min(step + 1, len(points)) for points in walks.values()), caption=caption)
        for step, caption in enumerate(captions)
    ]
    return Play(how=dict.fromkeys(range(1, 1 + len(walks)), "points"), frames=frames, start=start, every_ms=60)


def losses_figure(
    losses: Mapping[str, Array],
    *,
    names: Mapping[str, str],
    step: int | None = None,
    log: bool = True,
    title: str,
    keep: str = "losses",
) -> go.Figure:
    """Loss by step, one line with its own dash per optimiser.

    Args:
        step: marked by a vertical line. title: of the value axis.
    """
    dashes = ("solid", "dot", "dash", "longdash", "dashdot")
    traces = [
        {"type": "scatter", "mode": "lines", "x": np.arange(len(values)), "y": np.maximum(values, 1e-12) if log else values,
         "name": names[code], "line": {"color": OPTIMISER_COLOURS[code], "width": 2, "dash": dash}, "hovertemplate": "%{y:.4~g}"}
        for (code, values), dash in zip(losses.items(), dashes, strict=False)
    ]  # fmt: skip
    layout = base_layout(x_title=_("Step"), y_title=title, keep=keep, hover="x unified", height=320)
    layout["yaxis"] |= {"type": "log", "exponentformat": "power"} if log else {}
    if log:  # a diverging loss must not flatten the other lines
        start = max(float(values[0]) for values in losses.values())
        low = max(1e-9, min(float(np.maximum(values, 1e-12).min()) for values in losses.values()))
        layout["yaxis"] |= {"range": [float(np.log10(low)) - 0.3, float(np.log10(max(start, low))) + 1.0]}
    if step is not None:
        layout["shapes"] = [
            {"type": "line", "x0": step, "x1": step, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": GREEN, "width": 2}}
        ]
    return figure_of(traces, layout)


def schedules_figure(rates: Mapping[str, Array], *, names: Mapping[str, str], step: int, peak: float) -> go.Figure:
    """Learning rate by step, one line per schedule, with one step marked."""
    dashes = ("solid", "dash", "longdash", "dot")
    traces = [
        {"type": "scatter", "mode": "lines", "x": np.arange(len(values)), "y": values, "name": names[code],
         "line": {"color": SERIES[index], "width": 2.5, "dash": dashes[index],
                  "shape": "hv" if code == "exponential" else "linear"},
         "hovertemplate": "%{y:.4~g}"}
        for index, (code, values) in enumerate(rates.items())
    ]  # fmt: skip
    layout = base_layout(x_title=_("Step"), y_title=_("Learning rate"), keep="schedules", hover="x unified", height=380)
    layout["yaxis"] |= {"range": [0, 1.08 * peak], "exponentformat": "power"}
    layout["shapes"] = [
        {"type": "line", "x0": step, "x1": step, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": GREEN, "width": 2}}
    ]
    return figure_of(traces, layout)


def clip_figure(before: tuple[float, float], after: tuple[float, float], largest: float) -> go.Figure:
    """A gradient as an arrow, the circle of the largest norm, and the clipped gradient."""
    angle = np.linspace(0, 2 * np.pi, 121)
    reach = 1.15 * max(largest, float(np.hypot(*before)), 1e-9)
    traces = [
        {"type": "scatter", "mode": "lines", "x": largest * np.cos(angle), "y": largest * np.sin(angle),
         "name": _("largest norm"), "line": {"color": GREY, "dash": "dot"}, "hoverinfo": "skip"},
        *(
            {"type": "scatter", "mode": "lines+markers", "x": [0, one[0]], "y": [0, one[1]], "name": name,
             "line": {"color": colour, "width": width}, "marker": {"size": [0, 10], "symbol": symbol},
             "hovertemplate": "%{x:.3f}, %{y:.3f}<extra></extra>"}
            for one, name, colour, width, symbol in (
                (before, _("gradient"), ORANGE, 2, "circle"), (after, _("clipped"), BLUE, 5, "diamond")
            )
        ),
    ]  # fmt: skip
    layout = base_layout(x_title="g₁", y_title="g₂", keep="clip", height=400)
    layout["xaxis"] |= {"range": [-reach, reach], "zeroline": True}
    layout["yaxis"] |= {"range": [-reach, reach], "zeroline": True, "scaleanchor": "x", "constrain": "domain"}
    return figure_of(traces, layout)


def signal_figure(signals: Mapping[str, Array], *, names: Mapping[str, str], chosen: str) -> go.Figure:
    """Root mean square of the activations by layer, on a logarithmic axis, one line per scheme; the chosen one is thick."""
    dashes = ("solid", "dash", "dot", "longdash", "dashdot", "longdashdot")
    traces = [
        {"type": "scatter", "mode": "lines+markers", "x": np.arange(len(values)), "y": np.maximum(values, 1e-12),
         "name": names[code], "line": {"color": SERIES[index], "width": 4 if code == chosen else 1.5, "dash": dashes[index]},
         "marker": {"size": 7 if code == chosen else 4}, "hovertemplate": "%{y:.3~g}"}
        for index, (code, values) in enumerate(signals.items())
    ]  # fmt: skip
    layout = base_layout(x_title=_("Layer"), y_title=_("Root mean square"), keep="signal", hover="x unified", height=400)
    layout["yaxis"] |= {"type": "log", "exponentformat": "power"}
    return figure_of(traces, layout)


def weights_figure(inputs: Sequence[str], weights: Array) -> go.Figure:
    """The weights of a trained logistic regression, one bar per input."""
    trace = {"type": "bar", "x": list(inputs), "y": weights, "marker": {"color": [BLUE if w > 0 else ORANGE for w in weights]},
             "hovertemplate": "%{x}: %{y:.3f}<extra></extra>"}  # fmt: skip
    layout = base_layout(y_title=_("Weight (log-odds a standard deviation)"), keep="weights", legend=False, height=320)
    layout["yaxis"] |= {"zeroline": True}
    return figure_of([trace], layout)


def norms_figure(before: Array, after: Array, largest: float) -> go.Figure:
    """Gradient norm by step, before and after clipping, on a logarithmic axis."""
    traces = [
        {"type": "scatter", "mode": "lines", "x": np.arange(1, len(values) + 1), "y": values, "name": name,
         "line": {"color": colour, "width": 2, "dash": dash}, "hovertemplate": "%{y:.4~g}"}
        for values, name, colour, dash in (
            (before, _("gradient norm"), ORANGE, "solid"), (after, _("clipped"), BLUE, "dash")
        )
    ]  # fmt: skip
    layout = base_layout(x_title=_("Step"), y_title=_("Norm"), keep="norms", hover="x unified", height=280)
    layout["yaxis"] |= {"type": "log", "exponentformat": "power"}
    layout["shapes"] = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": largest, "y1": largest, "line": {"color": GREY, "dash": "dot"}}
    ]
    return figure_of(traces, layout)
