"""Figures of faithfulness: deletion curves, and how far below chance each method's area is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from core.explain.faithfulness import RANDOM, Curves, FaithfulnessVerdict, Order
from core.figures.style import BLUE, BROWN, GREEN, GREY, ORANGE, VIOLET
from core.figures.traces import bars, chart, line, upright
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
            line(
                100 * curves.shares,
                np.asarray(curves.answers[method]["most" if by_chance else order], dtype=np.float64),
                name,
                COLOURS[method],
                width=2,
                dash="dot" if by_chance else "solid",
                hover="%{y:.1%}",
            )
        )
    title = _("Deleted (% of {parts})").format(parts=parts)
    return chart(
        traces,
        x_title=title,
        y_title=_("Probability left"),
        keep=keep,
        hover="x unified",
        x={"range": [0, 100]},
        y={"range": [0, 1.02], "tickformat": ".0%"},
    )


def verdicts_figure(verdicts: Mapping[str, FaithfulnessVerdict], names: Mapping[str, str]) -> go.Figure:
    """Draws each method's mean area below chance, with two standard errors; a method left of 0 is worse than chance."""
    shown = [method for method in names if method in verdicts]
    shown.sort(key=lambda method: verdicts[method].gain)
    gains, errors = [verdicts[one].gain for one in shown], [2 * verdicts[one].error for one in shown]
    error = {"type": "data", "array": errors, "color": GREY, "thickness": 1.5}
    bar = bars(
        gains,
        [names[one] for one in shown],
        colour=[COLOURS[one] for one in shown],
        orientation="h",
        error_x=error,
        hover="%{y}: %{x:+.3f}<extra></extra>",
    )
    return chart(
        [bar],
        x_title=_("Area below chance (probability)"),
        keep="verdicts",
        legend=False,
        bargap=0.35,
        margin={"t": 8},
        shapes=[upright(0, GREY, 1)],
    )
