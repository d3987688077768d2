"""Figure of the leakage lab: the score of each way of measuring, beside its peer's and the momentum rule's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from core.figures.style import BLUE, GREY, ORANGE, VIOLET, base_layout, figure_of
from core.lecture.leakage import LabScore
from core.messages import translate as _


def lab_figure(measured: Sequence[tuple[str, LabScore]]) -> go.Figure:
    """Matthews correlation of each way of measuring, the first one honest, as bars; each seed, peer and momentum as marks."""
    names = [name for name, _score in measured]
    scores = [score for _name, score in measured]
    traces: list[dict[str, Any]] = [
        {"type": "bar", "orientation": "h", "y": names, "x": [float(score.network.mean()) for score in scores],
         "marker": {"color": [BLUE, *[ORANGE] * (len(names) - 1)]}, "name": _("network, mean"), "showlegend": False,
         "hovertemplate": "%{y}: %{x:.3f}<extra></extra>"},
        {"type": "scatter", "mode": "markers", "name": _("each seed"),
         "y": [name for name, score in measured for _seed in score.network],
         "x": [float(one) for score in scores for one in score.network],
         "marker": {"color": GREY, "size": 6}, "hovertemplate": "%{x:.3f}<extra></extra>"},
        {"type": "scatter", "mode": "markers", "name": _("linear peer"), "y": names,
         "x": [float(score.peer.mean()) for score in scores],
         "marker": {"symbol": "diamond", "size": 11, "color": VIOLET}, "hovertemplate": "%{x:.3f}<extra></extra>"},
        {"type": "scatter", "mode": "markers", "name": _("momentum rule"), "y": names,
         "x": [score.momentum for score in scores],
         "marker": {"symbol": "x", "size": 10, "color": GREY}, "hovertemplate": "%{x:.3f}<extra></extra>"},
    ]  # fmt: skip
    layout = base_layout(x_title=_("Matthews correlation"), y_title="", keep="leakage", height=420)
    layout["yaxis"] |= {"autorange": "reversed", "automargin": True}
    return figure_of(traces, layout)
