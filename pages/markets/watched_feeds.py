"""The feeds that this visit watches: their sessions, and leaving those of the page before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import Feed
from core.market.feeds.redis_feed import shared
from core.market.hub import hub
from core.market.predictor import Predictor
from core.market.session import MarketSession

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


def new_session(feed: Feed, predictor: Predictor) -> MarketSession:
    """A session of the feed; a live one shared with other servers, as the settings have it."""
    return MarketSession(shared(feed, predictor) if isinstance(feed, LiveFeed) else feed, predictor)
