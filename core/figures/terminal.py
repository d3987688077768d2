"""The figure of the live page: three panes over one time axis, styled here and filled with arrays in the browser.

`assets/scripts/terminal.js` finds a trace by its `meta` and sets x and y; layout, colours and words come from here alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from plotly.io.json import to_json_plotly

from core.figures.draft import Draft
from core.figures.style import BLUE, GREEN, GREY, ORANGE, SERIES, VIOLET, base_layout
from core.messages import translate as _

RED: Final = "#C23B3B"
WRONG: Final = "#B3478A"
"""Wrong calls: told from right ones by hue and lightness, under every common colour blindness too."""


@dataclass(frozen=True, kw_only=True)
class Palette:
    """Colours of the two directions, and of calls that came true or did not."""

    up: str
    down: str
    right: str
    wrong: str


PALETTES: Final = {
    "safe": Palette(up=BLUE, down=ORANGE, right=GREEN, wrong=WRONG),
    "greenred": Palette(up=GREEN, down=RED, right=BLUE, wrong=ORANGE),
}
"""`safe` is legible under every common colour blindness; `greenred` is what trading screens use."""

PANES: Final = ((0.40, 1.0), (0.19, 0.36), (0.0, 0.14))
"""Bottom and top of each pane, as shares of the figure: liquidity, signal, volume delta."""


def call_marks(palette: Palette) -> dict[str, dict[str, Any]]:
    """Marker style of a call by what is known of it."""
    line = {"width": 0.6, "color": "white"}
    return {
        "right": {"size": 8, "color": palette.right, "line": line},
        "wrong": {"size": 8, "color": palette.wrong, "line": line},
        "pending": {"size": 8, "color": GREY},
    }


def terminal_figure(
    heads: Sequence[tuple[int, str]], *, chosen: int, palette: Palette, keep: str, zone: str = "UTC"
) -> dict[str, Any]:
    """The figure without its arrays, as JSON values: `traces` and `layout`.

    Args:
        heads: (index, name of the horizon) of each line in the signal pane, nearest horizon first.
        chosen: the head drawn strongest.
        keep: plotly's `uirevision`: while it stays the same, legend choices stay.
        zone: name of the time zone, for the axis' title.
    """
    figure = Draft()
    figure.update_layout(base_layout(keep=keep, legend=True))
    step = {"shape": "hv", "width": 1.3}
    figure.add_scatter(meta="ask", name=_("Best ask"), mode="lines", line={**step, "color": palette.down}, x=[], y=[])
    figure.add_scatter(meta="bid", name=_("Best bid"), mode="lines", line={**step, "color": palette.up}, x=[], y=[])
    # Dots and marks come in hundreds: they are drawn on a canvas over the figure; here they stand in the legend.
    figure.add_scatter(
        meta="trades", name=_("Trades"), mode="markers", marker={"size": 9, "color": palette.up}, x=[None], y=[None]
    )
    names = {"right": _("Call came true"), "wrong": _("Call was wrong"), "pending": _("Call not yet known")}
    for kind, marker in call_marks(palette).items():
        figure.add_scatter(meta=f"calls-{kind}", name=names[kind], mode="markers", marker=marker, x=[None], y=[None])
    for position, (head, name) in enumerate(heads):
        strong = head == chosen
        figure.add_scatter(
            meta=f"signal-{head}",
            name=name,
            mode="lines",
            yaxis="y2",
            line={"color": VIOLET if strong else SERIES[-1 - position % 2], "width": 1.8 if strong else 0.8},
            opacity=1.0 if strong else 0.55,
            showlegend=False,
            x=[],
            y=[],
        )
    figure.add_bar(meta="delta", name=_("Bought less sold"), yaxis="y3", showlegend=False, x=[], y=[])
    # A margin that follows the labels would have plotly draw the whole figure anew whenever the view moves on.
    axis = {"side": "right", "automargin": False}
    titles = (
        _("Price and resting size (quote and base currency)"),
        _("P(up) - P(down)"),
        _("Volume delta: bought less sold"),
    )
    figure.update_layout(
        hovermode=False,
        margin={"l": 6, "r": 78, "t": 24, "b": 40},
        bargap=0,
        dragmode="pan",
        xaxis={
            "type": "date",
            "anchor": "y3",
            "automargin": False,
            "title": {"text": _("Time ({zone})").format(zone=zone), "font": {"size": 11}, "standoff": 2},
        },
        yaxis={"domain": PANES[0], **axis},
        yaxis2={
            "domain": PANES[1],
            "range": [-1, 1],
            "fixedrange": True,
            "zeroline": True,
            "nticks": 3,
            **axis,
        },
        yaxis3={
            "domain": PANES[2],
            "zeroline": True,
            "fixedrange": True,
            "nticks": 3,
            **axis,
        },
        annotations=[_pane_title(pane, text) for pane, text in zip(PANES, titles, strict=True)],
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"size": 11}},
    )
    whole = orjson.loads(to_json_plotly(figure.figure(), engine="orjson"))
    return {"traces": whole["data"], "layout": whole["layout"]}


def _pane_title(pane: tuple[float, float], text: str) -> dict[str, Any]:
    return {
        "text": text,
        "xref": "paper",
        "yref": "paper",
        "x": 0.003,
        "y": pane[1],
        "xanchor": "left",
        "yanchor": "top" if pane[1] == 1.0 else "bottom",
        "showarrow": False,
        "font": {"size": 11},
        "opacity": 0.8,
    }
