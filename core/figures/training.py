"""The figure of a training run."""

import plotly.graph_objects as go

from core.figures.style import BLUE, GREY, ORANGE
from core.figures.traces import line, series_chart, upright
from core.messages import translate as _
from core.runs.history import Run


def accuracy_figure(run: Run, report: Run) -> go.Figure:
    """Accuracy of a run by epoch on training and on held-out images, and the report's beside it."""
    names = (
        (run, BLUE, _("Training images"), _("Validation images")),
        (report, ORANGE, _("Report: training"), _("Report: test")),
    )
    drawn = []
    for source, colour, *series in names:
        for column, name, dash in zip(("train_accuracy", "held_out_accuracy"), series, ("dot", "solid"), strict=True):
            known = source.epochs.dropna(subset=[column])
            if len(known):
                mode = "lines+markers" if len(known) < 3 else "lines"
                x, y = known["epoch"].to_numpy(), known[column].to_numpy()
                drawn.append(line(x, y, name, colour, dash=dash, width=2, hover="%{y:.2%}", mode=mode))
    stages = [upright(first - 0.5, GREY, 1, dash="dash") for first in run.stages]
    return series_chart(drawn, _("Epoch"), _("Accuracy"), y={"tickformat": ".0%"}, keep="accuracy", shapes=stages)
