"""Figures of the lesson on optimisers: walks and schedules."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, GREEN, GREY, ORANGE, SEQUENTIAL, SERIES, VIOLET
from core.figures.traces import chart, line, marks, series_chart, upright
from core.messages import translate as _

Array = NDArray[np.floating]

OPTIMISER_COLOURS = {"sgd": GREY, "adam": BLUE, "adam_plain": VIOLET, "adamw": ORANGE}
SYMBOLS = {"sgd": "circle", "adam": "diamond", "adam_plain": "x", "adamw": "triangle-up"}


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
         "line": {"width": 1}, "hoverinfo": "skip", "opacity": 0.7, "name": _("Loss")}
    ]  # fmt: skip
    for code, points in walks.items():
        seen = points[: step + 1]
        sizes = np.full(len(seen), 4.0)
        sizes[-1] = 12
        traces.append(
            line(
                seen[:, 0],
                seen[:, 1],
                names[code],
                OPTIMISER_COLOURS[code],
                width=2,
                hover="%{x:.3f}, %{y:.3f}<extra>" + names[code] + "</extra>",
                mode="lines+markers",
                marker={"size": sizes, "symbol": SYMBOLS[code], "color": OPTIMISER_COLOURS[code]},
            )
        )
    at = np.transpose(minima)
    least = marks(at[0], at[1], _("minimum"), GREEN, symbol="star", size=14, hover="%{x:.3f}, %{y:.3f}")
    return chart(
        [*traces, least],
        x_title="θ₁",
        y_title="θ₂",
        keep="surface",
        height=460,
        x={"range": [float(x[0]), float(x[-1])], "showgrid": False},
        y={"range": [float(y[0]), float(y[-1])], "showgrid": False},
    )


def losses_figure(losses: Mapping[str, Array], *, names: Mapping[str, str], step: int, title: str) -> go.Figure:
    """Loss by step on a logarithmic axis, one line with its own dash per optimiser.

    Args:
        step: marked by a vertical line. title: of the value axis.
    """
    shown = {code: np.maximum(values, 1e-12) for code, values in losses.items()}
    start = max(float(values[0]) for values in losses.values())  # a diverging loss must not flatten the other lines
    low = max(1e-9, min(float(values.min()) for values in shown.values()))
    ends = [float(np.log10(low)) - 0.3, float(np.log10(max(start, low))) + 1.0]
    return _by_step(shown, names, step, title, {"type": "log", "range": ends})


def schedules_figure(rates: Mapping[str, Array], *, names: Mapping[str, str], step: int, peak: float) -> go.Figure:
    """Learning rate by step, one line per schedule, with one step marked."""
    return _by_step(rates, names, step, _("Learning rate"), {"range": [0, 1.08 * peak]})


def _by_step(rows: Mapping[str, Array], names: Mapping[str, str], step: int, title: str, axis: dict[str, Any]) -> go.Figure:
    dashes, colours = ("solid", "dash", "longdash", "dashdot"), dict(zip(rows, SERIES, strict=False)) | OPTIMISER_COLOURS
    traces = [
        line(np.arange(len(values)), values, names[code], colours[code], width=2, dash=dash, hover="%{y:.4~g}")
        for (code, values), dash in zip(rows.items(), dashes, strict=True)
    ]
    y = axis | {"exponentformat": "power"}
    return series_chart(traces, _("Step"), title, keep=title, height=350, y=y, shapes=[upright(step, GREEN, 2)])
