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

from core.figures.style import BLUE, DIVERGING, ORANGE, Write, base_layout, three_digits
from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, FEATURES, FloatArray
from core.messages import translate as _

_FEATURE: Final = np.arange(len(FEATURES))
SIZES: Final = np.concatenate([_FEATURE[ASK_SIZES][::-1], _FEATURE[BID_SIZES]])
PRICES: Final = np.concatenate([_FEATURE[ASK_PRICES][::-1], _FEATURE[BID_PRICES]])
"""Columns in the order of a ladder: farthest ask on top, best prices in the middle, farthest bid below."""
DECADES = 2.0
"""Decades below the strongest attribution that colours span, on either side of zero."""


@dataclass(frozen=True, kw_only=True)
class Shading:
    """Maps attributions to colours, compressed so that a hundredth of the strongest is still visible.

    Attributes:
        end: largest absolute attribution, where the colours end; above 0.
    """

    end: float

    @classmethod
    def of(cls, values: NDArray[np.floating]) -> Shading:
        """Shading that ends at the largest absolute value; NaN is ignored."""
        return cls(end=float(np.nanmax(np.abs(values))) or 1.0)

    def colour(self, values: NDArray[np.floating]) -> NDArray[np.float32]:
        """Values -> -1..1, odd and rising: sign(v) log(1 + 10^D |v| / end) / log(1 + 10^D)."""
        share = np.asarray(values, dtype=np.float64) / self.end
        return (np.sign(share) * np.log1p(10**DECADES * np.abs(share)) / np.log1p(10**DECADES)).astype(np.float32)

    def bar(self, title: str, write: Write) -> dict[str, Any]:
        """A colour bar whose ticks are attributions, in plotly's form."""
        ticks = np.array((-1, -0.1, 0, 0.1, 1)) * self.end
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
    shading = Shading.of(values)
    for row, columns in enumerate(blocks, 1):
        _add_block(figure, row, [names[column] for column in columns], values[:, columns], seconds, shading)
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


def _add_block(
    figure: go.Figure, row: int, names: list[str], values: NDArray[np.floating], seconds: FloatArray, shading: Shading
) -> None:
    """A row of the figure: some inputs (steps, inputs) through time, and the sum of each beside them."""
    cells, total = np.asarray(values.T, dtype=np.float32), values.sum(axis=0)
    hover = _("{label} at {time} s: {value}").format(label="%{y}", time="%{x:.2f}", value="%{customdata:+.3~g}")
    figure.add_heatmap(
        z=shading.colour(cells),
        customdata=cells,
        x=seconds,
        y=names,
        coloraxis="coloraxis",
        hovertemplate=hover + "<extra></extra>",
        row=row,
        col=1,
    )
    figure.add_bar(
        x=total,
        y=names,
        orientation="h",
        marker={"color": np.where(total >= 0, BLUE, ORANGE)},
        hovertemplate="%{y}: %{x:+.3~g}<extra></extra>",
        row=row,
        col=2,
    )
