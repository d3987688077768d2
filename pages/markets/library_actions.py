"""Actions on the recordings chosen in the library."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import streamlit as st

from core.market import watch_list
from core.market.book import BookError
from core.market.store.index import Recording
from core.market.store.places import library_folder
from core.service import recordings
from core.service.access import Action, NotAllowed
from pages.shared import controls, permissions
from pages.shared.language import _, ngettext, number, size

ASKED: Final = "library:delete"
"""Session key of the names that are to be deleted once that is confirmed."""
DONE: Final = "library:done"
GB: Final = 1e9
MAX_CSV: Final = 200_000
"""Rows from which on CSV is not offered: it would take 130 MB."""


def announce() -> None:
    """Says what the last action did."""
    if text := st.session_state.pop(DONE, None):
        st.toast(text, icon=":material/check:")


def room(listed: Sequence[Recording]) -> None:
    """Room that the recordings take and that is left; and, for whom may change them, the limit above which the oldest go."""
    folder = library_folder()
    used, free = (size(value) for value in (sum(entry.size for entry in listed), shutil.disk_usage(folder).free))
    st.caption(_("Recordings take {used}; {free} are left on the disk.").format(used=used, free=free))
    by = permissions.visitor()
    if not by.may(Action.CHANGE) or (box := controls.opened(_("Delete the oldest at a limit"), key="library:limit")) is None:
        return
    with box:
        now = watch_list.read(folder).most_bytes
        wanted = st.number_input(_("Gigabytes that the hours may take, 0 for no limit"), 0.0, 1e6, now / GB, key="library:most")
        if st.button(_("Set this limit"), key="library:set_limit"):
            with _told():
                count = len(recordings.limit(by, round(wanted * GB)))
                _finish(_("The limit is set. Hours deleted: {count}.").format(count=number(count)))
        st.caption(_("The oldest recorded hours of all markets are deleted, for good, every ten minutes of a recording."))


def draw_actions(chosen: Sequence[Recording]) -> None:
    """The actions of these recordings."""
    st.caption(
        ngettext("{count} recording", "{count} recordings", len(chosen)).format(count=number(len(chosen)))
        + f" · {size(sum(entry.size for entry in chosen))}"
    )
    for entry in chosen:
        if entry.problem:
            controls.error_box(entry.problem)
    readable = [entry for entry in chosen if not entry.problem]
    by = permissions.visitor()
    own = [entry for entry in chosen if not entry.bundled] if by.may(Action.CHANGE) else []
    with st.container(horizontal=True, vertical_alignment="center"):
        if len(readable) == 1:
            _open(readable[0])
        if len(chosen) == 1 and readable and (readable[0].bundled or by.may(Action.EXPORT)):
            _export(readable[0])
        if own and st.button(_("Delete"), icon=":material/delete:", key="library:delete_first"):
            st.session_state[ASKED] = [entry.name for entry in own]
    _confirm(own)


def _open(entry: Recording) -> None:
    """Links to the live page and the explorer."""
    name = entry.name
    pages = (
        ("pages/markets/live.py", _("Live order book"), ":material/candlestick_chart:", {"source": "recording", "rec": name}),
        ("pages/markets/attention.py", _("What TLOB looks at"), ":material/grid_on:", {"window": "recording", "rec": name}),
    )
    for page, label, icon, parameters in pages:
        st.page_link(page, label=label, icon=icon, query_params=parameters)


def _export(entry: Recording) -> None:
    by, stem = permissions.visitor(), entry.name.replace("/", "_")
    forms = {"parquet": ("Parquet", "application/vnd.apache.parquet"), "csv": ("CSV", "text/csv")}
    for form, (name, mime) in forms.items():
        if form == "parquet" or entry.rows <= MAX_CSV:
            made, title = partial(recordings.export, by, entry, form), _("Export as {format}").format(format=name)
            controls.download_bytes(title, made, key=f"library:{form}", filename=f"{stem}.{form}", mime=mime)


def _confirm(own: Sequence[Recording]) -> None:
    """The second question, for just the recordings that the first one was asked of."""
    if not own or st.session_state.get(ASKED) != [entry.name for entry in own]:
        return
    count = ngettext("{count} recording", "{count} recordings", len(own)).format(count=number(len(own)))
    st.warning(
        _("Delete {count} ({size}) from the disk? This cannot be undone.").format(
            count=count, size=size(sum(entry.size for entry in own))
        ),
        icon=":material/warning:",
    )
    with st.container(horizontal=True):
        if st.button(_("Yes, delete for good"), key="library:delete_second", type="primary"):
            st.session_state.pop(ASKED)
            with _told():
                recordings.delete(permissions.visitor(), own)
                _finish(_("Deleted {count}.").format(count=count))
        if st.button(_("Keep"), key="library:keep"):
            st.session_state.pop(ASKED)
            st.rerun()


@contextmanager
def _told() -> Iterator[None]:
    """Says why an action failed."""
    try:
        yield
    except (BookError, OSError, NotAllowed) as error:
        controls.error_box(error)


def _finish(text: str) -> None:
    st.session_state[DONE] = text
    st.rerun()
