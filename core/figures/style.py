"""Style of all figures: colours, colour scales and a base layout that works on light and dark pages.

Backgrounds are transparent, and text and grid colours are set by the browser, so that switching the theme needs no new figure.
Series colours therefore have a contrast of at least 3:1 with both page backgrounds, and the colours of the three classes differ
under every common colour blindness (tests/core/figures/test_style.py).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import plotly.graph_objects as go
from plotly.basedatatypes import BaseTraceType

from core.figures.colours import PALETTE, clear

BLUE: Final = PALETTE["blue"]
ORANGE: Final = PALETTE["orange"]
GREY: Final = PALETTE["grey"]
VIOLET: Final = PALETTE["violet"]
BROWN: Final = PALETTE["brown"]
GREEN: Final = PALETTE["green"]

SERIES: Final = (BLUE, ORANGE, GREEN, VIOLET, BROWN, GREY)
"""Colours of unordered series, in this order."""

COLOURS: Final = {"DOWN": ORANGE, "STATIONARY": GREY, "UP": BLUE}
"""One colour per class, in the order of D3. Asks have the colour of DOWN, bids that of UP."""

Scale = list[tuple[float, str]]

SEQUENTIAL: Final[Scale] = [
    (0.0, "#00224E"),
    (0.125, "#123570"),
    (0.25, "#3B496C"),
    (0.375, "#575D6D"),
    (0.5, "#707173"),
    (0.625, "#8A8678"),
    (0.75, "#A59C74"),
    (0.875, "#C3B369"),
    (1.0, "#FEE838"),
]
"""Low to high, opaque: cividis (Nunez et al. 2018), which looks alike to normal and colour-blind eyes."""

DIVERGING: Final[Scale] = [(0.0, clear("orange", 1)), (0.5, clear("grey", 0.08)), (1.0, clear("blue", 1))]
"""Negative, zero (nearly transparent), positive; use with `zmid=0`."""

TEMPLATE: Final = go.layout.Template(
    layout={
        "colorway": list(SERIES),
        "colorscale": {"sequential": SEQUENTIAL, "sequentialminus": SEQUENTIAL, "diverging": DIVERGING},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 28, "b": 8},
        "xaxis": {"automargin": True, "zeroline": False, "ticks": "outside", "ticklen": 4, "title": {"standoff": 6}},
        "yaxis": {"automargin": True, "zeroline": False, "ticks": "outside", "ticklen": 4, "title": {"standoff": 6}},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
        "hoverlabel": {"namelength": -1},
    }
)
"""Template of all figures; small, because every live figure sends it to the browser."""


CHECKED = False
"""True if plotly compares every property of a figure with its schema, which takes most of the time of building one."""


def figure_of(traces: Sequence[Mapping[str, Any] | BaseTraceType], layout: Mapping[str, Any]) -> go.Figure:
    """A figure of these traces and this layout, as they are: what plotly does not know fails in tests (see CHECKED).

    The template was compared with the schema when it was made.
    """
    if CHECKED:
        go.Figure({"data": traces, "layout": {name: value for name, value in layout.items() if value is not TEMPLATE}})
    return go.Figure({"data": traces, "layout": layout}, _validate=False)


def base_layout(
    *,
    x_title: str = "",
    y_title: str = "",
    height: int | None = None,
    keep: str = "keep",
    legend: bool = True,
) -> dict[str, Any]:
    """Keyword arguments for `figure.update_layout`, which a figure may extend or override.

    Args:
        x_title, y_title: axis titles, translated.
        height: pixels; None leaves it to the page.
        keep: plotly's `uirevision`: while it stays the same, zoom, hover and legend choices are kept when data change. A new
            value (such as another symbol) resets them.
        legend: whether to show one.
    """
    layout: dict[str, Any] = {
        "template": TEMPLATE,
        "uirevision": keep,
        "hovermode": "closest",
        "showlegend": legend,
        "xaxis": {"title": {"text": x_title}},
        "yaxis": {"title": {"text": y_title}},
    }
    if height is not None:
        layout["height"] = height
    return layout


Write = Callable[[float], str]
"""A number as a figure's text; these write English, a page passes what its reader's language has."""


def three_digits(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}"
