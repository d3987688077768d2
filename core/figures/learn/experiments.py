"""Accuracy by TLOB's number of pairs."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from core.figures.style import BLUE, GREEN, GREY, ORANGE
from core.figures.traces import chart, line, marks
from core.lecture.pairs_experiment import CLAIMED, PairsExperiment
from core.messages import translate as _


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
