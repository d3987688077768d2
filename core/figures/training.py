"""Figures of training runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, GREY, ORANGE, SEQUENTIAL
from core.figures.traces import across, chart, heat, line, upright
from core.messages import translate as _
from core.runs.history import Run

Curve = Literal["accuracy", "loss", "gap", "rate"]


def curve_figure(curve: Curve, run: Run, report: Run) -> go.Figure:
    """One curve of a run by epoch, and the report's beside it where it gives one.

    Losses stand above their floor, so that 0 is a perfect answer under any smoothing; the gap is training less held-out accuracy.
    """
    accuracy, loss = ["train_accuracy", "held_out_accuracy"], ["train_loss", "held_out_loss"]
    held_out = [(_("Training images"), _("Report: training"), "dot"), (_("Validation images"), _("Report: test"), "solid")]
    gap = [(_("Training - validation"), _("Report: training - test"), "solid")]
    points = {"y_title": _("Gap (percentage points)"), "y": {"tickformat": ".1%"}, "shapes": [across(0, GREY, dash="dot")]}
    rate = {"y_title": _("Learning rate"), "y": {"exponentformat": "power", "rangemode": "tozero"}, "legend": False}
    kinds: dict[Curve, tuple[list[str], list[tuple[str, str, str]], str, dict[str, Any]]] = {
        "accuracy": (accuracy, held_out, ".2%", {"y_title": _("Accuracy"), "y": {"tickformat": ".0%"}}),
        "loss": (loss, held_out, ".4f", {"y_title": _("Loss above its floor (nats)"), "y": {"rangemode": "tozero"}}),
        "gap": (["gap"], gap, ".2%", points),
        "rate": (["rate"], [(_("Learning rate"), "", "solid")], ".2e", rate),
    }
    columns, names, hover, layout = kinds[curve]
    drawn: list[dict[str, Any]] = []
    for place, (source, colour) in enumerate(((run, BLUE), (report, ORANGE))):
        for column, series in zip(columns, names, strict=True):
            known = source.epochs.dropna(subset=[column])
            if len(known):
                drawn.append(
                    line(
                        known["epoch"].to_numpy(),
                        known[column].to_numpy(),
                        series[place],
                        colour,
                        dash=series[2],
                        width=2,
                        hover=f"%{{y:{hover}}}",
                        mode="lines+markers" if len(known) < 3 else "lines",
                    )
                )
    stages = [upright(first - 0.5, GREY, 1, dash="dash") for first in run.stages]
    shapes = [*stages, *layout.pop("shapes", [])]
    return chart(drawn, x_title=_("Epoch"), hover="x unified", keep=curve, shapes=shapes, **layout)


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
