"""Figures of attention maps, from arrays, axes and names, shared by all models.

Rows of a map are queries, from the top down; columns are the keys they look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import (
    BLUE,
    DIVERGING,
    GREEN,
    GREY,
    ORANGE,
    SEQUENTIAL,
    VIOLET,
    Write,
    base_layout,
    figure_of,
    three_digits,
)
from core.figures.traces import bars, chart, line, marks
from core.messages import translate as _

SHADES = 254
"""Colour steps of a small map: more cannot be seen, and one byte per weight is a quarter of the traffic."""
DECADES = 2.0
"""Decades that a logarithmic scale spans: weights below a hundredth of the largest have the lowest colour."""

ScaleKind = Literal["own", "shared", "log"]


@dataclass(frozen=True, kw_only=True)
class MapAxis:
    """Axis of a map: the meaning of its rows or columns.

    Attributes:
        positions: (n,) evenly spaced: seconds before now, channel numbers, patch numbers.
        title: of an axis, with its unit. d3: format of one position in a hover, with its unit after it.
        kind: maps of one kind are compared with one another.
    """

    positions: NDArray[np.float64]
    title: str
    d3: str = "d"
    unit: str = ""
    kind: str = ""

    @property
    def step(self) -> float:
        """Distance between neighbours."""
        return float(self.positions[1] - self.positions[0]) if len(self.positions) > 1 else 1.0

    def nearest(self, position: float) -> int:
        """Index of the position closest to this one."""
        return int(np.abs(self.positions - position).argmin())

    def hover(self, letter: str) -> str:
        """One position in a plotly hover template, by its axis letter."""
        return f"%{{{letter}:{self.d3}}}{self.unit}"


def time_axis(seconds: NDArray[np.float64]) -> MapAxis:
    """Steps of a window, by seconds relative to its newest row: (n,), -31.75 ... 0."""
    return MapAxis(positions=seconds, title=_("Seconds before now"), d3=".2f", unit=" s", kind="time")


def channel_axis(count: int) -> MapAxis:
    """Learned channels, counted from 1 (D2)."""
    return MapAxis(positions=np.arange(1.0, count + 1), title=_("Channel"), kind="feature")


def token_axis(count: int, *, kind: str = "token") -> MapAxis:
    """Numbers of the class token (0) and the patches of a picture."""
    return MapAxis(positions=np.arange(0.0, count), title=_("Patch (0 is the class token)"), kind=kind)


@dataclass(frozen=True, kw_only=True)
class NamedMap:
    """One map, or the difference of two.

    Attributes:
        name: of its layer, the same in every language, and the trace's name in click events. title: translated.
        weights: (n, n), rows being queries.
    """

    name: str
    title: str
    weights: NDArray[np.floating]
    axis: MapAxis


def top_of(one: NamedMap, maps: Sequence[NamedMap], scale: ScaleKind) -> float:
    """The weight at which the colour scale ends: the map's largest magnitude, or with a shared scale that of all of its kind."""
    alike = [one] if scale == "own" else [other for other in maps if other.axis.kind == one.axis.kind]
    return max(float(np.abs(other.weights).max()) for other in alike) or 1.0


def map_grid(
    maps: Sequence[NamedMap],
    *,
    of: Sequence[NamedMap] | None = None,
    columns: int = 2,
    scale: ScaleKind = "own",
    difference: bool = False,
    selected: str = "",
    keep: str = "grid",
    write: Write = three_digits,
) -> go.Figure:
    """Many maps in small, each titled with its largest weight; colours are quantised to `SHADES` steps.

    Args:
        maps: to draw. of: all maps a shared scale is taken over; those drawn where None.
        difference: weights are differences, negative ones too.
        selected: name of the map that is framed.
    """
    rows = -(-len(maps) // columns)
    width, height = 1 / (columns + 0.14 * (columns - 1)), 1 / (rows + 0.3 * (rows - 1))
    traces: list[dict[str, Any]] = []
    layout = base_layout(keep=keep, legend=False) | {"margin": {"t": 40, "b": 4, "l": 4, "r": 4}, "annotations": []}
    for number, one in enumerate(maps):
        row, column = divmod(number, columns)
        suffix = str(number + 1) if number else ""
        x, y = f"x{suffix}", f"y{suffix}"
        frame = {"showline": True, "mirror": True, "linewidth": 3, "linecolor": ORANGE} if one.name == selected else {}
        across, down = _square(x, y)
        left, top = column * 1.14 * width, 1 - row * 1.3 * height
        layout[f"xaxis{suffix}"] = across | frame | {"domain": [left, left + width], "ticklen": 2, "nticks": 4}
        layout[f"yaxis{suffix}"] = down | frame | {"domain": [max(0.0, top - height), top], "ticklen": 2, "nticks": 4}
        largest = _("largest {value}").format(value=write(float(np.abs(one.weights).max())))
        layout["annotations"].append(
            {"text": f"<b>{one.title}</b><br>{largest}", "xref": f"{x} domain", "yref": f"{y} domain", "x": 0, "y": 1,
             "xanchor": "left", "yanchor": "bottom", "align": "left", "showarrow": False, "font": {"size": 12}}
        )  # fmt: skip
        end = top_of(one, of or maps, scale)
        traces.append(
            _cells(one, _shades(one.weights, end, log=scale == "log" and not difference, signed=difference), signed=difference)
            | {"xaxis": x, "yaxis": y, "showscale": False, "hoverinfo": "none"}
            | {"zmin": -SHADES // 2 if difference else 0, "zmax": SHADES // 2 if difference else SHADES}
        )
    return figure_of(traces, layout)


def map_figure(
    one: NamedMap,
    *,
    of: Sequence[NamedMap] = (),
    scale: ScaleKind = "own",
    difference: bool = False,
    query: int | None = None,
    keep: str = "map",
    write: Write = three_digits,
) -> go.Figure:
    """One map with all weights in float32 and a colour bar; the row that is being read is outlined.

    Args:
        of: all maps a shared scale is taken over.
        query: index of the row being read.
    """
    axis, top = one.axis, top_of(one, of or [one], scale)
    log = scale == "log" and not difference
    weights = np.asarray(one.weights, dtype=np.float32)
    low = np.log10(top) - DECADES if log else -top if difference else 0.0
    bar: dict[str, Any] = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "thickness": 8, "ticks": "", "outlinewidth": 0}
    bar |= {"title": {"text": _("Difference") if difference else _("Weight"), "side": "top"}, "nticks": 6}
    if log:
        ticks = np.linspace(low, low + DECADES, 5)
        texts = [write(float(10**tick)) for tick in ticks]
        bar |= {"tickvals": ticks, "ticktext": [f"≤ {texts[0]}", *texts[1:]]}
    value = "%{customdata:.3~g}" if log else "%{z:.3~g}"
    hover = _("query {query}, key {key}: {weight}").format(query=axis.hover("y"), key=axis.hover("x"), weight=value)
    z = np.log10(np.maximum(weights, top * 10 ** (-DECADES - 1))) if log else weights
    trace = _cells(one, z, signed=difference) | {"zmin": low, "zmax": np.log10(top) if log else top, "colorbar": bar}
    trace |= {"hovertemplate": hover + "<extra></extra>", "customdata": weights if log else None}
    layout = base_layout(keep=keep, legend=False)
    across, down = _square("x", "y")
    layout["xaxis"] = across | {"title": {"text": _("Key: {axis}").format(axis=axis.title)}}
    layout["yaxis"] = down | {"title": {"text": _("Query: {axis}").format(axis=axis.title)}}
    if query is not None:
        edges = {"y0": axis.positions[query] - axis.step / 2, "y1": axis.positions[query] + axis.step / 2}
        outline = {"type": "rect", "xref": "x domain", "x0": 0, "x1": 1, "line": {"color": ORANGE, "width": 2}, "layer": "above"}
        layout["shapes"] = [outline | edges]
    return figure_of([trace], layout)


def row_figure(
    one: NamedMap,
    *,
    query: int,
    other: NDArray[np.floating] | None = None,
    mid: NDArray[np.floating] | None = None,
    whose: str = "",
    keep: str = "row",
) -> go.Figure:
    """The weights of one query, a bar per key, beside uniform attention; over time also the mid-price.

    Args:
        one: a map of weights, not of differences.
        other: (n, n) the same layer's map on another window, drawn as a line.
        mid: (n,) mid-price, for a time axis.
        whose: what the bars are called; "This window" where empty.
    """
    axis, row = one.axis, np.asarray(one.weights[query], dtype=np.float32)
    traces: list[dict[str, Any]] = [
        bars(axis.positions, row, whose or _("This window"), hover=axis.hover("x") + ": %{y:.3~g}<extra></extra>",
             marker={"color": BLUE, "line": {"width": 0}})
    ]  # fmt: skip
    if other is not None:
        traces.append(
            line(axis.positions, np.asarray(other[query], dtype=np.float32), _("Compared window"), hover="%{y:.3~g}",
                 line={"color": VIOLET, "width": 1.5, "shape": "hvh"})
        )  # fmt: skip
    traces.append(line(axis.positions[[0, -1]], np.full(2, 1 / len(row)), _("All alike"), GREY, dash="dot", width=2, hover=""))
    layout = base_layout(keep=keep, hover="x") | {"bargap": 0.05}
    layout["xaxis"] = {"title": {"text": _("Key: {axis}").format(axis=axis.title)}, "anchor": "y" if mid is None else "y2"}
    layout["yaxis"] = {"title": {"text": _("Weight")}, "rangemode": "tozero", "domain": [0 if mid is None else 0.38, 1]}
    if mid is not None:
        traces.append(
            line(axis.positions, mid, _("Mid"), hover="%{y}<extra></extra>", yaxis="y2",
                 line={"color": GREEN, "width": 1.5, "shape": "hv"}, showlegend=False)
        )  # fmt: skip
        layout["yaxis2"] = {"title": {"text": _("Mid")}, "nticks": 4, "domain": [0, 0.32]}
    at = axis.positions[query]
    mark = {"color": ORANGE, "width": 1.5}
    layout["shapes"] = [{"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": mark}]
    return figure_of(traces, layout)


def layers_figure(
    values: Sequence[float],
    *,
    even: float | Sequence[float],
    title: str,
    other: Sequence[float] | None = None,
    whose: str = "",
    counted: str | None = None,
    names: Sequence[str] = (),
) -> go.Figure:
    """One number per layer of one kind, first layer first, beside that of uniform attention.

    Args:
        even: the number of uniform attention, or that of each layer. other: the same numbers of a compared window.
        title: of the value axis, with its unit. names: of the layers; their numbers where left out.
        whose: what the bars are called; "This window" where empty. counted: what is; "Pair" (of layers) where left out.
    """
    names = list(names) or [str(number + 1) for number in range(len(values))]
    both = ((whose or _("This window"), values, BLUE), (_("Compared window"), other, VIOLET))
    traces: list[dict[str, Any]] = [
        bars(names, np.asarray(numbers), name, colour, hover="%{y:.3f}") for name, numbers, colour in both if numbers is not None
    ]
    mark = {"symbol": "line-ew", "size": 34, "line": {"width": 2, "color": ORANGE}}
    traces.append(marks(names, np.broadcast_to(even, len(names)).copy(), _("All alike"), hover="%{y:.3f}", marker=mark))
    return chart(traces, keep="layers", hover="x unified", legend=False, bargap=0.35, barmode="group", margin={"t": 8},
                 xaxis={"title": {"text": _("Pair") if counted is None else counted}, "type": "category"},
                 yaxis={"title": {"text": title}, "rangemode": "tozero"})  # fmt: skip


def _cells(one: NamedMap, z: NDArray[Any], *, signed: bool) -> dict[str, Any]:
    """A heatmap trace with the axes of a map."""
    start, step = float(one.axis.positions[0]), one.axis.step
    colours = DIVERGING if signed else SEQUENTIAL
    return {"type": "heatmap", "name": one.name, "z": z, "x0": start, "dx": step, "y0": start, "dy": step, "colorscale": colours}


def _square(x: str, y: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both axes of a map: queries run down from the top, and a cell is as high as it is wide."""
    plain = {"constrain": "domain", "showgrid": False}
    return plain | {"anchor": y}, plain | {"anchor": x, "autorange": "reversed", "scaleanchor": x, "constraintoward": "top"}


def _shades(weights: NDArray[np.floating], top: float, *, log: bool, signed: bool) -> NDArray[np.uint8] | NDArray[np.int8]:
    if signed:
        return np.round(np.clip(weights / top, -1, 1) * (SHADES // 2)).astype(np.int8)
    share = 1 + np.log10(np.maximum(weights / top, 1e-30)) / DECADES if log else weights / top
    return np.round(np.clip(share, 0, 1) * SHADES).astype(np.uint8)
