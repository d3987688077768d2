"""The feeds that this visit watches, and leaving those of the page before."""

from collections.abc import Iterable
from typing import Final

import streamlit as st

from core.market.hub import hub
from pages.shared.streamlit_private import tab

KEYS: Final = "markets:keys"


def watch_only(keys: Iterable[str]) -> None:
    """Leave every feed that this visit watched until now, except these."""
    wanted = set(keys)
    for key in st.session_state.get(KEYS, set()) - wanted:
        hub().leave(tab(), key)
    st.session_state[KEYS] = wanted
