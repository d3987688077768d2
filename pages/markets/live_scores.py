"""The scoreboard: scores of TLOB and of the naive rules on this session's outcomes."""

from __future__ import annotations

from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from core import scores
from core.figures import market as figures
from core.market.scoreboard import ROLLING, HeadScores
from core.market.session import MarketSession
from pages.markets.live_controls import ViewChoices, horizon_name
from pages.shared import controls
from pages.shared.language import _, moment, number, percent
from pages.shared.live_plot import live_plot


def forecaster_names() -> dict[str, str]:
    """The model and the naive rules scored beside it, in the reader's language, by code."""
    return {"tlob": "TLOB", "momentum": _("Momentum rule"), "stationary": _("Always stationary")}


def show(session: MarketSession, choices: ViewChoices, zone: str = "UTC") -> None:
    """The chosen head's scores, its confusion matrix and its reliability; times in this zone."""
    st.subheader(_("Scoreboard, {horizon} ahead").format(horizon=horizon_name(choices.horizon)), anchor=False)
    found = session.scores(choices.head)
    if not found.resolved:
        controls.notice(
            "loading",
            _("No prediction can be scored yet: each is scored {horizon} after it was made.").format(
                horizon=horizon_name(choices.horizon)
            ),
        )
        return
    table, matrix, reliability = st.columns([9, 6, 7])
    with table:
        st.dataframe(_table(found), hide_index=True, width="stretch", height="content")
        st.caption(
            _(
                "{count} predictions scored since {time}. Momentum says where the mid "
                "stands against its own last ten steps; it knows nothing of the future. Predictions across a gap are not scored."
            ).format(count=number(found.resolved), time=moment(datetime.fromtimestamp(found.since_ms / 1e3, UTC), zone=zone))
        )
    with matrix:
        live_plot(
            figures.confusion_figure(found.session["tlob"]),
            key="confusion",
            height=280,
            filename="confusion",
            alt=_("What TLOB called against what happened, counts and share of the row."),
        )
    with reliability:
        live_plot(
            figures.reliability_figure({_("Likeliest class"): found.reliability, _("Class called"): found.call_reliability}),
            key="reliability",
            height=280,
            filename="reliability",
            alt=_("How often the likeliest class and the class called came true, by the probability they were given."),
        )
        st.caption(
            _("Expected calibration error (likeliest class, 15 bins) {error}; mean gap of the calls {gap}").format(
                error=percent(float(found.reliability["gap"][0])), gap=percent(float(found.call_reliability["gap"][0]))
            )
        )


def _table(found: HeadScores) -> pd.DataFrame:
    spans = {_("all"): found.session}
    if found.resolved > ROLLING:
        spans[_("last {count}").format(count=number(ROLLING))] = found.rolling
    rows = []
    for span, matrices in spans.items():
        for rule, name in forecaster_names().items():
            got = scores.summary(matrices[rule])
            rows.append(
                {
                    _("Rule"): name,
                    _("Over"): span,
                    _("Macro-F1"): number(got["macro_f1"], 3),
                    _("Matthews"): number(got["matthews"], 3),
                    _("Accuracy"): percent(got["accuracy"]),
                }
            )
    return pd.DataFrame(rows)
