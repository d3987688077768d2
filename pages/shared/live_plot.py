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
from typing import Any, Final, cast

import plotly.graph_objects as go
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.figures import wire
from core.figures.play import Play
from pages.shared import assets
from pages.shared.language import _, regional

SAMPLE_EVERY_S: Final = 5.0
"""Seconds between reports of a plot that measures its latency; each report costs one run of its fragment."""

PLAYER_PX: Final = 66
"""Height of the bar under a figure that plays by itself."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of a plot that was clicked or hovered over.

    Attributes:
        x, y, z: its coordinates, None where it has none.
        trace: name of its trace. curve: number of its trace.
        index: of the point in its trace; (row, column) in a heatmap.
        customdata: the figure's data of this point.
    """

    x: float | str | None
    y: float | str | None
    z: float | str | None
    trace: str
    curve: int
    index: tuple[int, ...]
    customdata: Any


@dataclass(frozen=True, kw_only=True)
class DrawSample:
    """A browser's latency of a plot over its last draws: milliseconds from the event's time to the drawn frame.

    Both ends use their own clocks, so that the numbers are right only where both run on one machine.
    """

    updates: int
    draws: int
    draw_ms: float
    median_ms: float
    p95_ms: float


def live_plot(
    figure: go.Figure | Mapping[str, Any],
    *,
    key: str,
    height: int,
    alt: str,
    on_click: Callable[[Point], None] | None = None,
    on_hover: Callable[[Point], None] | None = None,
    latency_from_ms: float | None = None,
    filename: str | None = None,
    play: Play | None = None,
    proportion: float | None = None,
) -> DrawSample | None:
    """Draw a figure, or update the one drawn under this key.

    Args:
        figure: a figure, or its dictionary (`data`, `layout`), arrays as arrays.
        key: unique in the page and the same at every call.
        height: pixels.
        alt: one sentence on what the plot shows, for screen readers.
        on_click: called with the point, before the fragment (or page) runs again.
        on_hover: the same for a point under the pointer.
        latency_from_ms: Unix time of the event this frame shows; where given, the plot measures event to drawn.
        filename: of downloads, without suffix; the key where None.
        proportion: width over height of a drawing that keeps its shape; where the page is narrow, it is less high then.
        play: makes it a figure that plays by itself, with a bar of controls under it.

    Returns:
        The latest latency sample of this reader's browser, None before the first (which takes a few seconds).
    """
    callbacks = {"click": on_click, "hover": on_hover}
    wanted: dict[str, Any] = {f"on_{name}_change": _deliver(key, name, call) for name, call in callbacks.items() if call}
    chrome = {
        "alt": alt,
        "height": height,
        "proportion": proportion,
        "filename": filename or key,
        "language": regional(),
        "labels": _labels(),
        "events": [name for name, call in callbacks.items() if call],
        "plotly": assets.PLOTLY,
        "sampleEveryS": SAMPLE_EVERY_S if latency_from_ms is not None else 0,
    }
    extra: dict[str, Any] = {"chrome": chrome}
    if latency_from_ms is not None:
        extra["sentAt"] = latency_from_ms
    if play is not None:
        extra["play"] = {**play.message(), "script": assets.script("player.js"), "words": _player_words()}
    memory = f"{key}:sent"
    message, st.session_state[memory] = wire.frame(wire.split(figure), _already_sent(memory), extra)
    result = _component()(
        key=key,
        data=message,
        height=height + (PLAYER_PX if play else 0),  # the place it takes until the browser has the script
        on_resend_change=lambda: st.session_state.pop(memory, None),
        on_sample_change=lambda: None,
        **wanted,
    )
    sample = result.get("sample")
    return DrawSample(**sample) if sample else None


def static_plot(
    figure: go.Figure | Mapping[str, Any],
    *,
    key: str,
    alt: str,
    filename: str | None = None,
    height: int | None = None,
    play: Play | None = None,
) -> None:
    """Draw a figure that changes only with the page's choices, with the same look and downloads as a live one.

    Args:
        height: pixels; the figure's own, else 360, where None.
    """
    given = figure.layout.height if isinstance(figure, go.Figure) else figure.get("layout", {}).get("height")
    live_plot(figure, key=key, height=height or int(given or 360), alt=alt, filename=filename, play=play)


@cache
def _component() -> Callable[..., Any]:
    """The component, registered once per process. The browser fetches the script by its address and caches it."""
    script = f"""
export default async function (component) {{
  try {{
    const {{ receive }} = await import(new URL("{assets.script("live_plot.js")}", location.origin).href);
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
    context = get_script_run_ctx()
    if context is None or not context.fragment_ids_this_run:
        return {}
    return cast("dict[str, int]", st.session_state.get(memory, {}))


def _deliver(key: str, name: str, call: Callable[[Point], None]) -> Callable[[], None]:
    def deliver() -> None:
        event = st.session_state[key].get(name)
        if event:
            call(Point(**{**event, "index": tuple(event["index"])}))

    return deliver


def _player_words() -> dict[str, str]:
    return {
        "play": _("Play"),
        "pause": _("Pause"),
        "back": _("One step back"),
        "ahead": _("One step ahead"),
        "place": _("Place"),
        "speed": _("Speed"),
        "keys": _("Space plays and pauses; arrow keys step and change the speed."),
    }


def _labels() -> dict[str, Any]:
    return {
        "png": _("Download as PNG"),
        "svg": _("Download as SVG"),
        "html": _("Download as an interactive page"),
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
            "Orbital rotation": _("Orbit"),
            "Turntable rotation": _("Turn"),
            "Reset camera to default": _("Reset the camera"),
            "Reset camera to last save": _("Back to the last camera"),
            "Double-click to zoom back out": _("Double-click to zoom back out"),
        },
    }
