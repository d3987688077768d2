"""The scoreboard: scores of TLOB's answers and of the naive rules on this session's outcomes."""

import math
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from core.market.answers.one_answer import ANSWER, FEWEST, Comparison
from core.market.labels import STATIONARY
from core.market.session import MarketSession
from pages.markets.live_controls import horizon_name
from pages.shared import controls
from pages.shared.language import _, moment, number, percent


def rival_names() -> dict[str, str]:
    """Every rule that stands beside an answer, in the reader's language, by code (`core.market.answers.one_answer`)."""
    return {
        "momentum": _("Momentum rule"),
        "stationary": _("Always stationary"),
        "frequencies": _("Frequencies so far"),
        "decayed": _("Frequencies lately"),
        "vwap": _("Distance to the VWAP of a minute"),
    }


def draw_scores(session: MarketSession, head: int, zone: str = "UTC") -> None:
    """A head's scores, beside those of every naive rule; times in this zone."""
    st.header(_("Scoreboard, {horizon} ahead").format(horizon=horizon_name(session.predictor.heads[head][1])), anchor=False)
    score = session.answer_score(head)
    if not score.enough:
        text = _("Scores begin with {least} outcomes that do not overlap; there are {count} so far.")  # D39
        controls.notice("loading", text.format(least=number(FEWEST), count=number(score.lead.outcomes)))
        return
    st.dataframe(_table(score), hide_index=True, width="stretch", height="content")
    st.caption(
        _(
            "{count} answers scored since {time}; none across a gap, while nobody watched, nor from a book that stood still for "
            "two minutes."
        ).format(
            count=number(score.outcomes),
            time=moment(datetime.fromtimestamp(score.lead.since_ms / 1e3, UTC), zone=zone),
        )
    )


def _table(score: Comparison) -> pd.DataFrame:
    """A line per rule; that of the VWAP where there were trades to call by."""
    names, lines = {ANSWER: "TLOB"} | rival_names(), []
    for rule, one in score.scores.items():
        if rule == "vwap" and one.confusion[:, STATIONARY].sum() == one.samples:
            continue
        got = one.summary()
        lines.append(
            {
                _("Rule"): names[rule],
                _("Macro-F1"): number(got["macro_f1"], 3),
                _("Matthews"): number(got["matthews"], 3),
                _("Accuracy"): percent(got["accuracy"]),
                _("Log loss"): "" if math.isnan(one.log_loss) else number(one.log_loss, 3),
            }
        )
    return pd.DataFrame(lines)
