"""Figure of the leakage lab: the score of each way of measuring, beside its peer's and the momentum rule's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from core.figures.style import BLUE, GREY, ORANGE, VIOLET
from core.figures.traces import bars, chart, marks
from core.lecture.leakage import LabScore
from core.messages import translate as _


def lab_figure(measured: Sequence[tuple[str, LabScore]]) -> go.Figure:
    """Matthews correlation of each way of measuring, the first one honest, as bars; each seed, peer and momentum as marks."""
    names = [name for name, _score in measured]
    scores = [score for _name, score in measured]
    traces: list[dict[str, Any]] = [
        bars([float(score.network.mean()) for score in scores], names, _("network, mean"), [BLUE, *[ORANGE] * (len(names) - 1)],
             hover="%{y}: %{x:.3f}<extra></extra>", orientation="h", showlegend=False),
        marks([float(one) for score in scores for one in score.network],
              [name for name, score in measured for _seed in score.network], _("each seed"), GREY, size=6,
              hover="%{x:.3f}<extra></extra>"),
        marks([float(score.peer.mean()) for score in scores], names, _("linear peer"), VIOLET, symbol="diamond", size=11,
              hover="%{x:.3f}<extra></extra>"),
        marks([score.momentum for score in scores], names, _("momentum rule"), GREY, symbol="x", size=10,
              hover="%{x:.3f}<extra></extra>"),
    ]  # fmt: skip
    return chart(traces, x_title=_("Matthews correlation"), y_title="", keep="leakage", height=420,
                 y={"autorange": "reversed", "automargin": True})  # fmt: skip
