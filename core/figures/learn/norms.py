"""Figures of the page on normalisation, activations and dropout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.matrix import Matrix
from core.figures.style import BLUE, GREEN, GREY, ORANGE, VIOLET, base_layout, figure_of
from core.messages import translate as _


def sample_matrices(
    before: NDArray[np.floating],
    after: NDArray[np.floating],
    sample: int,
    *,
    group: Mapping[int, tuple[int, int, int, int]],
    name: str,
    moved: tuple[tuple[int, int, int, int], ...] = (),
) -> list[Matrix]:
    """One sample of a batch (samples, steps, channels) before and after a norm: channels down, time across.

    Args:
        sample: which, from 0 on; the colours' ends are the whole batch's.
        group: sample -> cells that share the chosen cell's mean and variance (rows are channels).
        name: of the norm. moved: cells after the norm that a change of a dial moved.
    """
    outlined = (group[sample],) if sample in group else ()
    return [
        Matrix(
            values=x[sample].T, name=title.format(n=sample + 1, norm=name), x_title=_("Time"), y_title=_("Channel"),
            top=float(np.abs(x).max()) or 1.0, outlined=outlined, moved=moved if x is after else (),
            numbers=False,
        )
        for x, title in ((before, _("sample {n}, before")), (after, _("sample {n}, {norm}")))
    ]  # fmt: skip


def spread_figure(groups: Sequence[tuple[str, float, float]]) -> go.Figure:
    """For each kind of group: largest |mean| and largest |standard deviation - 1|.

    Args:
        groups: name of a kind of group, and the two numbers.
    """
    names = [name for name, _mean, _off in groups]
    traces = [
        {"type": "bar", "x": names, "y": [row[1] for row in groups], "name": _("largest |mean|"), "marker": {"color": BLUE},
         "hovertemplate": "%{y:.3~g}"},
        {"type": "bar", "x": names, "y": [row[2] for row in groups], "name": _("largest |standard deviation - 1|"),
         "marker": {"color": ORANGE}, "hovertemplate": "%{y:.3~g}"},
    ]  # fmt: skip
    layout = base_layout(y_title=_("Distance from 0 and 1"), keep="spread", hover="x unified", height=280) | {"barmode": "group"}
    layout["yaxis"] |= {"rangemode": "tozero"}
    return figure_of(traces, layout)


def activation_figure(
    x: NDArray[np.floating],
    curves: Mapping[str, tuple[NDArray[np.floating], NDArray[np.floating]]],
    *,
    chosen: str,
    at: float,
    value: float,
    slope: float,
) -> go.Figure:
    """All activations with the chosen one highlighted, their derivatives below, and the tangent at one point.

    Args:
        curves: name -> values and derivatives over x.
    """
    traces: list[dict[str, Any]] = []
    for row, axis in ((0, "y"), (1, "y2")):
        for name, pair in curves.items():
            is_chosen = name == chosen
            traces.append(
                {"type": "scatter", "mode": "lines", "x": x, "y": pair[row], "name": name, "yaxis": axis,
                 "line": {"color": (BLUE if row == 0 else ORANGE) if is_chosen else GREY, "width": 3 if is_chosen else 1},
                 "opacity": 1 if is_chosen else 0.45, "hovertemplate": "%{x:.2f}: %{y:.4~g}<extra>" + name + "</extra>"}
            )  # fmt: skip
    reach = 1.2
    traces += [
        {"type": "scatter", "mode": "lines", "x": [at - reach, at + reach],
         "y": [value - reach * slope, value + reach * slope], "line": {"color": ORANGE, "width": 2, "dash": "dash"},
         "hoverinfo": "skip", "name": _("tangent")},
        {"type": "scatter", "mode": "markers", "x": [at], "y": [value], "marker": {"color": BLUE, "size": 11},
         "hoverinfo": "skip", "name": chosen},
        {"type": "scatter", "mode": "markers", "x": [at], "y": [slope], "marker": {"color": ORANGE, "size": 11}, "yaxis": "y2",
         "hoverinfo": "skip", "name": chosen},
    ]  # fmt: skip
    layout = base_layout(keep="activation", legend=False, height=480)
    layout["xaxis"] = {"title": {"text": "x"}, "anchor": "y2", "range": [float(x[0]), float(x[-1])]}
    layout["yaxis"] = {"title": {"text": _("Value")}, "range": [-1.6, 6.8], "domain": [0.42, 1]}
    layout["yaxis2"] = {"title": {"text": _("Derivative")}, "range": [-0.25, 1.25], "domain": [0, 0.34]}
    return figure_of(traces, layout)


def gelu_gap_figure(x: NDArray[np.floating], value: NDArray[np.floating], slope: NDArray[np.floating]) -> go.Figure:
    """Exact GELU less its tanh form, and the same for their derivatives."""
    traces = [
        {"type": "scatter", "mode": "lines", "x": x, "y": data, "name": name, "line": {"color": colour, "width": 2},
         "hovertemplate": "%{x:.2f}: %{y:.3~g}<extra></extra>"}
        for data, name, colour in (
            (value, _("GELU exact - tanh"), BLUE), (slope, _("derivative exact - derivative of tanh form"), ORANGE)
        )
    ]  # fmt: skip
    layout = base_layout(x_title="x", y_title=_("Difference"), keep="gelu", height=280)
    layout["yaxis"] |= {"zeroline": True, "exponentformat": "power"}
    return figure_of(traces, layout)


def dropout_matrices(before: NDArray[np.floating], after: NDArray[np.floating]) -> tuple[Matrix, Matrix]:
    """A matrix before, and after dropout, on one scale."""
    top = float(np.abs(after).max()) or 1.0
    left, right = (
        Matrix(values=z, name=title, top=top, x_title=_("Channel"), y_title=_("Token"), numbers=True, digits=1)
        for z, title in ((before, _("before")), (after, _("after")))
    )  # fmt: skip
    return left, right


def sums_figure(means: NDArray[np.floating], *, expected: float) -> go.Figure:
    """Histogram of the mean of many ones after dropout, against the theory's standard deviation around 1.

    Args:
        expected: standard deviation, sqrt(rate / (1 - rate) / values).
    """
    counts, edges = np.histogram(means, 31, (0.0, 2.0))
    middle = (edges[1:] + edges[:-1]) / 2
    traces: list[dict[str, Any]] = [
        {"type": "bar", "x": middle, "y": counts, "name": _("draws"), "marker": {"color": BLUE},
         "hovertemplate": "%{x:.2f}: %{y}<extra></extra>"}
    ]  # fmt: skip
    if expected > 0:
        density = np.exp(-0.5 * ((middle - 1) / expected) ** 2) / expected / np.sqrt(2 * np.pi)
        curve = len(means) * (edges[1] - edges[0]) * density
        traces.append(
            {"type": "scatter", "mode": "lines", "x": middle, "y": curve, "name": _("normal curve by theory"),
             "line": {"color": ORANGE, "width": 2}, "hoverinfo": "skip"}
        )  # fmt: skip
    layout = base_layout(x_title=_("Mean of 64 ones after dropout"), y_title=_("Draws"), keep="sums", height=300)
    layout |= {"bargap": 0.05}
    return figure_of(traces, layout)


def depth_figure(
    post: NDArray[np.floating], pre: NDArray[np.floating], *, title: str, first: int = 1, log: bool = True,
) -> go.Figure:  # fmt: skip
    """One number per layer, post-norm against pre-norm.

    Args:
        title: of the value axis. first: number of the first entry (0 where it is what goes in).
    """
    layers = list(range(first, first + len(post)))
    traces = [
        {"type": "scatter", "mode": "lines+markers", "x": layers, "y": values, "name": name,
         "line": {"color": colour, "width": 2}, "marker": {"symbol": symbol, "size": 9}, "hovertemplate": "%{y:.3~g}"}
        for values, name, colour, symbol in (
            (post, _("post-norm: LayerNorm(x + Sublayer(x))"), BLUE, "circle"),
            (pre, _("pre-norm: x + Sublayer(LayerNorm(x))"), ORANGE, "diamond"),
        )
    ]  # fmt: skip
    layout = base_layout(x_title=_("Layer"), y_title=title, keep=f"depth-{title}", hover="x unified", height=330)
    layout["yaxis"] |= {"type": "log", "exponentformat": "power"} if log else {"rangemode": "tozero"}
    layout["xaxis"] |= {"dtick": 1 if len(layers) <= 14 else 2}
    return figure_of(traces, layout)


def softmax_figure(x: NDArray[np.floating], safe: NDArray[np.floating], plain: NDArray[np.floating]) -> go.Figure:
    """Softmax with and without subtracting the maximum, in float32; a missing bar is not a number."""
    names = [f"{value:.4g}" for value in x]
    places = list(range(len(names)))
    traces = [
        {"type": "bar", "x": places, "y": values, "name": name, "marker": {"color": colour}, "hovertemplate": "%{y:.4~g}"}
        for values, name, colour in ((safe, _("with the maximum"), GREEN), (plain, _("without"), VIOLET))
    ]
    layout = base_layout(x_title=_("Score"), y_title=_("Probability"), keep="softmax", hover="x unified", height=300)
    layout |= {"barmode": "group"}
    layout["xaxis"] |= {"tickmode": "array", "tickvals": places, "ticktext": names}
    layout["yaxis"] |= {"range": [0, 1.05]}
    return figure_of(traces, layout)
