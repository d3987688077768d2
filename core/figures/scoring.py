"""The figure of scored recordings, log-loss through time; and the words beside it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.figures.style import GREY, SERIES
from core.figures.traces import across, chart, line, upright
from core.market.answers.naive import A_THIRD_EACH, worse_recordings
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


def forecaster_names() -> dict[str, str]:
    """Names of the naive rules for a person, by code."""
    return {
        "momentum": _("Momentum rule"),
        "stationary": _("Always stationary"),
        "uniform": _("A third each"),
        "frequencies": _("Frequencies so far"),
        "decayed": _("Frequencies lately"),
    }


def group_names() -> dict[str, str]:
    """Titles of the kinds of groups, by code."""
    return {
        "recording": _("By recording"),
        "day": _("By day"),
        "hour": _("By hour of the day (UTC)"),
        "volatility": _("By volatility"),
        "spread": _("By spread"),
    }


def regime_names() -> dict[str, str]:
    """Names of the levels of volatility and spread, by code."""
    return {
        "low": _("low"),
        "middle": _("middle"),
        "high": _("high"),
    }


def worse_than_nothing(answer: Mapping[str, Any], limit: str) -> list[str]:
    """Sentences where the checkpoint's log-loss is above that of a third each: in the mean, and on which of several recordings.

    Args:
        answer: as `python -m core evaluate tlob --data FOLDER --json` prints it.
        limit: the log-loss of a third each, as the reader writes it.
    """
    name, several = answer["checkpoint"], len(answer["recordings"]) > 1
    sentences = []
    if answer["log_loss"] is not None and answer["log_loss"] > A_THIRD_EACH:
        text = _("The log loss of {name} is above {limit}: saying a third each would have been better.")
        sentences.append(text.format(name=name, limit=limit))
    if several and (worse := worse_recordings(answer)):
        text = _("By recording the log loss of {name} is above {limit}, that of a third each, on {count} of {all}: {names}.")
        counts = {"count": len(worse), "all": len(answer["recordings"])}
        sentences.append(text.format(name=name, limit=limit, names=", ".join(worse), **counts))
    return sentences


def losses_figure(table: pd.DataFrame, *, names: Mapping[str, str]) -> go.Figure:
    """The running sum of log-loss less that of the frequencies so far, row by row: falling is better than they."""
    when = pd.to_datetime(table["timestamp"], unit="ms", utc=True).dt.strftime("%Y-%m-%d %H:%M:%S")
    forecasters = [name for name in table.columns if name not in ("row", "recording", "timestamp")]
    traces = [
        line(table["row"], table[name], names.get(name, name), colour, hover="%{y:.1f} (%{customdata})", customdata=when)
        for name, colour in zip(forecasters, cycle(SERIES), strict=False)
    ]
    starts = table["row"][table["recording"].ne(table["recording"].shift())][1:]
    shapes = [*(upright(row, GREY, 1, dash="dash") for row in starts), across(0, GREY, dash="dot")]
    return chart(
        traces,
        x_title=_("Rows scored"),
        y_title=_("Beyond the frequencies (nats)"),
        hover="x unified",
        keep="losses",
        shapes=shapes,
    )
