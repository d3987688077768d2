"""Value of a call: how often it comes true, how far the price goes, what a taker keeps of it, and whether it may be luck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.figures import value as figures
from core.market.answers.value import GROUP, CallRows, CallValue, Estimate, Luck, call_value, precision_by_confidence
from core.market.session import MarketSession
from pages.markets.live_controls import ViewChoices, details, horizon_name
from pages.markets.live_scores import forecaster_names
from pages.shared import controls, url_state
from pages.shared.language import _, moment, number, percent, prose, significant
from pages.shared.live_plot import live_plot

FEE: Final = "fee"
"""The fee's place in the URL."""
FEE_CHOSEN: Final = "value:fee"
"""Session state: the fee."""
MAX_FEE: Final = 60.0
USUAL_FEE: Final = 10.0
"""Basis points: Binance's regular taker fee on spot, 0.10 % (docs/value.md)."""
FEWEST: Final = 200
"""Scored rows before anything is shown."""


def show(session: MarketSession, choices: ViewChoices, zone: str = "UTC") -> None:
    """The chosen head's calls and those of the naive rules; times in this zone."""
    st.header(_("What a call is worth, {horizon} ahead").format(horizon=horizon_name(choices.horizon)), anchor=False)
    rules: Mapping[str, CallRows]
    luck: Mapping[str, Luck]
    rules, luck = session.read_board(lambda board: (board.call_rows(choices.head), board.luck(choices.head)))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sure = url_state.slider(_("Only calls at least this sure"), 0.0, 0.95, key="sure", default=0.0, step=0.05, width=260)
        before = fee_chosen()
        fee = url_state.slider(
            _("Taker's fee of a fill, basis points"), 0.0, MAX_FEE, key=FEE, default=USUAL_FEE, step=0.5, width=260
        )
    if fee != before:
        st.session_state[FEE_CHOSEN] = fee
        st.rerun()  # the screen above shows a result after this fee
    chosen = {"tlob": rules["tlob"].surer_than(sure)} | {rule: rows for rule, rows in rules.items() if rule != "tlob"}
    values = {rule: replace(call_value(rows), luck=luck[rule]) for rule, rows in chosen.items()}
    if values["tlob"].scored < FEWEST:
        controls.notice("loading", _("Shown once {count} predictions are scored.").format(count=number(FEWEST)))
        return
    st.markdown(luck_sentence(luck["tlob"]))
    st.dataframe(value_table(values, fee), hide_index=True, width="stretch", height="content")
    first = datetime.fromtimestamp(float(rules["tlob"].timestamps[0]) / 1e3, UTC)
    since = moment(first, zone=zone)
    st.caption(_("Calls since {time}, of four hours at most, with 95 % intervals; luck is of all calls.").format(time=since))
    if (box := details("value")) is not None:
        with box:
            _plots(chosen, values, sure, fee)
    with st.expander(_("What these measures mean"), icon=":material/help:"):
        st.markdown(prose("call_value"))


def fee_chosen() -> float:
    """The fee of a fill that the reader chose, basis points."""
    linked = url_state.real_number(st.query_params.get(FEE), USUAL_FEE)
    return float(st.session_state.get(FEE_CHOSEN, min(max(linked, 0.0), MAX_FEE)))


def luck_sentence(luck: Luck) -> str:
    """Says in one sentence whether a coin could have done it."""
    if not luck.groups:
        return _("Luck: {count} calls, one a horizon, are needed before it can be told from skill.").format(count=number(GROUP))
    if luck.chance > 0.05:
        return _(
            "Luck: a coin that knows how often each class comes would look as good, at its best moment so far, with a chance "
            "of up to {chance}: this may well be luck."
        ).format(chance=percent(luck.chance, 0))
    return _(
        "Luck: a coin that knows how often each class comes would ever look this good with a chance of at most 1 in {odds}, "
        "however often one looks."
    ).format(odds=number(min(1 / luck.chance, 1e9)))


def value_table(values: Mapping[str, CallValue], fee: float) -> pd.DataFrame:
    """Value of each rule's calls after a fee of so many basis points a fill."""
    rows: list[dict[str, Any]] = []
    for rule, name in forecaster_names().items():
        value = values[rule]
        net = _shifted(value.taker.mean_bps, -2 * fee)
        rows.append(
            {
                _("Forecaster"): name,
                _("Rows called"): percent(value.coverage),
                _("Came true"): _interval(value.precision, lambda share: percent(share)),
                _("Move after a call, bps"): _interval(value.move_bps, lambda bps: number(bps, 2)),
                _("Half the spread, bps"): significant(value.half_spread_bps) if value.coverage else "",
                _("Trades"): number(len(value.taker.gross_bps)),
                _("Result of a trade, bps"): _interval(net, lambda bps: number(bps, 2)),
                _("Break-even fee, bps"): _known(value.taker.break_even_bps, 2),
                _("p_T"): f"{percent(value.p_t)} ({number(value.transactions)})" if value.transactions else "",
                _("Chance of luck"): percent(value.luck.chance, 2) if value.luck.groups else "",
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


def _plots(rules: Mapping[str, CallRows], values: Mapping[str, CallValue], sure: float, fee: float) -> None:
    names = forecaster_names()
    precision, moves, result = st.columns(3)
    naive = values["momentum"]
    with precision:
        live_plot(
            figures.precision_figure(
                precision_by_confidence(rules["tlob"]),
                chosen=sure,
                points={names["momentum"]: (naive.coverage, naive.precision.value)} if naive.coverage else {},
            ),
            key="precision",
            height=280,
            filename="precision",
            alt=_("Share of TLOB's calls that came true against the share of rows called, by the least probability called."),
        )
    called = {rule: names[rule] for rule in ("tlob", "momentum") if values[rule].move_bps.value == values[rule].move_bps.value}
    with moves:
        live_plot(
            figures.moves_figure(
                {name: values[rule].move_bps for rule, name in called.items()},
                half_spread=values["tlob"].half_spread_bps if "tlob" in called else 0.0,
                fee=fee,
            ),
            key="moves",
            height=280,
            filename="moves",
            alt=_("Mean move after a call against half the spread, and against spread and fees."),
        )
    with result:
        live_plot(
            figures.result_figure(
                {
                    name: (rules[rule].timestamps[values[rule].taker.entered], values[rule].taker.net_bps(fee))
                    for rule, name in called.items()
                }
            ),
            key="taker",
            height=280,
            filename="taker",
            alt=_("A taker's summed result after spread and fee, with the zero line."),
        )
