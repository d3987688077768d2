"""Figures of what a call is worth: precision by coverage, moves against their costs, and a taker's result through time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.draft import Draft
from core.figures.style import BLUE, GREY, ORANGE, SERIES, base_layout
from core.market.answers.value import Estimate
from core.market.book import FloatArray
from core.messages import translate as _


def ahead_figure(sequence: pd.DataFrame, *, measure: str) -> go.Figure:
    """A confidence sequence: the running difference of two forecasters' losses and the band that holds at all moments at once.

    Args:
        sequence: as `core.market.answers.table.ahead` returns it. measure: "log_loss" or "brier".
    """
    x, value, low, high = (sequence[name].tolist() for name in ("outcomes", measure, f"{measure}_low", f"{measure}_high"))
    reach = 2 * max([abs(value[-1]), *(abs(one[-1] - value[-1]) for one in (low, high))])
    figure = Draft()
    figure.add_scatter(
        x=[*x, *x[::-1]],
        y=[*low, *high[::-1]],
        fill="toself",
        mode="lines",
        line={"width": 0},
        fillcolor="rgba(47,126,199,0.2)",
        name=_("95 %, however often one looks"),
        hoverinfo="skip",
    )
    figure.add_scatter(x=x, y=value, mode="lines", line={"color": BLUE}, name=_("Difference so far"))
    figure.add_hline(y=0, line={"color": GREY, "width": 1, "dash": "dot"})
    figure.update_layout(base_layout(x_title=_("Outcomes that do not overlap"), y_title=_("Difference in loss"), keep="ahead"))
    figure.update_yaxes(range=[value[-1] - reach, value[-1] + reach])
    return figure.figure()


def precision_figure(
    curve: Sequence[Mapping[str, float | None]], *, chosen: float, points: Mapping[str, tuple[float, float]]
) -> go.Figure:
    """Share of calls that came true against the share of rows called, as the least confidence rises.

    Args:
        curve: as `core.market.answers.value.precision_by_confidence` returns it.
        chosen: the confidence chosen, whose point is emphasised.
        points: of rules without a confidence: name -> coverage and precision.
    """
    known = [point for point in curve if point["precision"] is not None]
    x, low, y, high, at = ([point[name] for point in known] for name in ("coverage", "low", "precision", "high", "threshold"))
    figure = Draft()
    figure.add_scatter(
        x=[*x, *x[::-1]],
        y=[*low, *high[::-1]],
        fill="toself",
        mode="lines",
        line={"width": 0},
        fillcolor="rgba(47,126,199,0.2)",
        name=_("95 % interval"),
        hoverinfo="skip",
    )
    nearest = min(range(len(known)), key=lambda i: abs(float(at[i] or 0) - chosen), default=-1)
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines+markers",
        name="TLOB",
        customdata=at,
        line={"color": BLUE},
        marker={"size": [13 if i == nearest and chosen >= 0.3 else 6 for i in range(len(known))]},
        hovertemplate="≥ %{customdata:.0%}: %{x:.1%}, %{y:.1%}<extra></extra>",
    )
    for (name, (coverage, precision)), colour in zip(points.items(), (ORANGE, GREY), strict=False):
        figure.add_scatter(
            x=[coverage], y=[precision], mode="markers", name=name, marker={"symbol": "diamond", "size": 10, "color": colour}
        )
    figure.update_layout(base_layout(x_title=_("Rows called Up or Down"), y_title=_("Calls that came true"), keep="precision"))
    figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    figure.update_yaxes(tickformat=".0%", range=[0, 1])
    return figure.figure()


def moves_figure(moves: Mapping[str, Estimate], *, half_spread: float, fee: float) -> go.Figure:
    """The mean move after a call by forecaster, with its interval, against what a taker pays.

    Args:
        moves: name -> basis points. half_spread: mean at the calls; fee: of one fill; both in basis points.
    """
    names = list(moves)
    values = [moves[name].value for name in names]
    figure = Draft()
    figure.add_scatter(
        x=values,
        y=names,
        mode="markers",
        name=_("Mean move after a call"),
        marker={"size": 11, "color": [SERIES[i % len(SERIES)] for i in range(len(names))]},
        error_x={
            "type": "data",
            "color": GREY,
            "symmetric": False,
            "array": [moves[name].high - moves[name].value for name in names],
            "arrayminus": [moves[name].value - moves[name].low for name in names],
        },
        hovertemplate="%{y}: %{x:.2f}<extra></extra>",
    )
    costs = {
        _("Zero"): (0.0, "solid"),
        _("Half the spread"): (half_spread, "dash"),
        _("Spread and two fees"): (2 * half_spread + 2 * fee, "dot"),
    }
    for name, (value, dash) in costs.items():
        figure.add_scatter(
            x=[value] * len(names), y=names, mode="lines", name=name, line={"dash": dash, "color": GREY}, hoverinfo="skip"
        )
    figure.update_layout(base_layout(x_title=_("Basis points in the call's direction"), keep="moves"))
    figure.update_yaxes(type="category", autorange="reversed")
    return figure.figure()


def result_figure(results: Mapping[str, tuple[NDArray[np.int64], FloatArray]]) -> go.Figure:
    """A taker's result through time, summed, after spread and fee; the zero line always drawn.

    Args:
        results: name -> times of the trades (milliseconds) and their results, basis points.
    """
    figure = Draft()
    for (name, (times, result)), colour in zip(results.items(), SERIES, strict=False):
        figure.add_scatter(
            x=times,
            y=np.cumsum(result),
            name=name,
            mode="lines",
            line={"shape": "hv", "color": colour},
            hovertemplate="%{y:.1f}",
        )
    figure.add_hline(y=0, line={"color": GREY, "width": 1})
    figure.update_layout(base_layout(x_title=_("Time (UTC)"), y_title=_("Sum, basis points"), hover="x", keep="result"))
    figure.update_xaxes(type="date")
    return figure.figure()
