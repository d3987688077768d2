"""Figures of the live order book: arrays in, plotly figures out.

Times are milliseconds since the epoch on a date axis; prices in quote currency; sizes in the venue's unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.numbers import Write, WriteDigits, fixed_digits, three_digits
from core.figures.style import ASK, BID, BLUE, COLOURS, SEQUENTIAL, SEQUENTIAL_CLEAR, VIOLET, base_layout
from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, FloatArray
from core.messages import translate as _
from core.models.tlob import CLASSES

MAX_PRICE_BINS = 72
MAX_TIME_BINS = 480
SHADES = 255
MOST_TRADES = 600
"""Only the newest trades are drawn, as SVG, so that the plot needs no graphics card."""


@dataclass(frozen=True, kw_only=True)
class Liquidity:
    """Resting size by price and time.

    Attributes:
        times: (t,) ms. prices: (p,) bin centres. shade: (p, t) uint8, 0 for nothing, else 1..255 over the log of size.
        smallest, largest: the sizes that shades 1 and 255 stand for.
    """

    times: NDArray[np.int64]
    prices: FloatArray
    shade: NDArray[np.uint8]
    smallest: float
    largest: float


def bin_liquidity(timestamps: NDArray[np.int64], levels: FloatArray) -> Liquidity:
    """Sizes of all levels of the rows (n, 40) on a common price grid, whose bins are one tick high or more."""
    every = -(-len(levels) // MAX_TIME_BINS)
    offset = (len(levels) - 1) % every  # the newest row is always among those drawn
    times, rows = timestamps[offset::every], levels[offset::every]
    prices = np.concatenate([rows[:, BID_PRICES], rows[:, ASK_PRICES]], axis=1)
    sizes = np.concatenate([rows[:, BID_SIZES], rows[:, ASK_SIZES]], axis=1)
    low, high = np.quantile(prices, [0.02, 0.98])
    gaps = np.diff(rows[-1, ASK_PRICES])
    step = max(float(gaps.min()), (high - low) / MAX_PRICE_BINS, 1e-12)
    count = int(np.ceil((high - low) / step)) + 1
    index = np.round((prices - low) / step).astype(np.int64)
    inside = (index >= 0) & (index < count)
    column = np.broadcast_to(np.arange(len(rows))[:, None], index.shape)
    resting = np.zeros((count, len(rows)))
    np.add.at(resting, (index[inside], column[inside]), sizes[inside])
    some = resting > 0
    smallest, largest = (float(v) for v in np.quantile(resting[some], [0.02, 0.99])) if some.any() else (1.0, 1.0)
    span = max(np.log(largest / smallest), 1e-9)
    shade = np.zeros(resting.shape, dtype=np.uint8)
    shade[some] = 1 + np.clip(np.log(resting[some] / smallest) / span, 0, 1) * (SHADES - 1)
    return Liquidity(times=times, prices=low + step * np.arange(count), shade=shade, smallest=smallest, largest=largest)


def liquidity_figure(
    timestamps: NDArray[np.int64],
    levels: FloatArray,
    *,
    trades: FloatArray | None = None,
    call_times: NDArray[np.int64] | None = None,
    calls: NDArray[np.integer] | None = None,
    keep: str = "liquidity",
    write: Write = three_digits,
) -> go.Figure:
    """Liquidity through time with best prices, mid, trades, and the moves that TLOB calls.

    Args:
        timestamps: (n,) milliseconds. levels: (n, 40).
        trades: (m, 4) as in `core.market.session_view.View`.
        call_times, calls: (k,) times of predictions and the classes called; STATIONARY is not drawn.
        keep: plotly's `uirevision`; the reader's zoom is kept while it stays the same.
        write: formats a size in the reader's language.
    """
    figure = go.Figure()
    figure.update_layout(base_layout(x_title=_("Time (UTC)"), y_title=_("Price (quote currency)"), hover="x", keep=keep))
    figure.update_xaxes(type="date")
    figure.update_yaxes(side="right", tickformat=_price_format(levels))
    if not len(levels):
        return figure
    heat = bin_liquidity(timestamps, levels)
    ticks = np.array([1, SHADES // 2, SHADES])
    sizes = heat.smallest * (heat.largest / heat.smallest) ** ((ticks - 1) / (SHADES - 1))
    figure.add_heatmap(
        x=heat.times,
        y=heat.prices,
        z=heat.shade,
        zmin=0,
        zmax=SHADES,
        colorscale=SEQUENTIAL_CLEAR,
        hoverinfo="skip",
        colorbar={
            "title": {"text": _("Size"), "side": "right"},
            "thickness": 8,
            "len": 0.9,
            "x": -0.02,
            "xanchor": "right",
            "tickvals": ticks,
            "ticktext": [write(size) for size in sizes],
            "ticks": "",
        },
    )
    mid = (levels[:, 0] + levels[:, 2]) / 2
    for name, values, colour, width in (
        (_("Best ask"), levels[:, 0], ASK, 1.4),
        (_("Best bid"), levels[:, 2], BID, 1.4),
        (_("Mid"), mid, VIOLET, 1.0),
    ):
        figure.add_scatter(
            x=timestamps,
            y=values,
            name=name,
            mode="lines",
            line={"color": colour, "width": width, "shape": "hv"},
        )
    if trades is not None:
        _add_trades(figure, trades)
    if call_times is not None and calls is not None:
        at = mid[np.clip(np.searchsorted(timestamps, call_times), 0, len(mid) - 1)]
        for k, symbol, name in ((2, "triangle-up", _("Calls up")), (0, "triangle-down", _("Calls down"))):
            here = calls == k
            figure.add_scatter(
                x=call_times[here],
                y=at[here],
                name=name,
                mode="markers",
                hoverinfo="skip",
                marker={"symbol": symbol, "size": 7, "color": COLOURS[CLASSES[k]], "line": {"width": 0.5, "color": "white"}},
            )
    return figure


def _add_trades(figure: go.Figure, trades: FloatArray) -> None:
    trades = trades[-MOST_TRADES:]
    if not len(trades):
        return
    area = 3 + 5 * np.sqrt(trades[:, 2] / max(float(np.quantile(trades[:, 2], 0.95)), 1e-12)).clip(0, 1.5)
    colour = np.where(trades[:, 3] > 0, BID, np.where(trades[:, 3] < 0, ASK, COLOURS["STATIONARY"]))
    figure.add_scatter(
        x=trades[:, 0],
        y=trades[:, 1],
        name=_("Trades"),
        mode="markers",
        customdata=trades[:, 2],
        hovertemplate="%{y} x %{customdata}<extra></extra>",
        marker={"size": area, "color": colour, "opacity": 0.6, "line": {"width": 0.5, "color": "white"}},
    )


def ladder_figure(row: FloatArray, *, write: WriteDigits = fixed_digits) -> go.Figure:
    """The ten levels per side of one row (40,) as bars: asks above, bids below, best prices in the middle.

    Args:
        write: formats a price with a number of decimals in the reader's language.
    """
    figure = go.Figure()
    prices = np.concatenate([row[ASK_PRICES][::-1], row[BID_PRICES]])
    sizes = np.concatenate([row[ASK_SIZES][::-1], row[BID_SIZES]])
    sides = [ASK] * 10 + [BID] * 10
    digits = _price_digits(row)
    labels = [write(price, digits) for price in prices]
    figure.add_bar(
        y=labels,
        x=sizes,
        orientation="h",
        marker={"color": sides},
        texttemplate="%{x:.4~r}",
        textposition="auto",
        constraintext="none",
        textfont={"size": 10},
        hovertemplate="%{y}: %{x}<extra></extra>",
        name=_("Resting size"),
    )
    figure.update_layout(
        base_layout(x_title=_("Size (asks above, bids below)"), y_title=_("Price (quote currency)"), keep="ladder", legend=False)
    )
    figure.update_layout(bargap=0.12)
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=labels[::-1])
    figure.update_xaxes(rangemode="tozero")
    return figure


def depth_figure(row: FloatArray) -> go.Figure:
    """Cumulative size against price, both sides of one row (40,)."""
    figure = go.Figure()
    for name, prices, sizes, colour in (
        (_("Bids"), row[BID_PRICES], row[BID_SIZES], BID),
        (_("Asks"), row[ASK_PRICES], row[ASK_SIZES], ASK),
    ):
        figure.add_scatter(
            x=prices, y=np.cumsum(sizes), name=name, mode="lines", fill="tozeroy", line={"shape": "hv", "color": colour}
        )
    figure.update_layout(base_layout(x_title=_("Price (quote currency)"), y_title=_("Size up to there"), keep="depth"))
    figure.update_xaxes(tickformat=_price_format(row[None]))
    figure.update_yaxes(rangemode="tozero")
    return figure


def probabilities_figure(times: NDArray[np.int64], probabilities: NDArray[np.floating]) -> go.Figure:
    """The three probabilities through time, (n, 3), stacked to one."""
    figure = go.Figure()
    names = (_("Down"), _("Stationary"), _("Up"))
    for k, name in enumerate(names):
        figure.add_scatter(
            x=times,
            y=probabilities[:, k].astype(np.float32),
            name=name,
            mode="lines",
            stackgroup="one",
            line={"width": 0.5, "color": COLOURS[CLASSES[k]]},
            hovertemplate="%{y:.1%}",
        )
    figure.update_layout(base_layout(x_title=_("Time (UTC)"), y_title=_("Probability"), hover="x unified", keep="probabilities"))
    figure.update_yaxes(range=[0, 1], tickformat=".0%")
    figure.update_xaxes(type="date")
    return figure


def horizons_figure(names: list[str], probabilities: NDArray[np.floating], *, chosen: int | None) -> go.Figure:
    """The newest probabilities (horizons, 3), one stacked bar per horizon.

    Args:
        names: of the horizons, nearest first.
        chosen: index of the horizon to emphasise; None for none.
    """
    figure = go.Figure()
    opacity = [1.0 if chosen in (i, None) else 0.45 for i in range(len(names))]
    for k, name in enumerate((_("Down"), _("Stationary"), _("Up"))):
        share = probabilities[:, k].astype(np.float64)
        figure.add_bar(
            y=names,
            x=share,
            orientation="h",
            name=name,
            marker={"color": COLOURS[CLASSES[k]], "opacity": opacity},
            text=[f"{p:.0%}" if p >= 0.08 else "" for p in share],
            textposition="inside",
            insidetextanchor="middle",
            textfont={"color": "white", "size": 10},
            constraintext="none",
            hovertemplate="%{x:.1%}",
        )
    figure.update_layout(base_layout(x_title=_("Probability"), y_title=_("Horizon"), keep="horizons"))
    figure.update_layout(barmode="stack", bargap=0.25, legend={"traceorder": "normal"})
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    figure.update_yaxes(type="category", autorange="reversed")
    return figure


def confusion_figure(confusion: NDArray[np.integer]) -> go.Figure:
    """Counts (3, 3), rows by what happened, columns by what was called; shaded by share of the row."""
    names = [_("Down"), _("Stationary"), _("Up")]
    share = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    text = [
        [f"{count:,}<br>{part:.0%}" for count, part in zip(counts, parts, strict=True)]
        for counts, parts in zip(confusion, share, strict=True)
    ]
    figure = go.Figure(
        go.Heatmap(
            z=share,
            x=names,
            y=names,
            text=text,
            texttemplate="%{text}",
            zmin=0,
            zmax=1,
            colorscale=SEQUENTIAL,
            showscale=False,
            hoverinfo="skip",
        )
    )
    figure.update_layout(base_layout(x_title=_("Called"), y_title=_("Happened"), keep="confusion", legend=False))
    figure.update_yaxes(autorange="reversed")
    return figure


def reliability_figure(curves: Mapping[str, dict[str, NDArray[np.float64]]]) -> go.Figure:
    """How often classes came true by the probability they were given, against the diagonal of a calibrated model.

    Args:
        curves: name -> bins as `core.scores.reliability` returns them; empty bins are left out, larger dots hold more rows.
    """
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        name=_("Calibrated"),
        line={"dash": "dot", "color": COLOURS["STATIONARY"]},
        hoverinfo="skip",
    )
    for (name, bins), colour in zip(curves.items(), (BLUE, VIOLET), strict=False):
        some = bins["count"] > 0
        figure.add_scatter(
            x=bins["confidence"][some],
            y=bins["accuracy"][some],
            mode="lines+markers",
            name=name,
            customdata=bins["count"][some],
            marker={"size": 5 + 9 * np.sqrt(bins["count"][some] / max(bins["count"].max(), 1))},
            line={"color": colour},
            cliponaxis=False,
            hovertemplate="%{x:.1%} -> %{y:.1%} (%{customdata:,})<extra></extra>",
        )
    figure.update_layout(
        base_layout(
            x_title=_("Probability given"), y_title=_("How often it came true"), keep="reliability", legend=len(curves) > 1
        )
    )
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    figure.update_yaxes(range=[0, 1], tickformat=".0%")
    return figure


@dataclass(frozen=True, kw_only=True)
class Quote:
    """One row's mid in quote currency, the decimals to show of it, and its spread in basis points."""

    mid: float
    digits: int
    spread_bps: float


def quote(row: FloatArray) -> Quote:
    """Mid and spread of one row (40,). A mid may lie between two ticks, so it gets one decimal more than a price."""
    mid = float(row[0] + row[2]) / 2
    return Quote(mid=mid, digits=_price_digits(row) + 1, spread_bps=float(row[0] - row[2]) / mid * 1e4)


def _price_digits(row: FloatArray) -> int:
    """Decimals that distinguish neighbouring levels, on either side of the book."""
    gap = min(float(np.abs(np.diff(row[side])).min()) for side in (ASK_PRICES, BID_PRICES))
    return int(np.clip(np.ceil(-np.log10(max(gap, 1e-9)) - 1e-6), 0, 8))


def _price_format(levels: FloatArray) -> str:
    """`_price_digits` of the newest row as a d3 format."""
    return f".{_price_digits(levels[-1]) if len(levels) else 2}f"
