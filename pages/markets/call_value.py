"""Value of a call: how often it comes true, how far the price goes, what a taker keeps of it; and what recalibrates it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.market.answers.naive import CALLERS
from core.market.answers.one_answer import FEWEST
from core.market.answers.recalibration import EXPERTS, AdaptiveHead
from core.market.answers.scoreboard import VALUED
from core.market.answers.value import CallValue, Estimate, call_value, spaced
from core.market.book import STEP_MS
from core.market.labels import UNKNOWN
from core.market.session import MarketSession
from pages.markets.live_controls import ViewChoices, horizon_name
from pages.markets.live_scores import forecaster_names, too_few
from pages.shared import controls, url_state
from pages.shared.language import _, moment, number, percent, prose, significant

FEE: Final = "fee"
"""The fee's place in the URL."""
FEE_CHOSEN: Final = "value:fee"
"""Session state: the fee."""
MAX_FEE: Final = 60.0
USUAL_FEE: Final = 10.0
"""Basis points: Binance's regular taker fee on spot, 0.10 % (docs/value.md)."""


def draw_call_value(session: MarketSession, choices: ViewChoices, zone: str = "UTC") -> None:
    """The chosen head's calls and those of the naive rules; times in this zone."""
    st.header(_("What a call is worth, {horizon} ahead").format(horizon=horizon_name(choices.horizon)), anchor=False)
    rules = session.table(choices.head, VALUED).call_rows(*CALLERS)
    before = fee_chosen()
    fee = url_state.slider(
        _("Taker's fee of a fill, basis points"), 0.0, MAX_FEE, key=FEE, default=USUAL_FEE, step=0.5, width=260
    )
    if fee != before:
        st.session_state[FEE_CHOSEN] = fee
        st.rerun()  # the screen above shows a result after this fee
    known = rules["tlob"].timestamps[rules["tlob"].truth != UNKNOWN]
    if (independent := len(spaced(known // STEP_MS, choices.horizon))) < FEWEST:
        controls.notice("loading", too_few(independent))
        return
    values = {rule: call_value(rows) for rule, rows in rules.items()}
    st.dataframe(value_table(values, fee), hide_index=True, width="stretch", height="content")
    first = datetime.fromtimestamp(float(rules["tlob"].timestamps[0]) / 1e3, UTC)
    since = moment(first, zone=zone)
    st.caption(_("Calls since {time}, of four hours at most, with 95 % intervals.").format(time=since))
    with st.expander(_("What these measures mean"), icon=":material/help:"):
        st.markdown(prose("call_value"))


def show_calls(session: MarketSession, choices: ViewChoices, zone: str = "UTC") -> None:
    """The calls of today that a taker would have traded on, newest first: outcome, probability and worth of each."""
    st.header(_("Calls of today, {horizon} ahead").format(horizon=horizon_name(choices.horizon)), anchor=False)
    calls, fee = session.traded_calls(choices.head), fee_chosen()
    if calls.empty:
        controls.notice("empty", _("Nothing has been called and traded yet."))
        return
    names = [_("Down"), _("Stationary"), _("Up"), ""]  # an outcome that is not known is -1: the last
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
    st.caption(
        _(
            "One call at a time: while a trade on one is open, the next are passed over. What was recorded can be made again: "
            "“Score” on the page of recordings says whether all of it is equal, and of two days which was better."
        )
    )
    controls.download_table(
        _("These calls"), lambda: session.traded_calls(choices.head), key="traded_calls", filename="traded-calls"
    )


def fee_chosen() -> float:
    """The fee of a fill that the reader chose, basis points."""
    linked = url_state.real_number(st.query_params.get(FEE), USUAL_FEE)
    return float(st.session_state.get(FEE_CHOSEN, min(max(linked, 0.0), MAX_FEE)))


def value_table(values: Mapping[str, CallValue], fee: float) -> pd.DataFrame:
    """Value of each rule's calls after a fee of so many basis points a fill."""
    rows: list[dict[str, Any]] = []
    for rule, name in forecaster_names().items():
        value = values[rule]
        net = _shifted(value.taker.mean_bps, -2 * fee)
        enough = len(value.taker.gross_bps) >= FEWEST  # trades do not overlap
        rows.append(
            {
                _("Forecaster"): name,
                _("Rows called"): percent(value.coverage),
                _("Came true"): _interval(value.precision, lambda share: percent(share)),
                _("Move after a call, bps"): _interval(value.move_bps, lambda bps: number(bps, 2)),
                _("Half the spread, bps"): significant(value.half_spread_bps) if value.coverage else "",
                _("Trades"): number(len(value.taker.gross_bps)),
                _("Result of a trade, bps"): _interval(net, lambda bps: number(bps, 2)) if enough else "",
                _("Break-even fee, bps"): _known(value.taker.break_even_bps, 2) if enough else "",
            }
        )
    return pd.DataFrame(rows)


def _shifted(estimate: Estimate, by: float) -> Estimate:
    return Estimate(value=estimate.value + by, low=estimate.low + by, high=estimate.high + by)


def _interval(estimate: Estimate, write: Any) -> str:
    """A value and its interval; empty where there is none."""
    if estimate.value != estimate.value:
        return ""
    return f"{write(estimate.value)} ({write(estimate.low)} – {write(estimate.high)})"


def _known(value: float, digits: int) -> str:
    return number(value, digits) if value == value else ""


def describe_recalibration(session: MarketSession, choices: ViewChoices) -> None:
    """Says which label threshold the chosen head's outcomes are by, and whom its recalibrated probabilities follow."""
    head = session.adaptive(choices.head)
    st.caption(_describe_threshold(head, session.entry.alphas[choices.head]))
    st.caption(_describe_weights(dict(zip(EXPERTS, head.weights, strict=True))))


def _describe_threshold(head: AdaptiveHead, card_alpha: float) -> str:
    if not head.own_threshold:
        sentence = _("A move counts from {alpha} basis points on: the card's threshold for this market.")
        alpha = card_alpha
    elif not head.settled:
        sentence = _(
            "The card does not know this market. Until its first quarter hour is over, a move counts from {alpha} basis points "
            "on, the mean of other markets; then from half the mean move of that quarter hour."
        )
        alpha = card_alpha
    else:
        sentence = _(
            "The card does not know this market: here a move counts from {alpha} basis points on, half the mean move of its own "
            "first quarter hour. The scoreboard above keeps the mean of other markets, {card}."
        )
        alpha = head.alpha
    return sentence.format(alpha=number(alpha * 1e4, 3), card=number(card_alpha * 1e4, 3))


def _describe_weights(weights: Mapping[str, float]) -> str:
    """Says whom the recalibrated probabilities follow now."""
    names = dict(zip(EXPERTS, (_("a third each"), _("class rates so far"), _("as written"), _("refitted")), strict=True))
    shares = ", ".join(f"{names[name]} {percent(weight, 0)}" for name, weight in weights.items())
    return _("Recalibrated is the mean of four, by how well each has foretold so far: {shares}.").format(shares=shares)
