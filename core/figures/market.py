"""The figure of a market's predictions, and how its prices are written."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import COLOURS
from core.figures.traces import bars, chart
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


def mid_and_digits(row: FloatArray) -> tuple[float, int]:
    """Mid of one row (40,) in quote currency, and its decimals: a mid may lie between two ticks, so those of half a tick."""
    half = price_tick(row[PRICES]) / 2
    return float(mid_price(row)), next((d for d in range(9) if abs(half * 10**d - round(half * 10**d)) < 1e-6), 9)
