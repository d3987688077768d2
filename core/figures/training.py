"""Figures of a training run: arrays in, plotly figures out. Accuracies are shares of one, losses nats above their floor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.draft import Draft
from core.figures.style import BLUE, GREY, ORANGE, SEQUENTIAL, base_layout
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
    figure = _lines(lines, run, y_title=_("Accuracy"), keep="accuracy", hover=".2%")
    figure.update_yaxes(tickformat=".0%")
    return figure.figure()


def loss_figure(run: Run, report: Run | None = None) -> go.Figure:
    """Label-smoothed cross-entropy less the least it can be, so that 0 is a perfect answer under any smoothing."""
    lines: list[Series] = [
        (_("Training images"), run.epoch, run.train_loss, BLUE, "dot"),
        (_("Validation images"), run.epoch, run.held_out_loss, BLUE, "solid"),
    ]
    if report is not None:
        lines.append((_("Report: training"), report.epoch, report.train_loss, ORANGE, "dot"))
    figure = _lines(lines, run, y_title=_("Loss above its floor (nats)"), keep="loss", hover=".4f")
    figure.update_yaxes(rangemode="tozero")
    return figure.figure()


def rate_figure(run: Run) -> go.Figure:
    """Learning rate at the end of each epoch."""
    lines: list[Series] = [(_("Learning rate"), run.epoch, run.rate, BLUE, "solid")]
    figure = _lines(lines, run, y_title=_("Learning rate"), keep="rate", hover=".2e")
    figure.update_layout(showlegend=False)
    figure.update_yaxes(exponentformat="power", rangemode="tozero")
    return figure.figure()


def gap_figure(run: Run, report: Run | None = None) -> go.Figure:
    """Training less held-out accuracy, in percentage points: the generalisation gap."""
    lines: list[Series] = [(_("Training - validation"), run.epoch, 100 * run.gap, BLUE, "solid")]
    if report is not None:
        lines.append((_("Report: training - test"), report.epoch, 100 * report.gap, ORANGE, "solid"))
    figure = _lines(lines, run, y_title=_("Gap (percentage points)"), keep="gap", hover=".2f")
    figure.add_hline(y=0, line={"color": GREY, "width": 1, "dash": "dot"})
    return figure.figure()


def _lines(lines: Sequence[Series], run: Run, *, y_title: str, keep: str, hover: str) -> Draft:
    figure = Draft()
    for name, epochs, values, colour, dash in lines:
        known = np.isfinite(values)
        if not known.any():
            continue
        figure.add_scatter(
            x=epochs[known],
            y=values[known],
            mode="lines+markers" if known.sum() < 3 else "lines",
            name=name,
            line={"color": colour, "dash": dash, "width": 2},
            hovertemplate=f"%{{y:{hover}}}",
        )
    for first in run.stages:
        figure.add_vline(x=first - 0.5, line={"color": GREY, "width": 1, "dash": "dash"})
    figure.update_layout(base_layout(x_title=_("Epoch"), y_title=y_title, hover="x unified", keep=keep))
    return figure


def confusion_figure(confusion: NDArray[np.integer], names: Sequence[str]) -> go.Figure:
    """Counts (classes, classes), rows the truth and columns the answer; shaded by share of the row."""
    share = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    figure = Draft(
        {
            "type": "heatmap",
            "z": share,
            "x": list(names),
            "y": list(names),
            "text": [[f"{count:,}" if count else "" for count in row] for row in confusion],
            "texttemplate": "%{text}",
            "customdata": confusion,
            "zmin": 0,
            "zmax": 1,
            "colorscale": SEQUENTIAL,
            "colorbar": {"title": {"text": _("Share of the row"), "side": "right"}, "tickformat": ".0%", "thickness": 10},
            "hovertemplate": "%{y} -> %{x}: %{customdata:,} (%{z:.1%})<extra></extra>",
        }
    )
    figure.update_layout(base_layout(x_title=_("The model's answer"), y_title=_("Truth"), keep="confusion", legend=False))
    figure.update_xaxes(type="category", tickangle=-40)
    figure.update_yaxes(type="category", autorange="reversed")
    return figure.figure()
