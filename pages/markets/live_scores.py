"""Scores of a session's answers beside the naive rules', what recalibrates them, and the newest calls after a taker's fee."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import pandas as pd
import streamlit as st

from core.market.answers.one_answer import ANSWER, FEWEST, Comparison
from core.market.answers.recalibration import EXPERTS, AdaptiveHead
from core.market.labels import STATIONARY
from core.market.session import MarketSession
from pages.markets.class_names import class_names
from pages.markets.live_controls import horizon_name
from pages.shared import controls, url_state
from pages.shared.language import _, moment, number, percent

FEE: Final = "fee"
"""The fee's place in the URL."""
FEE_CHOSEN: Final = "value:fee"
"""Session state: the fee."""
MAX_FEE: Final = 60.0
USUAL_FEE: Final = 10.0
"""Basis points: Binance's regular taker fee on spot, 0.10 % (docs/value.md)."""


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


def show_calls(session: MarketSession, head: int, zone: str = "UTC") -> None:
    """The calls of a day at most that a taker would have traded on, newest first: outcome, probability and worth of each."""
    horizon = horizon_name(session.predictor.heads[head][1])
    st.header(_("Newest calls, {horizon} ahead").format(horizon=horizon), anchor=False)
    before = fee_chosen()
    fee = url_state.slider(
        _("Taker's fee of a fill, basis points"),
        0.0,
        MAX_FEE,
        key=FEE,
        default=USUAL_FEE,
        step=0.5,
        width=260,
        help=_("Of one who takes liquidity; Binance's regular fee on spot is 10."),
    )
    if fee != before:
        st.session_state[FEE_CHOSEN] = fee
        st.rerun()  # the screen above shows a result after this fee
    calls = session.traded_calls(head)
    if calls.empty:
        controls.notice("empty", _("Nothing has been called and traded yet."))
        return
    names = [*class_names().values(), ""]  # an outcome that is not known is -1: the last
    worth = _("Worth after spread and fees, bps")
    st.dataframe(
        pd.DataFrame(
            {
                _("Time"): [moment(datetime.fromtimestamp(when / 1e3, UTC), zone=zone) for when in calls["timestamp"]],
                _("Called"): [names[call] for call in calls["call"]],
                _("Probability"): [percent(p) for p in calls["probability"]],
                _("What happened"): [names[came] for came in calls["came"]],
                worth: (calls["result_bps"] - 2 * fee).round(2),
            }
        ).iloc[::-1],
        hide_index=True,
        width="stretch",
        height=280,
        column_config={worth: st.column_config.NumberColumn(format="%.2f")},
    )
    st.caption(_("One call at a time: while a trade on one is open, the next are passed over."))
    controls.download_table(_("These calls"), lambda: session.traded_calls(head), key="traded_calls", filename="traded-calls")


def fee_chosen() -> float:
    """The fee of a fill that the reader chose, basis points."""
    linked = url_state.real_number(st.query_params.get(FEE), USUAL_FEE)
    return float(st.session_state.get(FEE_CHOSEN, min(max(linked, 0.0), MAX_FEE)))


def describe_recalibration(session: MarketSession, index: int) -> None:
    """Says which label threshold a head's outcomes are by, and whom its recalibrated probabilities follow."""
    head = session.adaptive(index)
    st.caption(_describe_threshold(head, session.entry.alphas[index]))
    st.caption(_describe_weights(dict(zip(EXPERTS, head.weights, strict=True))))


def _describe_threshold(head: AdaptiveHead, card_alpha: float) -> str:
    if not head.own_threshold:
        sentence = _("A move counts from {alpha} basis points on: the card's threshold for this market.")
        alpha = card_alpha
    elif not head.settled:
        sentence = _(
            "Until this market's first quarter hour is over, a move counts from {alpha} basis points on: the mean of others."
        )
        alpha = card_alpha
    else:
        sentence = _("A move counts from {alpha} basis points on: half the mean move of this market's first quarter hour.")
        alpha = head.alpha
    return sentence.format(alpha=number(alpha * 1e4, 3))


def _describe_weights(weights: Mapping[str, float]) -> str:
    """Says whom the recalibrated probabilities follow now."""
    names = dict(zip(EXPERTS, (_("a third each"), _("class rates so far"), _("as written"), _("refitted")), strict=True))
    shares = ", ".join(f"{names[name]} {percent(weight, 0)}" for name, weight in weights.items())
    return _("Recalibrated is the mean of four, by how well each has foretold so far: {shares}.").format(shares=shares)
