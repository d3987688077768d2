"""Figures of faithfulness: deletion curves, and how far below chance each method's area is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from core.explain.faithfulness import RANDOM, Curves, FaithfulnessVerdict, Order
from core.figures.draft import Draft
from core.figures.style import BLUE, BROWN, GREEN, GREY, ORANGE, VIOLET, base_layout, figure_of
from core.messages import translate as _

COLOURS: Final = {
    "attention": ORANGE,
    "rollout": VIOLET,
    "relevance": GREEN,
    "gradients": BLUE,
    "occlusion": BROWN,
    RANDOM: GREY,
}
"""Colour of each method, on every page."""


def curves_figure(curves: Curves, names: Mapping[str, str], *, order: Order, parts: str, keep: str = "curves") -> go.Figure:
    """The remaining probability against the share of parts deleted.

    Args:
        names: translated names of the methods; methods without one are not drawn.
        order: which parts are deleted first. parts: their translated name ("patches").
    """
    traces: list[dict[str, Any]] = []
    for method, name in names.items():
        if method not in curves.answers:
            continue
        by_chance = method == RANDOM
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": 100 * curves.shares,
                "y": np.asarray(curves.answers[method]["most" if by_chance else order], dtype=np.float64),
                "line": {"color": COLOURS[method], "width": 2, "dash": "dot" if by_chance else "solid"},
                "hovertemplate": "%{y:.1%}",
            }
        )
    title = _("Deleted (% of {parts})").format(parts=parts)
    layout = base_layout(x_title=title, y_title=_("Probability left"), keep=keep, hover="x unified")
    layout["xaxis"] |= {"range": [0, 100]}
    layout["yaxis"] |= {"range": [0, 1.02], "tickformat": ".0%"}
    return figure_of(traces, layout)


def verdicts_figure(
    verdicts: Mapping[str, FaithfulnessVerdict], names: Mapping[str, str], *, keep: str = "verdicts"
) -> go.Figure:
    """Draws each method's mean area below chance, with two standard errors; a method left of 0 is worse than chance."""
    shown = [method for method in names if method in verdicts]
    shown.sort(key=lambda method: verdicts[method].gain)
    figure = Draft()
    figure.add_bar(
        x=[verdicts[method].gain for method in shown],
        y=[names[method] for method in shown],
        orientation="h",
        marker={"color": [COLOURS[method] for method in shown]},
        error_x={"type": "data", "array": [2 * verdicts[method].error for method in shown], "color": GREY, "thickness": 1.5},
        hovertemplate="%{y}: %{x:+.3f}<extra></extra>",
    )
    figure.update_layout(base_layout(x_title=_("Area below chance (probability)"), keep=keep, legend=False))
    figure.update_layout(bargap=0.35, margin={"t": 8})
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    return figure.figure()
