"""Choice of a recording: a bundled one, or one of the library."""

from pathlib import Path

import streamlit as st

from core.market.book import BookError
from core.market.feeds.catalogue import exchange_name
from core.market.store.index import Recording, list_recordings, recordings
from core.market.store.places import library_folder
from core.market.store.segments import market_folder
from pages.shared import url_state
from pages.shared.language import _, duration

LISTED_S = 20.0
"""Seconds for which a listing is kept."""


def pick_one(*, first: str | None = None) -> str:
    """A recording's name, in the URL as `rec`; one that the link names is looked for at once.

    Args:
        first: name of the recording that opens where the link names none.
    """
    options = {one.name: f"{market_and_venue(one)} · {duration(one.seconds)}" for one in recordings()}
    folder = library_folder()
    if st.query_params.get("rec") not in {None, *options, *(entry.name for entry in _of_folder(folder))}:
        _of_folder.clear()
    options |= {entry.name: f"{entry.name} · {duration(entry.seconds)}" for entry in _of_folder(folder) if not entry.problem}
    return url_state.choice(st.selectbox, _("Recording"), options, key="rec", default=first)


def market_and_venue(entry: Recording) -> str:
    """Market and venue of a recording in a line; without the venue where nothing tells of it."""
    if entry.bundled:
        return f"{entry.market} · {entry.venue} {kind_name(entry)}"
    exchange, found, _rest = Path(entry.name).parent.name.rpartition(f"-{market_folder(entry.market)}")
    return f"{entry.market} · {exchange_name(exchange)}" if found and exchange.isalnum() else entry.market


def kind_name(entry: Recording) -> str:
    """The kind of a recording's market, in the reader's language where it is known."""
    return {"spot": _("spot"), "perpetual": _("perpetual")}.get(entry.kind, entry.kind)


@st.cache_data(ttl=LISTED_S, max_entries=2, show_spinner=False)
def _of_folder(folder: Path) -> list[Recording]:
    try:
        return list_recordings(folder)
    except BookError:  # nothing has been recorded yet
        return []
