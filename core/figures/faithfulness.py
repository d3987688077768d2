"""Deletion curves as a figure."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from core.explain.faithfulness import RANDOM, Curves
from core.figures.style import BLUE, BROWN, GREEN, GREY, ORANGE, VIOLET
from core.figures.traces import line, series_chart
from core.messages import translate as _

COLOURS: Final = {
    "attention": ORANGE,
    "rollout": VIOLET,
    "relevance": GREEN,
    "gradients": BLUE,
    "occlusion": BROWN,
    "salience": BLUE,
    "class": BROWN,
    RANDOM: GREY,
}
"""Colour of each method, on every page."""


def curves_figure(curves: Curves, names: Mapping[str, str], *, parts: str, keep: str = "curves") -> go.Figure:
    """The rest of the answer, a probability or what stands out, against the share of parts deleted.

    Args:
        names: translated names of the methods; methods without one are not drawn.
        parts: their translated name ("patches").
    """
    traces: list[dict[str, Any]] = []
    for method, name in names.items():
        if method not in curves.answers:
            continue
        by_chance = method == RANDOM
        traces.append(
            line(
                100 * curves.shares,
                np.asarray(curves.answers[method], dtype=np.float64),
                name,
                COLOURS[method],
                width=2,
                dash="dot" if by_chance else "solid",
                hover="%{y:.1%}",
            )
        )
    title = _("Deleted (% of {parts})").format(parts=parts)
    y = {"range": [0, 1.02], "tickformat": ".0%"}
    return series_chart(traces, title, _("Answer left"), keep=keep, x={"range": [0, 100]}, y=y)
