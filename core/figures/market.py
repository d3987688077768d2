"""Figures of predictions and their scores: arrays in, plotly figures out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import COLOURS, SERIES
from core.figures.traces import bars, chart, line
from core.market.book import PRICES, FloatArray, mid_price, price_tick
from core.messages import translate as _
from core.models.tlob import CLASSES


def horizons_figure(names: list[str], probabilities: NDArray[np.floating]) -> go.Figure:
    """The newest probabilities (horizons, 3), one stacked bar per horizon; names nearest first."""
    traces = [
        bars(share, names, name, hover="%{x:.1%}", orientation="h", marker={"color": COLOURS[CLASSES[k]]},
             text=[f"{p:.0%}" if p >= 0.08 else "" for p in share], textposition="inside", insidetextanchor="middle",
             textfont={"color": "white", "size": 10}, constraintext="none")
        for k, name in enumerate((_("Down"), _("Stationary"), _("Up")))
        for share in [probabilities[:, k].astype(np.float64)]
    ]  # fmt: skip
    return chart(traces, x_title=_("Probability"), y_title=_("Horizon"), keep="horizons", legend={"traceorder": "normal"},
                 x={"range": [0, 1], "tickformat": ".0%"}, y={"type": "category", "autorange": "reversed"},
                 barmode="stack", bargap=0.25)  # fmt: skip


def reliability_figure(curves: Mapping[str, Mapping[str, NDArray[np.float64]]]) -> go.Figure:
    """Draws the rate at which classes came true by their probability, against the diagonal of a calibrated model.

    Args:
        curves: name -> bins as `core.scores.reliability` returns them; empty bins are left out, larger dots hold more rows.
    """
    traces = [line([0, 1], [0, 1], _("Calibrated"), COLOURS["STATIONARY"], dash="dot", hover="")]
    for (name, bins), colour in zip(curves.items(), cycle(SERIES), strict=False):
        x, y, count = (bins[column][bins["count"] > 0] for column in ("confidence", "accuracy", "count"))
        traces.append(
            line(x, y, name, colour, hover="%{x:.1%} -> %{y:.1%} (%{customdata:,})<extra></extra>", mode="lines+markers",
                 customdata=count, marker={"size": 5 + 9 * np.sqrt(count / max(bins["count"].max(), 1))}, cliponaxis=False)
        )  # fmt: skip
    share = {"range": [0, 1], "tickformat": ".0%"}
    return chart(
        traces,
        x_title=_("Probability given"),
        y_title=_("How often it came true"),
        keep="reliability",
        legend=len(curves) > 1,
        x=share,
        y=share,
    )


def mid_and_digits(row: FloatArray) -> tuple[float, int]:
    """Mid of one row (40,) in quote currency, and its decimals: a mid may lie between two ticks, so those of half a tick."""
    half = price_tick(row[PRICES]) / 2
    return float(mid_price(row)), next((d for d in range(9) if abs(half * 10**d - round(half * 10**d)) < 1e-6), 9)
