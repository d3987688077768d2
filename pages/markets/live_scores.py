"""The scoreboard: scores of TLOB and of the naive rules on this session's outcomes."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from core import scores
from core.figures import market as figures
from core.market.answers.naive import A_THIRD_EACH, NAIVE
from core.market.answers.one_answer import FEWEST
from core.market.answers.scoreboard import ROLLING, HeadScores
from core.market.answers.table import Scores
from core.market.session import MarketSession
from pages.markets.live_controls import ViewChoices, horizon_name
from pages.shared import controls
from pages.shared.language import _, moment, number, percent
from pages.shared.live_plot import live_plot


def rule_names() -> dict[str, str]:
    """The model and every naive rule scored beside it, in the reader's language, by code."""
    names = rival_names()
    return {"tlob": "TLOB"} | {rule: names[rule] for rule in NAIVE}


def rival_names() -> dict[str, str]:
    """Every rule that stands beside an answer, likewise (`core.market.answers.one_answer`)."""
    return {
        "momentum": _("Momentum rule"),
        "stationary": _("Always stationary"),
        "uniform": _("A third each"),
        "frequencies": _("Frequencies so far"),
        "decayed": _("Frequencies lately"),
        "vwap": _("Distance to the VWAP of a minute"),
    }


def draw_scores(session: MarketSession, choices: ViewChoices, zone: str = "UTC") -> None:
    """The chosen head's scores, beside those of every naive rule, and its reliability (D26); times in this zone."""
    st.header(_("Scoreboard, {horizon} ahead").format(horizon=horizon_name(choices.horizon)), anchor=False)
    head_scores = session.scores(choices.head)
    if head_scores.independent < FEWEST:
        controls.notice("loading", too_few(head_scores.independent))
        return
    mine = head_scores.session["tlob"]
    st.dataframe(_table(head_scores), hide_index=True, width="stretch", height="content")
    if mine.log_loss > A_THIRD_EACH:
        st.markdown(worse_than_nothing(mine.log_loss))
    st.caption(
        _(
            "{count} predictions scored since {time}. Momentum says where the mid stands against its own last ten steps; the "
            "distance to the VWAP, where it stands against the mean traded price of a minute. "
            "A third each, and how often each class came so far or lately (half of the weight on the last four minutes), "
            "know nothing of the book. Predictions across a gap, or from a book that stood still for two minutes, are not scored."
        ).format(
            count=number(head_scores.resolved),
            time=moment(datetime.fromtimestamp(head_scores.since_ms / 1e3, UTC), zone=zone),
        )
    )
    _reliability(mine)


def too_few(independent: int) -> str:
    """Says that there are not outcomes enough for a score (D39)."""
    return _("Scores begin with {least} outcomes that do not overlap; there are {count} so far.").format(
        least=number(FEWEST), count=number(independent)
    )


def _reliability(mine: Scores) -> None:
    live_plot(
        figures.reliability_figure({_("Likeliest class"): mine.reliability, _("Class called"): mine.call_reliability}),
        key="reliability",
        height=280,
        filename="reliability",
        alt=_("How often the likeliest class and the class called came true, by the probability they were given."),
    )
    st.caption(
        _("Expected calibration error (likeliest class, 15 bins) {error}; mean gap of the calls {gap}").format(
            error=percent(mine.ece), gap=percent(mine.call_gap)
        )
    )


def worse_than_nothing(log_loss: float) -> str:
    """Says what a log-loss above that of saying a third each means."""
    return _(":material/warning: TLOB's log loss of {loss} is above {limit}: saying a third each would have been better.").format(
        loss=number(log_loss, 3), limit=number(A_THIRD_EACH, 3)
    )


def _table(head_scores: HeadScores) -> pd.DataFrame:
    """A line per rule and span."""
    spans = {_("all"): head_scores.session}
    if head_scores.resolved > ROLLING:
        spans[_("last {count}").format(count=number(ROLLING))] = head_scores.rolling
    names = rival_names() | rule_names()
    return pd.DataFrame(
        _line(names[rule], span, one.confusion, one.log_loss) for span, rules in spans.items() for rule, one in rules.items()
    )


def _line(name: str, span: str, confusion: Any, log_loss: float) -> dict[str, str]:
    got = scores.summary(confusion)
    return {
        _("Rule"): name,
        _("Over"): span,
        _("Macro-F1"): number(got["macro_f1"], 3),
        _("Matthews"): number(got["matthews"], 3),
        _("Accuracy"): percent(got["accuracy"]),
        _("Log loss"): "" if math.isnan(log_loss) else number(log_loss, 3),
    }
