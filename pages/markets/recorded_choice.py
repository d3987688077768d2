"""The choice of recordings to score or train on: the bundled ones and those of the library's folder."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import checkpoints
from core.market.book import BookError
from core.market.store.index import Recording, bundled_recordings, list_recordings
from core.market.store.places import library_folder
from pages.shared import controls, url_state
from pages.shared.language import _, duration, number


@dataclass(frozen=True, kw_only=True)
class ChosenRecording:
    """A recording: its market by which files are grouped, and its files."""

    market: str
    paths: tuple[str, ...]


def pick(*, key: str) -> list[ChosenRecording]:
    """Any number of recordings, in the URL under `key`."""
    entries = {entry.name.replace(".", "-"): entry for entry in _listed() if not entry.problem and entry.rows}
    labels = {code: _label(entry) for code, entry in entries.items()}
    chosen = url_state.several(_("Recordings"), labels, key=key, placeholder=_("Choose one or more"))
    return [ChosenRecording(market=entries[code].market, paths=tuple(map(str, entries[code].paths))) for code in chosen]


def by_market(chosen: list[ChosenRecording]) -> tuple[tuple[str, ...], ...]:
    """The files of each market, all its recordings together."""
    groups: dict[str, tuple[str, ...]] = {}
    for one in chosen:
        groups[one.market] = groups.get(one.market, ()) + one.paths
    return tuple(groups.values())


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
    """Any number of TLOB and DeepLOB checkpoints; the default where the link names none."""
    folder = checkpoints.FOLDER
    names = names_by_code([*checkpoints.names("tlob", folder=folder), *checkpoints.names("deeplob", folder=folder)])
    if key not in st.session_state and key not in st.query_params and default in names:
        st.session_state[key] = [default]
    codes = url_state.several(
        _("Checkpoints"),
        {code: code for code in names},
        key=key,
        help=_("The first sets the labels and thresholds that all are scored by."),
    )
    return [names[code] for code in sorted(codes, key=lambda code: code != default)]
