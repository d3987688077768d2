"""The feeds that this visit watches, and leaving those of the page before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.market.hub import hub

KEYS: Final = "markets:keys"


def viewer_id() -> str:
    """This browser tab, for the hub."""
    context = get_script_run_ctx()
    return context.session_id if context else "nobody"


def watch_only(keys: Iterable[str]) -> None:
    """Leave every feed that this visit watched until now, except these."""
    wanted = set(keys)
    for key in st.session_state.get(KEYS, set()) - wanted:
        hub().leave(viewer_id(), key)
    st.session_state[KEYS] = wanted
