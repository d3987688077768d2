"""Figures of training on recordings: scores by epoch beside the momentum rule's, and score against amount of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.figures.style import SERIES
from core.figures.traces import across, chart, line
from core.messages import translate as _


def score_curve(history: Sequence[Mapping[str, float]], naive: Mapping[str, float]) -> go.Figure:
    """Validation scores by epoch, a colour per market and label; dotted, the momentum rule's on the same rows.

    Args:
        history: as a run's progress holds it. naive: by the same keys, "market/label".
    """
    epochs, traces, naives = [int(row["epoch"]) + 1 for row in history], [], []
    for place, key in enumerate(key for key in history[-1] if "/" in key):
        colour = SERIES[place % len(SERIES)]
        market, kind = key.rsplit("/", 1)
        label = {"smoothed": _("smoothed, macro-F1"), "forward": _("forward, Matthews")}.get(kind, kind)
        values = [row.get(key) for row in history]
        traces.append(line(epochs, values, f"{market}, {label}", colour, hover="%{y:.3f}", mode="lines+markers"))
        if key in naive:
            naives.append(across(naive[key], colour, dash="dot"))
    return chart(traces, x_title=_("Epoch"), y_title=_("Score"), hover="x unified", keep="market_training", shapes=naives,
                 x={"tickvals": epochs if len(epochs) < 12 else None})  # fmt: skip


def amount_figure(curve: Mapping[str, Any]) -> go.Figure:
    """Log-loss against minutes of training data, as `core.runs.market_training.read_curve` returns it."""
    names = {
        "trained": _("Trained further from the shipped checkpoint"),
        "nothing": _("Trained from nothing"),
        "start": _("The shipped checkpoint as it is"),
        "frequencies": _("The classes' frequencies"),
    }
    traces, rows = [], curve["rows"]
    for colour, (key, name) in zip(SERIES, names.items(), strict=False):
        known = [row for row in rows if row.get(key) is not None]
        minutes, values = ([row[column] for row in known] for column in ("minutes", key))
        dash = "solid" if key in ("trained", "nothing") else "dot"
        traces.append(line(minutes, values, name, colour, dash=dash, hover="%{y:.3f}", mode="lines+markers"))
    return chart(traces, x_title=_("Minutes of training data"), y_title=_("Log loss"), hover="x unified", keep="amount",
                 x={"type": "log", "tickvals": [row["minutes"] for row in rows]})  # fmt: skip
