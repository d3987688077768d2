"""Panel of what happened to resting size, and of the indicators: how often each came true, and whether that may be luck."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.market import marks
from core.market.book import STEP_MS
from core.market.session import KEPT_ROWS, MarketSession
from pages.markets.live_controls import ViewChoices, horizon_name
from pages.shared import controls
from pages.shared.language import _, duration, number, percent


def mark_names() -> dict[str, str]:
    """Names of what may happen to size, and of the indicators, in the reader's language, by code."""
    return {
        "pulled": _("Pulled"),
        "stacked": _("Stacked"),
        "absorbed": _("Absorbed"),
        "refilled": _("Refilled"),
        "eaten": _("Eaten"),
        "imbalance": _("Imbalance of ten levels"),
        "delta": _("Volume delta of 10 s"),
        "vwap": _("Distance to the VWAP of a minute"),
        "slope": _("Slope of depth"),
    }


def show(session: MarketSession, choices: ViewChoices) -> None:
    """Scores of the chosen head's outcomes, over the rows that are kept."""
    rows = session.read_board(lambda board: board.call_rows(choices.head))["tlob"]
    st.header(_("What happened to size, {horizon} ahead").format(horizon=horizon_name(choices.horizon)), anchor=False)
    scores = marks.session_scores(session.view(KEPT_ROWS), session.marks(), rows)
    if not any(one.calls for one in scores.values()):
        controls.notice(
            "loading",
            _("Nothing can be scored yet: marks begin after {time}.").format(time=duration(marks.BEGIN * STEP_MS / 1e3)),
        )
        return
    lines = [
        {
            _("Call by"): mark_names()[name],
            _("Calls scored"): number(one.calls),
            _("Came true"): _interval(one) if one.calls else "",
            _("A coin with these calls"): percent(one.chance) if one.calls else "",
            _("Matthews"): number(one.matthews, 3) if one.calls else "",
            _("Chance of luck"): percent(one.luck.chance, 2) if one.luck.groups else "",
        }
        for name, one in scores.items()
    ]
    st.dataframe(pd.DataFrame(lines), hide_index=True, width="stretch", height="content")
    st.caption(
        _(
            "Pulled: size that went without a trade; stacked: that came. Absorbed: a best price that stood while much was traded "
            "at it; refilled: traded {share} times the most it showed. Eaten: a large size that is gone, half of it or more by "
            "trades. Bids pulled or eaten call down, the others up; asks the other way. "
            "Indicators call where they are larger than four in five of their own last values. Intervals are 95 %."
        ).format(share=number(marks.SHOWN, 1))
    )


def _interval(one: marks.MarkScore) -> str:
    return f"{percent(one.hits.value)} ({percent(one.hits.low)} – {percent(one.hits.high)})"
