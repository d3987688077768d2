"""Figures of two experiments: the leakage lab's scores by way of measuring, and accuracy by TLOB's number of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from core.figures.style import BLUE, GREEN, GREY, ORANGE, VIOLET
from core.figures.traces import bars, chart, line, marks
from core.lecture.leakage import LabScore
from core.lecture.pairs_experiment import CLAIMED, PairsExperiment
from core.messages import translate as _


def lab_figure(scores: Mapping[str, LabScore]) -> go.Figure:
    """Matthews correlation of each way of measuring, the first one honest, as bars; each seed, peer and momentum as marks."""
    names, each = list(scores), list(scores.values())
    traces: list[dict[str, Any]] = [
        bars([float(score.network.mean()) for score in each], names, _("network, mean"), [BLUE, *[ORANGE] * (len(names) - 1)],
             hover="%{y}: %{x:.3f}<extra></extra>", orientation="h", showlegend=False),
        marks([float(one) for score in each for one in score.network],
              [name for name, score in scores.items() for _seed in score.network], _("each seed"), GREY, size=6,
              hover="%{x:.3f}<extra></extra>"),
        marks([float(score.peer.mean()) for score in each], names, _("linear peer"), VIOLET, symbol="diamond", size=11,
              hover="%{x:.3f}<extra></extra>"),
        marks([score.momentum for score in each], names, _("momentum rule"), GREY, symbol="x", size=10,
              hover="%{x:.3f}<extra></extra>"),
    ]  # fmt: skip
    return chart(traces, x_title=_("Matthews correlation"), y_title="", keep="leakage", height=420,
                 y={"autorange": "reversed", "automargin": True})  # fmt: skip


def pairs_figure(pairs: PairsExperiment) -> go.Figure:
    """Test accuracy of every run, the mean by number of pairs, the training part's, the naive rule's, and the document's."""
    dots = [(run.pairs, run.test) for run in pairs.runs]
    traces: list[dict[str, Any]] = [
        line(list(CLAIMED), list(CLAIMED.values()), _("The document"), ORANGE, dash="dot", width=2, mode="lines+markers",
             marker={"symbol": "square", "size": 8}),
        line(pairs.pairs, pairs.mean("test"), _("Here, mean of the seeds"), BLUE, width=2),
        marks([x for x, _y in dots], [y for _x, y in dots], _("Here, each run"), BLUE, size=9),
        line(pairs.pairs, pairs.mean("train"), _("Here, on the training part"), GREEN, width=2, dash="dash"),
        line([0.5, 12.5], [pairs.baselines["momentum"]["accuracy"]] * 2, _("Momentum rule"), GREY, width=2),
    ]  # fmt: skip
    for one in traces:
        one["hovertemplate"] = "%{y:.1%}"
    return chart(traces, x_title=_("Pairs of layers"), y_title=_("Accuracy"), keep="pairs", height=400,
                 x={"range": [0.5, 12.5], "dtick": 1}, y={"tickformat": ".0%"})  # fmt: skip
