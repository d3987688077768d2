"""Choices of recordings, of one to play and of several to score: bundled ones and those of the library."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core import checkpoints
from core.market.book import BookError
from core.market.store.index import Recording, bundled_recordings, list_recordings, recordings
from core.market.store.places import library_folder
from pages.shared import controls, url_state
from pages.shared.language import _, duration, number

LISTED_S = 20.0
"""Seconds for which a listing is kept."""


def pick_one(*, first: str | None = None) -> str:
    """A recording's name, in the URL as `rec`; one that the link names is looked for at once.

    Args:
        first: name of the recording that opens where the link names none.
    """
    options = {one.name: f"{one.market} · {one.venue} {kind_name(one)} · {duration(one.seconds)}" for one in recordings()}
    folder = library_folder()
    if st.query_params.get("rec") not in {None, *options, *(entry.name for entry in _of_folder(folder))}:
        _of_folder.clear()
    options |= {entry.name: f"{entry.name} · {duration(entry.seconds)}" for entry in _of_folder(folder) if not entry.problem}
    return url_state.choice(st.selectbox, _("Recording"), options, key="rec", default=first)


def kind_name(entry: Recording) -> str:
    """The kind of a recording's market, in the reader's language where it is known."""
    return {"spot": _("spot"), "perpetual": _("perpetual")}.get(entry.kind, entry.kind)


@st.cache_data(ttl=LISTED_S, max_entries=2, show_spinner=False)
def _of_folder(folder: Path) -> list[Recording]:
    try:
        return list_recordings(folder)
    except BookError:  # nothing has been recorded yet
        return []


def pick(*, key: str) -> list[Recording]:
    """Any number of recordings, in the URL under `key`."""
    entries = {entry.name.replace(".", "-"): entry for entry in _listed() if not entry.problem and entry.rows}
    labels = {code: _label(entry) for code, entry in entries.items()}
    chosen = url_state.several(_("Recordings"), labels, key=key, placeholder=_("Choose one or more"))
    return [entries[code] for code in chosen]


def _listed() -> list[Recording]:
    folder = library_folder()
    try:
        return [*bundled_recordings(), *(list_recordings(folder) if folder.is_dir() else [])]
    except (BookError, ValueError) as error:
        controls.error_box(str(error))
        return []


def _label(entry: Recording) -> str:
    name = entry.name if not entry.bundled else f"{entry.market} · {entry.name.rsplit('_', 1)[-1]}"
    return _("{name} · {time} · {rows} rows").format(name=name, time=duration(entry.seconds), rows=number(entry.rows))


def names_by_code(names: list[str]) -> dict[str, str]:
    """Checkpoints' names by codes that a link may hold."""
    return {name.replace(".", "-"): name for name in names}


def pick_models(*, key: str, default: str) -> list[str]:
    """Any number of TLOB checkpoints; the default where the link names none."""
    folder = checkpoints.FOLDER
    names = names_by_code(checkpoints.names("tlob", folder=folder))
    if key not in st.session_state and key not in st.query_params and default in names:
        st.session_state[key] = [default]
    codes = url_state.several(
        _("Checkpoints"),
        {code: code for code in names},
        key=key,
        help=_("The first sets the labels and thresholds that all are scored by."),
    )
    return [names[code] for code in sorted(codes, key=lambda code: code != default)]
