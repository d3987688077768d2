"""Figures of training runs: accuracies are shares of one, losses nats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, GREY, ORANGE, SEQUENTIAL
from core.figures.traces import Trace, across, chart, heat, line, upright
from core.messages import translate as _
from core.runs.history import Run

Series = tuple[str, NDArray[np.int64], NDArray[np.float64], str, str]
"""Name, epochs, values, colour, dash."""


def accuracy_figure(run: Run, report: Run | None = None) -> go.Figure:
    """Training and held-out accuracy by epoch, beside the report's."""
    lines: list[Series] = [
        (_("Training images"), run.epoch, run.train_accuracy, BLUE, "dot"),
        (_("Validation images"), run.epoch, run.held_out_accuracy, BLUE, "solid"),
    ]
    if report is not None:
        lines += [
            (_("Report: training"), report.epoch, report.train_accuracy, ORANGE, "dot"),
            (_("Report: test"), report.epoch, report.held_out_accuracy, ORANGE, "solid"),
        ]
    return _lines(lines, run, y_title=_("Accuracy"), keep="accuracy", hover=".2%", y={"tickformat": ".0%"})


def loss_figure(run: Run, report: Run | None = None) -> go.Figure:
    """Label-smoothed cross-entropy less the least it can be, so that 0 is a perfect answer under any smoothing."""
    lines: list[Series] = [
        (_("Training images"), run.epoch, run.train_loss, BLUE, "dot"),
        (_("Validation images"), run.epoch, run.held_out_loss, BLUE, "solid"),
    ]
    if report is not None:
        lines.append((_("Report: training"), report.epoch, report.train_loss, ORANGE, "dot"))
    return _lines(lines, run, y_title=_("Loss above its floor (nats)"), keep="loss", hover=".4f", y={"rangemode": "tozero"})


def rate_figure(run: Run) -> go.Figure:
    """Learning rate at the end of each epoch."""
    lines: list[Series] = [(_("Learning rate"), run.epoch, run.rate, BLUE, "solid")]
    y = {"exponentformat": "power", "rangemode": "tozero"}
    return _lines(lines, run, y_title=_("Learning rate"), keep="rate", hover=".2e", y=y, legend=False)


def gap_figure(run: Run, report: Run | None = None) -> go.Figure:
    """Training less held-out accuracy, in percentage points: the generalisation gap."""
    lines: list[Series] = [(_("Training - validation"), run.epoch, 100 * run.gap, BLUE, "solid")]
    if report is not None:
        lines.append((_("Report: training - test"), report.epoch, 100 * report.gap, ORANGE, "solid"))
    zero = across(0, GREY, dash="dot")
    return _lines(lines, run, zero, y_title=_("Gap (percentage points)"), keep="gap", hover=".2f")


def _lines(lines: Sequence[Series], run: Run, *shapes: Trace, hover: str, **layout: Any) -> go.Figure:
    traces = [
        line(epochs[known], values[known], name, colour, dash=dash, width=2, hover=f"%{{y:{hover}}}",
             mode="lines+markers" if known.sum() < 3 else "lines")
        for name, epochs, values, colour, dash in lines
        for known in [np.isfinite(values)]
        if known.any()
    ]  # fmt: skip
    stages = [upright(first - 0.5, GREY, 1, dash="dash") for first in run.stages]
    return chart(traces, x_title=_("Epoch"), hover="x unified", shapes=[*stages, *shapes], **layout)


def confusion_figure(confusion: NDArray[np.integer], names: Sequence[str]) -> go.Figure:
    """Counts (classes, classes), rows the truth and columns the answer; shaded by share of the row."""
    confusion = np.asarray(confusion)
    share = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    cells = heat(
        share,
        SEQUENTIAL,
        0,
        1,
        x=list(names),
        y=list(names),
        customdata=confusion,
        texttemplate="%{text}",
        text=[[f"{count:,}" if count else "" for count in row] for row in confusion],
        bar={"title": {"text": _("Share of the row"), "side": "right"}, "tickformat": ".0%", "thickness": 10},
        hover="%{y} -> %{x}: %{customdata:,} (%{z:.1%})<extra></extra>",
    )
    return chart(
        [cells],
        x_title=_("The model's answer"),
        y_title=_("Truth"),
        keep="confusion",
        legend=False,
        x={"type": "category", "tickangle": -40},
        y={"type": "category", "autorange": "reversed"},
    )
