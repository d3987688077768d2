"""Plots that keep zoom, hover and legend while their figures change.

`st.plotly_chart` is replaced whenever its data change. Here a component with a fixed key gets the figure, which
`assets/scripts/live_plot.js` draws with `Plotly.react`. While a figure's `uirevision` stays the same, the zoom stays too.
Backgrounds, text and grid colours are the theme's, which the browser fills in (`core.figures.style.base_layout` sets none). Each
plot can be downloaded as PNG and SVG.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from pages.shared import assets
from pages.shared.browser_component import browser_component
from pages.shared.language import _, regional


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of a plot that was clicked.

    Attributes:
        x, y: its coordinates, None where it has none. trace: name of its trace.
    """

    x: float | str | None
    y: float | str | None
    trace: str


def live_plot(
    figure: go.Figure,
    *,
    key: str,
    alt: str,
    height: int | None = None,
    on_click: Callable[[Point], None] | None = None,
    filename: str | None = None,
) -> None:
    """Draw a figure, or update the one drawn under this key.

    Args:
        key: unique in the page and the same at every call.
        alt: one sentence on what the plot shows, for screen readers.
        height: pixels; the figure's own, else 360, where None.
        on_click: called with the point, before the fragment (or page) runs again.
        filename: of downloads, without suffix; the key where None.
    """

    def deliver() -> None:
        if on_click is not None and (event := st.session_state[key].get("click")):
            on_click(Point(**event))

    wanted = {} if on_click is None else {"on_click_change": deliver}
    height = height or int(figure.layout.height or 360)
    chrome = {
        "alt": alt,
        "height": height,
        "filename": filename or key,
        "language": regional(),
        "labels": _labels(),
        "clicks": on_click is not None,
        "plotly": assets.PLOTLY,
    }
    message = {"figure": figure.to_json(validate=False, remove_uids=False), "chrome": chrome}
    browser_component("live_plot")(key=key, data=message, height=height, **wanted)  # its height before the script is there


def _labels() -> dict[str, Any]:
    return {
        "png": _("Download as {format}").format(format="PNG"),
        "svg": _("Download as {format}").format(format="SVG"),
        "values": {
            "cells": _("{rows} by {columns} cells from {min} to {max}, the largest at {row}, {column}."),
            "points": _("{count} points, from {first} to {last}, lowest {min}, highest {max}."),
        },
        "missing": _("The plot could not be loaded: reload the page."),
        "modebar": {
            "Zoom": _("Zoom"),
            "Pan": _("Pan"),
            "Zoom in": _("Zoom in"),
            "Zoom out": _("Zoom out"),
            "Autoscale": _("Fit to the data"),
            "Reset axes": _("Reset the axes"),
            "Reset": _("Reset"),
            "Double-click to zoom back out": _("Double-click to zoom back out"),
        },
    }
