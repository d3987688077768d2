"""Two recordings over each other: which market leads, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st

from core.figures.value import lead_lag_figure
from core.files import Written, written
from core.market.book import BookError
from core.market.lead_lag import LeadLag, lead_lag
from core.market.store.index import Recording
from core.market.store.rows import read_market
from core.messages import BadValue
from pages.markets import recorded_choice
from pages.shared import controls
from pages.shared.language import _, number
from pages.shared.live_plot import live_plot

EXAMPLE: Final = ("binance_spot_ethusdt_2024-08-08", "binance_perpetual_ethusdt_2024-08-08")
"""Bundled recordings of one quarter of an hour."""
MAX_ROWS: Final = 2_000_000
"""Of both together: about three days each."""


@st.cache_data(show_spinner=False, max_entries=8)
def _compared(first: Written, second: Written) -> LeadLag:
    return lead_lag(*(read_market([file for file, _at in files]) for files in (first, second)))


def show(pair: Sequence[Recording], *, opened: bool) -> None:
    """The panel for two recordings that are read from this machine's disk."""
    first, second = (f"{entry.market} {recorded_choice.kind_name(entry)}" if entry.bundled else entry.name for entry in pair)
    with st.expander(_("Which of two markets leads?"), icon=":material/compare_arrows:", expanded=opened):
        if sum(entry.rows for entry in pair) > MAX_ROWS:
            controls.notice("empty", _("Choose two recordings of at most {count} rows together.").format(count=number(MAX_ROWS)))
            return
        try:
            with st.spinner(_("Comparing…")):
                told = _compared(written(pair[0].files), written(pair[1].files))
        except (BookError, BadValue, OSError) as error:
            controls.error_box(str(error), remedy=_("Choose two recordings of the same time."))
            return
        st.markdown(f"**{_verdict(told, first, second)}** " + _(
            "Ratio of squared correlations after and before: {ratio} ({low} to {high}). The largest correlation, {most}, is at "
            "{seconds} s ({from_s} to {to_s}). Of {steps} steps of 250 ms that both have."
        ).format(
            ratio=number(told.ratio, 2), low=number(told.ratio_low, 2), high=number(told.ratio_high, 2),
            most=number(float(told.correlation.max()), 2), seconds=number(told.best, 2), from_s=number(told.best_low, 2),
            to_s=number(told.best_high, 2), steps=number(told.steps),
        ))  # fmt: skip
        live_plot(lead_lag_figure(told), key="lead_lag", height=280, alt=_(
            "Correlation of two markets' moves by delay: largest at {seconds} s, {most}."
        ).format(seconds=number(told.best, 2), most=number(float(told.correlation.max()), 2)))  # fmt: skip
        sides = _("Left of 0 {second} leads, right of it {first}.").format(first=first, second=second)
        st.caption(f"{sides} " + _("Choose two recordings in the list to compare them."))
        columns = {"seconds": told.seconds, "correlation": told.correlation, "low": told.low, "high": told.high}
        controls.download_table(_("Table"), lambda: pd.DataFrame(columns), key="lead_lag_table", filename="lead_lag")


def _verdict(told: LeadLag, first: str, second: str) -> str:
    if told.ratio_low <= 1 <= told.ratio_high:
        return _("Neither leads for sure.")
    return _("{market} leads.").format(market=first if told.ratio > 1 else second)
