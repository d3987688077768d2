"""Figures of scored recordings: scores by group, calibration, and log-loss through time."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from core.figures.draft import Draft
from core.figures.style import GREY, SERIES, base_layout
from core.messages import translate as _


def measure_names() -> dict[str, str]:
    """Names of the measures for a person, by code."""
    return {
        "log_loss": _("Log loss"),
        "matthews": _("Matthews"),
        "macro_f1": _("Macro-F1"),
        "accuracy": _("Accuracy"),
        "ece": _("Calibration error"),
    }


def groups_figure(
    table: pd.DataFrame, *, by: str, measure: str, names: Mapping[str, str], labels: Mapping[str, str]
) -> go.Figure:
    """One measure by group, a series per forecaster.

    Args:
        table: as `core.market.answers.report.group_table`. by: which groups. measure: a key of `measure_names`.
        names: forecasters' names for a person, by code. labels: likewise of groups.
    """
    figure = Draft()
    here = table[table["by"] == by]
    order = list(dict.fromkeys(here["group"]))
    for colour, name in zip(_colours(here), dict.fromkeys(here["forecaster"]), strict=False):
        mine = here[here["forecaster"] == name].dropna(subset=[measure])
        if mine.empty:
            continue
        figure.add_scatter(
            x=[labels.get(str(group), str(group)) for group in mine["group"]],
            y=mine[measure],
            customdata=mine["samples"],
            mode="lines+markers" if by in ("hour", "day") else "markers",
            marker={"color": colour, "size": 9},
            line={"color": colour},
            name=names.get(str(name), str(name)),
            hovertemplate="%{y:.3f} (%{customdata:,})",
        )
    figure.update_layout(base_layout(y_title=measure_names()[measure], hover="x unified", keep=f"{by}/{measure}"))
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=[labels.get(str(one), str(one)) for one in order])
    return figure.figure()


def calibration_figure(table: pd.DataFrame, *, names: Mapping[str, str]) -> go.Figure:
    """Draws the rate at which the likeliest class came true by its probability, a series per forecaster (D26)."""
    figure = Draft()
    figure.add_scatter(x=[1 / 3, 1], y=[1 / 3, 1], mode="lines", line={"color": GREY, "dash": "dot"}, name=_("Perfect"))
    for colour, name in zip(_colours(table), dict.fromkeys(table["forecaster"]), strict=False):
        mine = table[table["forecaster"] == name]
        figure.add_scatter(
            x=mine["confidence"],
            y=mine["accuracy"],
            customdata=mine["count"],
            mode="lines+markers",
            line={"color": colour},
            name=names.get(str(name), str(name)),
            hovertemplate="%{x:.0%}: %{y:.0%} (%{customdata:,})",
        )
    figure.update_layout(base_layout(x_title=_("Probability given"), y_title=_("Came true"), keep="calibration"))
    figure.update_xaxes(tickformat=".0%")
    figure.update_yaxes(tickformat=".0%")
    return figure.figure()


def losses_figure(table: pd.DataFrame, *, names: Mapping[str, str]) -> go.Figure:
    """The running sum of log-loss less that of the frequencies so far, row by row: falling is better than they."""
    figure = Draft()
    when = pd.to_datetime(table["timestamp"], unit="ms", utc=True).dt.strftime("%Y-%m-%d %H:%M:%S")
    forecasters = [name for name in table.columns if name not in ("row", "recording", "timestamp")]
    for colour, name in zip(SERIES, forecasters, strict=False):
        figure.add_scatter(
            x=table["row"],
            y=table[name],
            customdata=when,
            mode="lines",
            line={"color": colour},
            name=names.get(str(name), str(name)),
            hovertemplate="%{y:.1f} (%{customdata})",
        )
    for row in table["row"][table["recording"].ne(table["recording"].shift())][1:]:
        figure.add_vline(x=row, line={"color": GREY, "width": 1, "dash": "dash"})
    figure.add_hline(y=0, line={"color": GREY, "width": 1, "dash": "dot"})
    figure.update_layout(
        base_layout(x_title=_("Rows scored"), y_title=_("Beyond the frequencies (nats)"), hover="x unified", keep="losses")
    )
    return figure.figure()


def _colours(table: pd.DataFrame) -> list[str]:
    return [SERIES[i % len(SERIES)] for i in range(table["forecaster"].nunique())]
