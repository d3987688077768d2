"""Plots that update in place and keep zoom, hover and legend; core/figures/wire.py encodes what is sent to the browser.

`st.plotly_chart` is replaced whenever its data change. Here a component with a fixed key receives frames, which
`assets/scripts/live_plot.js` draws with `Plotly.react`.

    @st.fragment(run_every=0.25)
    def tape() -> None:
        live_plot(price_figure(hub.view()), key="price", height=320, alt=_("Mid-price of the last minute"))

Only changed traces are sent, as base64 typed arrays. While a figure's `uirevision` stays the same, the zoom stays too.
Backgrounds, text and grid colours are the theme's, which the browser fills in (`core.figures.style.base_layout` sets none). Each
plot can be downloaded as PNG, SVG and HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import plotly.graph_objects as go
import streamlit as st

from core.figures import wire
from pages.shared import assets, streamlit_private
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
    figure: go.Figure | Mapping[str, Any],
    *,
    key: str,
    height: int,
    alt: str,
    on_click: Callable[[Point], None] | None = None,
    filename: str | None = None,
    proportion: float | None = None,
) -> None:
    """Draw a figure, or update the one drawn under this key.

    Args:
        figure: a figure, or its dictionary (`data`, `layout`), arrays as arrays.
        key: unique in the page and the same at every call.
        height: pixels.
        alt: one sentence on what the plot shows, for screen readers.
        on_click: called with the point, before the fragment (or page) runs again.
        filename: of downloads, without suffix; the key where None.
        proportion: width over height of a drawing that keeps its shape; where the page is narrow, it is less high then.
    """
    wanted = {"on_click_change": _deliver(key, on_click)} if on_click else {}
    chrome = {
        "alt": alt,
        "height": height,
        "proportion": proportion,
        "filename": filename or key,
        "language": regional(),
        "labels": _labels(),
        "clicks": on_click is not None,
        "plotly": assets.PLOTLY,
    }
    memory = f"{key}:sent"
    message, st.session_state[memory] = wire.frame(wire.split(figure), _already_sent(memory), {"chrome": chrome})
    _component()(
        key=key,
        data=message,
        height=height,  # the place it takes until the browser has the script
        on_resend_change=lambda: st.session_state.pop(memory, None),
        **wanted,
    )


def static_plot(
    figure: go.Figure | Mapping[str, Any],
    *,
    key: str,
    alt: str,
    height: int | None = None,
    **more: Any,
) -> None:
    """Draw a figure that changes only with the page's choices, with the same look and downloads as a live one.

    Args:
        height: pixels; the figure's own, else 360, where None. more: for `live_plot`.
    """
    given = figure.layout.height if isinstance(figure, go.Figure) else figure.get("layout", {}).get("height")
    live_plot(figure, key=key, height=height or int(given or 360), alt=alt, **more)


@cache
def _component() -> Callable[..., Any]:
    """The component, registered once per process. The browser fetches the script by its address and caches it."""
    script = f"""
export default async function (component) {{
  try {{
    const {{ receive }} = await {assets.imported("live_plot.js")};
    return receive(component);
  }} catch (error) {{
    const frame = JSON.parse(new TextDecoder().decode(component.data));
    component.parentElement.textContent = frame.chrome.labels.missing;
  }}
}}
"""
    return cast("Callable[..., Any]", st.components.v2.component("observatory_plot", js=script, isolate_styles=False))


def _already_sent(memory: str) -> dict[str, int]:
    """Digests of the traces that the browser has: in a run of the whole page none, as the browser may have a new plot then."""
    if not streamlit_private.of_a_fragment():
        return {}
    return cast("dict[str, int]", st.session_state.get(memory, {}))


def _deliver(key: str, call: Callable[[Point], None]) -> Callable[[], None]:
    def deliver() -> None:
        event = st.session_state[key].get("click")
        if event:
            call(Point(**event))

    return deliver


def _labels() -> dict[str, Any]:
    return {
        "png": _("Download as PNG"),
        "svg": _("Download as SVG"),
        "said": {
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
