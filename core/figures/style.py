"""What every figure looks like: colours, scales and a base layout that works on a light and on a dark page.

Backgrounds are transparent and no text or grid colour is set here: the page gives those to the browser's plot, so that
switching the theme needs no new figure. Series colours therefore stand at least 3:1 off both page backgrounds, and the three
classes are told apart under every common colour blindness (tests/core/figures/test_style.py).
"""

from __future__ import annotations

from typing import Any, Final, Literal

import plotly.graph_objects as go

BLUE: Final = "#2F7EC7"
ORANGE: Final = "#D5701F"
GREY: Final = "#858C96"
VIOLET: Final = "#6A5FD9"
BROWN: Final = "#97563B"
GREEN: Final = "#2A9A78"

SERIES: Final = (BLUE, ORANGE, GREEN, VIOLET, BROWN, GREY)
"""Colours of unordered series, in this order."""

COLOURS: Final = {"DOWN": ORANGE, "STATIONARY": GREY, "UP": BLUE}
"""One colour a class, in the class order of D3. The same two serve the sides of a book: asks as DOWN, bids as UP."""

ASK: Final = ORANGE
BID: Final = BLUE

Scale = list[tuple[float, str]]

SEQUENTIAL: Final[Scale] = [
    (0.0, "#00224E"), (0.125, "#123570"), (0.25, "#3B496C"), (0.375, "#575D6D"), (0.5, "#707173"),
    (0.625, "#8A8678"), (0.75, "#A59C74"), (0.875, "#C3B369"), (1.0, "#FEE838"),
]  # fmt: skip
"""Low to high, opaque: cividis (Nunez et al. 2018), the same to normal and to colour-blind eyes."""

SEQUENTIAL_CLEAR: Final[Scale] = [(0.0, "rgba(47,126,199,0)"), (0.25, "rgba(47,126,199,0.28)"), (1.0, "rgba(47,126,199,1)")]
"""Nothing to much, for a layer that the page shows through and lines are drawn over."""

DIVERGING: Final[Scale] = [(0.0, "rgba(213,112,31,1)"), (0.5, "rgba(133,140,150,0.08)"), (1.0, "rgba(47,126,199,1)")]
"""Negative, none, positive; set `zmid=0` with it."""

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
"""Shared by all figures; small, because a live figure carries it to the browser."""


def base_layout(
    *,
    x_title: str = "",
    y_title: str = "",
    height: int | None = None,
    hover: Literal["x unified", "closest", "x", "y"] | None = None,
    keep: str = "keep",
    legend: bool = True,
) -> dict[str, Any]:
    """Keyword arguments for `figure.update_layout`, which a figure then adds to or overrides.

    Args:
        x_title, y_title: axis titles, already in the reader's language.
        height: pixels; None leaves it to the page.
        hover: plotly's hovermode; "closest" where None.
        keep: plotly's `uirevision`. While it stays the same, zoom, hover and legend choices outlive new data; change it
            (to the symbol, say) where they should start afresh.
        legend: whether to show one.
    """
    layout: dict[str, Any] = {
        "template": TEMPLATE,
        "uirevision": keep,
        "hovermode": hover or "closest",
        "showlegend": legend,
        "xaxis": {"title": {"text": x_title}},
        "yaxis": {"title": {"text": y_title}},
    }
    if height is not None:
        layout["height"] = height
    return layout
