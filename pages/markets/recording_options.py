"""The library's recordings as options of a picker, beside the bundled ones."""

from __future__ import annotations

import streamlit as st

from core.market.book import BookError
from core.market.store import index
from core.market.store.index import Recording, list_recordings
from core.market.store.places import library_folder
from pages.shared.language import duration

LISTED_S = 20.0
"""Seconds for which a listing is kept."""


def of_folder() -> dict[str, str]:
    """Name and label of each recording in the library's folder; one that the link names is looked for at once."""
    bundled = {one.name for one in index.recordings()}
    listed = {entry.name for entry in _listed(str(library_folder()))}
    if st.query_params.get("rec") not in {None, *bundled, *listed}:
        _listed.clear()
    return {
        entry.name: f"{entry.name} · {duration(entry.seconds)}" for entry in _listed(str(library_folder())) if not entry.problem
    }


@st.cache_data(ttl=LISTED_S, max_entries=2, show_spinner=False)
def _listed(folder: str) -> list[Recording]:
    try:
        return list_recordings(folder)
    except BookError:  # nothing has been recorded yet
        return []
