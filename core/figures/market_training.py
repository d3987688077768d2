"""Figures of training on recordings: scores by epoch beside the momentum rule's, and score against amount of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.figures.draft import Draft
from core.figures.style import SERIES, base_layout
from core.messages import translate as _


def score_curve(history: Sequence[Mapping[str, float]], naive: Mapping[str, float]) -> go.Figure:
    """Validation scores by epoch, a colour per market and label; dotted, the momentum rule's on the same rows.

    Args:
        history: as a run's progress holds it. naive: by the same keys, "market/label".
    """
    figure = Draft()
    epochs = [int(row["epoch"]) + 1 for row in history]
    series = [key for key in history[-1] if "/" in key]
    for place, key in enumerate(series):
        colour = SERIES[place % len(SERIES)]
        market, kind = key.rsplit("/", 1)
        label = {"smoothed": _("smoothed, macro-F1"), "forward": _("forward, Matthews")}.get(kind, kind)
        figure.add_scatter(
            x=epochs,
            y=[row.get(key) for row in history],
            mode="lines+markers",
            line={"color": colour},
            name=f"{market}, {label}",
            hovertemplate="%{y:.3f}",
        )
        if key in naive:
            figure.add_hline(y=naive[key], line={"color": colour, "width": 1, "dash": "dot"})
    figure.update_layout(base_layout(x_title=_("Epoch"), y_title=_("Score"), hover="x unified", keep="market_training"))
    figure.update_xaxes(tickvals=epochs if len(epochs) < 12 else None)
    return figure.figure()


def amount_figure(curve: Mapping[str, Any]) -> go.Figure:
    """Log-loss against minutes of training data, as `core.market.data_amount.read_curve` returns it."""
    names = {
        "trained": _("Trained further from the shipped checkpoint"),
        "nothing": _("Trained from nothing"),
        "start": _("The shipped checkpoint as it is"),
        "frequencies": _("The classes' frequencies"),
    }
    figure = Draft()
    rows = curve["rows"]
    for colour, (key, name) in zip(SERIES, names.items(), strict=False):
        known = [row for row in rows if row.get(key) is not None]
        figure.add_scatter(
            x=[row["minutes"] for row in known],
            y=[row[key] for row in known],
            mode="lines+markers",
            line={"color": colour, "dash": "solid" if key in ("trained", "nothing") else "dot"},
            name=name,
            hovertemplate="%{y:.3f}",
        )
    figure.update_layout(
        base_layout(x_title=_("Minutes of training data"), y_title=_("Log loss"), hover="x unified", keep="amount")
    )
    figure.update_xaxes(type="log", tickvals=[row["minutes"] for row in rows])
    return figure.figure()
