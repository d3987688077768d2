"""Figures of input attributions: what each input of a window added to the answer at each moment (D2).

Attributions are in the explained number's unit (probability): blue raised it, orange lowered it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from core.figures.style import ASK, BID, BLUE, DIVERGING, ORANGE, VIOLET, Write, base_layout, three_digits
from core.figures.traces import bars, chart, heat, line
from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, FEATURES, FloatArray
from core.market.features import price_columns
from core.messages import translate as _

_FEATURE: Final = np.arange(len(FEATURES))
SIZES: Final = np.concatenate([_FEATURE[ASK_SIZES][::-1], _FEATURE[BID_SIZES]])
PRICES: Final = np.concatenate([_FEATURE[ASK_PRICES][::-1], _FEATURE[BID_PRICES]])
"""Columns in the order of a ladder: farthest ask on top, best prices in the middle, farthest bid below."""
BOOK_PRICES: Final = price_columns("ladder")
"""Prices at which the book's own columns are drawn: at their level's price."""

MAX_PRICE_BINS = 120
DECADES = 2.0
"""Decades below the strongest attribution that compressed colours span, on either side of zero."""


@dataclass(frozen=True, kw_only=True)
class Shading:
    """Maps attributions to colours, linearly or compressed so that a hundredth of the strongest is still visible.

    Attributes:
        end: largest absolute attribution, where the colours end; above 0.
    """

    end: float
    compressed: bool

    @classmethod
    def of(cls, values: NDArray[np.floating], *, compressed: bool) -> Shading:
        """Shading that ends at the largest absolute value; NaN is ignored."""
        return cls(end=float(np.nanmax(np.abs(values))) or 1.0, compressed=compressed)

    def colour(self, values: NDArray[np.floating]) -> NDArray[np.float32]:
        """Values -> -1..1, odd and rising: v / end, or sign(v) log(1 + 10^D |v| / end) / log(1 + 10^D)."""
        share = np.asarray(values, dtype=np.float64) / self.end
        if self.compressed:
            share = np.sign(share) * np.log1p(10**DECADES * np.abs(share)) / np.log1p(10**DECADES)
        return share.astype(np.float32)

    def bar(self, title: str, write: Write) -> dict[str, Any]:
        """A colour bar whose ticks are attributions, in plotly's form."""
        ticks = np.array((-1, -0.1, 0, 0.1, 1) if self.compressed else (-1, -0.5, 0, 0.5, 1)) * self.end
        return {
            "orientation": "h",
            "len": 0.92,
            "y": 1.0,
            "yanchor": "bottom",
            "thickness": 8,
            "outlinewidth": 0,
            "ticks": "",
            "title": {"text": title, "side": "top"},
            "tickvals": self.colour(ticks),
            "ticktext": [("+" if tick > 0 else "") + write(float(tick)) if tick else "0" for tick in ticks],
        }


def inputs_figure(
    values: NDArray[np.floating],
    seconds: FloatArray,
    *,
    names: Sequence[str] = FEATURES,
    compressed: bool = True,
    write: Write = three_digits,
) -> go.Figure:
    """All attributions by time and input, with each input's sum over time beside them.

    Sizes stand on top, then prices, then the inputs that are not of the book.

    Args:
        values: (steps, inputs), the book's 40 columns first. names: of all inputs (`core.market.features.input_names`).
    """
    blocks = [SIZES, PRICES, *([np.arange(len(FEATURES), len(names))] if len(names) > len(FEATURES) else [])]
    figure = make_subplots(
        rows=len(blocks),
        row_heights=[len(block) for block in blocks],
        cols=2,
        shared_xaxes="columns",
        shared_yaxes="rows",
        column_widths=[0.78, 0.22],
        horizontal_spacing=0.02,
        vertical_spacing=0.03,
    )
    shading = Shading.of(values, compressed=compressed)
    sums = values.sum(axis=0)
    hover = _("{input} at {time} s: {value}").format(input="%{y}", time="%{x:.2f}", value="%{customdata:+.3~g}")
    for row, columns in enumerate(blocks, 1):
        shown = [names[column] for column in columns]
        cells = np.asarray(values[:, columns].T, dtype=np.float32)
        figure.add_heatmap(
            z=shading.colour(cells),
            customdata=cells,
            x=seconds,
            y=shown,
            coloraxis="coloraxis",
            hovertemplate=hover + "<extra></extra>",
            row=row,
            col=1,
        )
        total = sums[columns]
        figure.add_bar(
            x=total,
            y=shown,
            orientation="h",
            marker={"color": np.where(total >= 0, BLUE, ORANGE)},
            hovertemplate="%{y}: %{x:+.3~g}<extra></extra>",
            row=row,
            col=2,
        )
    figure.update_layout(base_layout(keep="inputs", legend=False))
    figure.update_layout(
        bargap=0.15,
        coloraxis={"colorscale": DIVERGING, "cmin": -1, "cmax": 1, "colorbar": shading.bar(_("Attribution"), write)},
    )
    figure.update_yaxes(autorange="reversed", tickfont={"size": 10}, dtick=1, ticklen=2, showgrid=False)
    figure.update_yaxes(ticks="", col=2)
    figure.update_xaxes(showgrid=False, col=1)
    figure.update_xaxes(title=_("Seconds before now"), row=len(blocks), col=1)
    figure.update_xaxes(title=_("Sum"), nticks=3, tickangle=0, row=len(blocks), col=2)
    return figure


def moments_figure(values: NDArray[np.floating], seconds: FloatArray) -> go.Figure:
    """Each moment's attribution, summed over its inputs, and the running sum, which ends at the total."""
    sums = values.sum(axis=1, dtype=np.float64)
    marker = {"color": np.where(sums >= 0, BLUE, ORANGE), "line": {"width": 0}}
    traces = [
        bars(seconds, sums, _("Contribution of this moment"), hover="%{x:.2f} s: %{y:+.3~g}<extra></extra>", showlegend=False,
             marker=marker),
        line(seconds, np.cumsum(sums), _("Sum so far"), hover="%{y:+.3f}<extra></extra>",
             line={"shape": "hv", "width": 1.5, "color": VIOLET}),
    ]  # fmt: skip
    return chart(traces, x_title=_("Seconds before now"), y_title=_("Attribution"), keep="moments", bargap=0.05)


def spread_over_prices(
    values: NDArray[np.floating], levels: FloatArray, at_prices: Sequence[int] = BOOK_PRICES
) -> tuple[FloatArray, FloatArray, float]:
    """Sum the attributions of price and size of every level at the price where the level stood.

    Args:
        values: (steps, inputs). levels: (steps, 40), the book itself.
        at_prices: for each input the column with its price, or `MID` (`core.market.features.price_columns`).

    Returns:
        Prices of the bins (p,), rising; sums (p, steps), NaN where no level stood, which add up to the sum of `values`; and the
        height of a bin in quote currency.
    """
    prices = np.concatenate([levels[:, ASK_PRICES], levels[:, BID_PRICES]], axis=1)
    mid = (levels[:, :1] + levels[:, 2:3]) / 2
    places = np.concatenate([levels, mid], axis=1)[:, list(at_prices)]  # MID is the last column
    low, high = float(prices.min()), float(prices.max())
    gaps = np.diff(np.sort(prices, axis=1), axis=1)
    step = max(float(gaps.min()), (high - low) / (MAX_PRICE_BINS - 1), 1e-12)
    bins = np.round((places - low) / step).astype(np.int64)
    count = int(bins.max()) + 1
    at = (bins, np.broadcast_to(np.arange(len(levels))[:, None], bins.shape))
    sums, stood = np.zeros((count, len(levels))), np.zeros((count, len(levels)), dtype=bool)
    np.add.at(sums, at, values)
    stood[at] = True
    return np.asarray(low + step * np.arange(count)), np.where(stood, sums, np.nan), step


def book_figure(
    values: NDArray[np.floating],
    levels: FloatArray,
    seconds: FloatArray,
    *,
    at_prices: Sequence[int] = BOOK_PRICES,
    compressed: bool = True,
    keep: str = "book",
    write: Write = three_digits,
) -> go.Figure:
    """The attributions on the book: each level, at the price where it stood, coloured by what it added."""
    prices, sums, step = spread_over_prices(values, levels, at_prices)
    shading = Shading.of(sums, compressed=compressed)
    hover = _("{price} at {time} s: {value}").format(price="%{y}", time="%{x:.2f}", value="%{customdata:+.3~g}")
    traces = [
        heat(shading.colour(sums), DIVERGING, -1, 1, bar=shading.bar(_("Attribution"), write), hover=hover + "<extra></extra>",
             customdata=sums.astype(np.float32), x=seconds, y=prices, hoverongaps=False),
        *(line(seconds, best, name, hover="", line={"color": colour, "width": 1.5, "shape": "hv"})
          for name, best, colour in ((_("Best ask"), levels[:, 0], ASK), (_("Best bid"), levels[:, 2], BID))),
    ]  # fmt: skip
    return chart(traces, x_title=_("Seconds before now"), y_title=_("Price (quote currency)"), keep=keep,
                 legend={"y": 1.17},  # over the colour bar
                 meta={"bin": step})  # fmt: skip
