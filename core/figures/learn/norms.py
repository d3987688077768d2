"""Figures of the lesson on norms, activations, dropout and weights at the start."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.matrix import Matrix
from core.figures.style import BLUE, GREY, ORANGE, SERIES
from core.figures.traces import chart, line, marks, series_chart
from core.lecture.moved import Moved
from core.messages import translate as _


def sample_matrices(
    before: NDArray[np.floating],
    after: NDArray[np.floating],
    sample: int,
    *,
    group: Mapping[int, tuple[int, int, int, int]],
    name: str,
    moved: Moved | None,
) -> list[Matrix]:
    """One sample of a batch (samples, steps, channels) before and after a norm: channels down, time across.

    Args:
        sample: which, from 0 on; the colours' ends are the whole batch's.
        group: sample -> cells that share the chosen cell's mean and variance (rows are channels).
        name: of the norm. moved: what a change of a dial moved after the norm.
    """
    outlined = (group[sample],) if sample in group else ()
    return [
        Matrix(
            values=x[sample].T,
            name=title.format(n=sample + 1, norm=name),
            x_title=_("Time"),
            y_title=_("Channel"),
            top=float(np.abs(x).max()) or 1.0,
            outlined=outlined,
            moved=moved if x is after else None,
            numbers=False,
        )
        for x, title in ((before, _("sample {n}, before")), (after, _("sample {n}, {norm}")))
    ]


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
                line(x, pair[row], name, (BLUE if row == 0 else ORANGE) if is_chosen else GREY, width=3 if is_chosen else 1,
                     hover="%{x:.2f}: %{y:.4~g}<extra>" + name + "</extra>", yaxis=axis, opacity=1 if is_chosen else 0.45)
            )  # fmt: skip
    reach = 1.2
    traces += [
        line(
            [at - reach, at + reach],
            [value - reach * slope, value + reach * slope],
            _("tangent"),
            ORANGE,
            width=2,
            dash="dash",
            hover="",
        ),
        marks([at], [value], chosen, BLUE, size=11, hover=""),
        marks([at], [slope], chosen, ORANGE, size=11, hover="", yaxis="y2"),
    ]
    return chart(
        traces,
        keep="activation",
        legend=False,
        height=480,
        xaxis={"title": {"text": "x"}, "anchor": "y2", "range": [float(x[0]), float(x[-1])]},
        yaxis={"title": {"text": _("Value")}, "range": [-1.6, 6.8], "domain": [0.42, 1]},
        yaxis2={"title": {"text": _("Derivative")}, "range": [-0.25, 1.25], "domain": [0, 0.34]},
    )


def dropout_matrices(before: NDArray[np.floating], after: NDArray[np.floating]) -> tuple[Matrix, Matrix]:
    """A matrix before, and after dropout, on one scale."""
    top = float(np.abs(after).max()) or 1.0
    left, right = (
        Matrix(values=z, name=title, top=top, x_title=_("Channel"), y_title=_("Token"), numbers=True, digits=1)
        for z, title in ((before, _("before")), (after, _("after")))
    )
    return left, right


def depth_figure(
    means: Sequence[NDArray[np.floating]],
    own: Sequence[NDArray[np.floating]],
    *,
    layers: Sequence[int],
    at: tuple[int, float, float],
) -> go.Figure:
    """Gradient norm of the last layer by the number of layers, post-norm and pre-norm.

    Args:
        means: over all draws, of both. own: of the one draw that is read, thin. at: its number of layers, and both numbers.
    """
    count, *read = at
    kinds = (
        (_("post-norm: LayerNorm(x + Sublayer(x))"), BLUE, "circle"),
        (_("pre-norm: x + Sublayer(LayerNorm(x))"), ORANGE, "diamond"),
    )
    traces = []
    for (name, colour, symbol), mean, draw, value in zip(kinds, means, own, read, strict=True):
        traces += [
            line(list(layers), mean, name, colour, width=2, hover="%{y:.3~g}", mode="lines+markers",
                 marker={"symbol": symbol, "size": 9}),
            line(list(layers), draw, _("this draw"), colour, width=1, dash="dot", hover="%{y:.3~g}", showlegend=False),
            marks([count], [value], _("this draw"), colour, symbol=symbol + "-open", size=13, hover="%{y:.3~g}"),
        ]  # fmt: skip
    title, y = _("Gradient norm of the last layer"), {"rangemode": "tozero"}
    return series_chart(traces, _("Layers of the stack"), title, keep="depth", height=330, x={"dtick": 2}, y=y)


def signal_figure(signals: Mapping[str, NDArray[np.floating]], *, names: Mapping[str, str], chosen: str) -> go.Figure:
    """Root mean square of the activations by layer, on a logarithmic axis, one line per scheme; the chosen one is thick."""
    dashes = ("solid", "dash", "dot", "longdash", "dashdot", "longdashdot")
    traces = [
        line(np.arange(len(values)), np.maximum(values, 1e-12), names[code], SERIES[index], width=4 if code == chosen else 1.5,
             dash=dashes[index], hover="%{y:.3~g}", mode="lines+markers", marker={"size": 7 if code == chosen else 4})
        for index, (code, values) in enumerate(signals.items())
    ]  # fmt: skip
    y = {"type": "log", "exponentformat": "power"}
    return series_chart(traces, _("Layer"), _("Root mean square"), keep="signal", height=400, y=y)
