"""Better, by how much, at any time: the confidence sequence of two forecasters' difference in loss, as a band that narrows."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.figures import value as figures
from core.figures.score_report import forecaster_names
from core.market.answers.naive import BOOKLESS
from core.market.session import MarketSession
from pages.markets.live_controls import ViewChoices, horizon_name
from pages.shared import controls, url_state
from pages.shared.language import _, number
from pages.shared.live_plot import live_plot

FEWEST = 10
"""Outcomes before anything is drawn."""


def show(session: MarketSession, choices: ViewChoices) -> None:
    """TLOB of the chosen head against a rule that sees no book."""
    st.header(_("Better, by how much, {horizon} ahead").format(horizon=horizon_name(choices.horizon)), anchor=False)
    names = forecaster_names()
    sequences = session.read_board(lambda board: board.ahead(choices.head))
    with st.container(horizontal=True):
        rule = url_state.choice(
            st.segmented_control, _("TLOB against"), {name: names[name] for name in BOOKLESS}, key="against",
            default="frequencies", required=True,
        )  # fmt: skip
        measure = pick_measure()
    if len(sequences[rule]) and sequences[rule]["outcomes"].iloc[-1] >= FEWEST:
        draw(sequences[rule], measure, "TLOB", names[rule], key="ahead_plot")
    else:
        text = _("Shown once {count} outcomes that do not overlap are known.")
        controls.notice("loading", text.format(count=number(FEWEST)))


def pick_measure() -> str:
    """The loss, chosen by the reader."""
    return url_state.choice(
        st.segmented_control, _("Loss"), {"log_loss": _("Log loss"), "brier": _("Brier score")}, key="loss", required=True
    )


def draw(sequence: pd.DataFrame, measure: str, mine: str, other: str, *, key: str) -> None:
    """The band and a sentence on its end.

    Args:
        sequence: as `core.market.answers.table.ahead` returns it, of at least one outcome. mine, other: names of the two.
    """
    end = sequence.iloc[-1]
    value, low, high = (float(end[f"{measure}{bound}"]) for bound in ("", "_low", "_high"))
    end_of_it = _("no clear difference yet") if low <= 0 <= high else _("{who} is better")
    text = _("The loss of {mine} less that of {other} is {value} ({low} to {high}) over {count} outcomes: {end}.")
    shown = {"value": number(value, 3, sign=True), "low": number(low, 3, sign=True), "high": number(high, 3, sign=True)}
    count = number(int(end["outcomes"]))
    end_of_it = end_of_it.format(who=mine if value < 0 else other)
    st.markdown(text.format(mine=mine, other=other, count=count, end=end_of_it, **shown))
    live_plot(
        figures.ahead_figure(sequence, measure=measure), key=key, height=260, filename="ahead",
        alt=_("The running difference of two losses with its band, which narrows as outcomes come."),
    )  # fmt: skip
    st.caption(
        _(
            "Below zero {mine} is better. The band holds at all moments at once with 95 %, so one may look whenever one likes. "
            "Outcomes are taken a horizon apart; probabilities below 2 % count as 2 % in the log loss."
        ).format(mine=mine)
    )
