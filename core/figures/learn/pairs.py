"""The figure of the experiment on TLOB's number of pairs."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from core.figures.style import BLUE, GREEN, GREY, ORANGE, base_layout, figure_of
from core.lecture.pairs_experiment import CLAIMED, PairsExperiment
from core.messages import translate as _


def pairs_figure(pairs: PairsExperiment) -> go.Figure:
    """Test accuracy of every run, the mean by number of pairs, the training part's, the naive rule's, and the document's."""
    dots = [(run.pairs, run.test) for run in pairs.runs]
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "lines+markers", "name": _("The document"), "x": list(CLAIMED), "y": list(CLAIMED.values()),
         "line": {"color": ORANGE, "dash": "dot", "width": 2}, "marker": {"symbol": "square", "size": 8}},
        {"type": "scatter", "mode": "lines", "name": _("Here, mean of the seeds"), "x": pairs.pairs, "y": pairs.mean("test"),
         "line": {"color": BLUE, "width": 2}},
        {"type": "scatter", "mode": "markers", "name": _("Here, each run"), "x": [x for x, _y in dots],
         "y": [y for _x, y in dots], "marker": {"color": BLUE, "size": 9}},
        {"type": "scatter", "mode": "lines", "name": _("Here, on the training part"), "x": pairs.pairs, "y": pairs.mean("train"),
         "line": {"color": GREEN, "width": 2, "dash": "dash"}},
        {"type": "scatter", "mode": "lines", "name": _("Momentum rule"), "x": [0.5, 12.5],
         "y": [pairs.baselines["momentum"]["accuracy"]] * 2, "line": {"color": GREY, "width": 2}},
    ]  # fmt: skip
    for one in traces:
        one["hovertemplate"] = "%{y:.1%}"
    layout = base_layout(x_title=_("Pairs of layers"), y_title=_("Accuracy"), keep="pairs", height=400)
    layout["xaxis"] |= {"range": [0.5, 12.5], "dtick": 1}
    layout["yaxis"] |= {"tickformat": ".0%"}
    return figure_of(traces, layout)
