"""Downloads of the live page, and links to its newest window."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from core.market.session import MarketSession
from pages.markets import record_switch
from pages.shared import controls
from pages.shared.language import _, number


def show(session: MarketSession, begin: Callable[[], MarketSession]) -> None:
    """Freeze the window, download the predictions, record; and, of a live feed, what its ledger holds.

    Args:
        begin: makes a session of the same feed.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        # A link, which the browser follows by itself: after `st.switch_page` a tick of this page's fragments, still under way,
        # would be run last and leave the other page blank.
        st.page_link(
            "pages/markets/attention.py",
            label=_("Freeze this window"),
            icon=":material/ac_unit:",
            help=_("Opens it on the attention page."),
            query_params={"freeze": session.feed.key},
        )
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        controls.download_table(
            _("Predictions"),
            session.export,
            key="predictions",
            filename=f"tlob-{stamp}",
        )
    record_switch.show(session, begin)
    ledger = session.ledger
    if ledger is None:
        return
    if ledger.problem:
        controls.error_box(ledger.problem)
    elif ledger.head:
        st.caption(
            _(
                "Ledger: {count} predictions written down, {late} of them late since this session began. Newest head `{head}`. "
                "Nothing is verified until it is recomputed: note the head, and give it to the score cards of the watch wall."
            ).format(count=number(ledger.count), late=number(ledger.late), head=ledger.head)
        )
