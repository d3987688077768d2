"""Figures of what a call is worth: moves against their costs, and a taker's result through time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import GREY, SERIES
from core.figures.traces import across, chart, line, marks
from core.market.answers.value import Estimate
from core.market.book import FloatArray
from core.messages import translate as _


def moves_figure(moves: Mapping[str, Estimate], *, half_spread: float, fee: float) -> go.Figure:
    """The mean move after a call by forecaster, with its interval, against what a taker pays.

    Args:
        moves: name -> basis points. half_spread: mean at the calls; fee: of one fill; both in basis points.
    """
    names, values = list(moves), [one.value for one in moves.values()]
    interval = {
        "type": "data",
        "color": GREY,
        "symmetric": False,
        "array": [one.high - one.value for one in moves.values()],
        "arrayminus": [one.value - one.low for one in moves.values()],
    }
    colours = [SERIES[i % len(SERIES)] for i in range(len(names))]
    costs = {
        _("Zero"): (0.0, "solid"),
        _("Half the spread"): (half_spread, "dash"),
        _("Spread and two fees"): (2 * half_spread + 2 * fee, "dot"),
    }
    traces = [
        marks(
            values, names, _("Mean move after a call"), colours, size=11, hover="%{y}: %{x:.2f}<extra></extra>", error_x=interval
        ),
        *(line([cost] * len(names), names, name, GREY, dash=dash, hover="") for name, (cost, dash) in costs.items()),
    ]
    return chart(
        traces, x_title=_("Basis points in the call's direction"), keep="moves", y={"type": "category", "autorange": "reversed"}
    )


def result_figure(results: Mapping[str, tuple[NDArray[np.int64], FloatArray]]) -> go.Figure:
    """A taker's result through time, summed, after spread and fee; the zero line always drawn.

    Args:
        results: name -> times of the trades (milliseconds) and their results, basis points.
    """
    traces = [
        line(times, np.cumsum(result), name, hover="%{y:.1f}", line={"shape": "hv", "color": colour})
        for (name, (times, result)), colour in zip(results.items(), SERIES, strict=False)
    ]
    return chart(
        traces,
        x_title=_("Time (UTC)"),
        y_title=_("Sum, basis points"),
        hover="x",
        keep="result",
        x={"type": "date"},
        shapes=[across(0, GREY)],
    )
