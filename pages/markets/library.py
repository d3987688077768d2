"""Recordings: those that came with the app, those of a folder, and files of other programs, converted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.market.book import BookError
from core.market.store.index import Recording, RecordingError, bundled_recordings, list_recordings
from core.market.store.places import library_folder
from core.market.store.writer import restore_recordings
from core.service import recordings
from core.service.access import Action, NotAllowed
from pages.markets import library_actions, record_switch, upload_panel
from pages.shared import controls, permissions, url_state
from pages.shared.language import _, duration, moment, number, prose, size


def folder() -> Path | None:
    """The library's folder, or the one below it that was typed; None, after an error box, where there is none such."""
    typed = url_state.text(
        _("Folder"),
        key="place",
        placeholder=str(library_folder()),
        help=_("Empty: the library's folder. Else a folder below it."),
    ).strip()
    try:
        return recordings.folder(permissions.visitor(), typed)
    except NotAllowed:  # the page's first notice says so
        return None
    except BookError as error:
        controls.error_box(str(error))
        return None


def entries(where: Path) -> list[Recording] | None:
    """Returns what lies there; None, after an error box, where it cannot be listed. A library without recordings is empty."""
    if not library_folder().is_dir():
        return []
    restore_recordings(library_folder())
    bar = st.empty()

    def report(done: int, total: int) -> None:
        if total > 40:
            bar.progress(
                done / total, text=_("Reading recording {done} of {total}").format(done=number(done), total=number(total))
            )

    try:
        return list_recordings(where, progress=report)
    except BookError as error:
        controls.error_box(str(error))
        return None
    finally:
        bar.empty()


def line(entry: Recording) -> dict[str, Any]:
    """An entry as a row of the table: numbers stay numbers, so that they sort as such."""
    return {
        "name": entry.name,
        "market": entry.market,
        "begins": moment(datetime.fromtimestamp(entry.start_ms / 1e3, UTC)) if entry.rows else entry.problem,
        "span": duration(entry.seconds) if entry.rows else "",
        "mids": list(entry.mids),
        "rows": entry.rows,
        "gaps": entry.gaps,
        "levels": entry.levels,
        "size": size(entry.size),
    }


def table(shown: list[Recording]) -> list[Recording]:
    """The table; returns the entries that are selected."""
    column = st.column_config
    event = st.dataframe(
        pd.DataFrame([line(entry) for entry in shown]),
        key="library:table",
        hide_index=True,
        width="stretch",
        height="content" if len(shown) <= 12 else 460,
        on_select="rerun",
        selection_mode="multi-row",
        column_config={
            "name": column.TextColumn(_("Recording"), pinned=True),
            "market": column.TextColumn(_("Market")),
            "begins": column.TextColumn(_("Begins")),
            "span": column.TextColumn(_("Span")),
            "mids": column.LineChartColumn(_("Mid"), color="blue", width=150),
            "rows": column.NumberColumn(_("Rows"), format="localized"),
            "gaps": column.NumberColumn(_("Gaps"), format="localized", help=_("Holes between rows of 250 ms.")),
            "levels": column.NumberColumn(_("Levels"), help=_("A side, at most.")),
            "size": column.TextColumn(_("Size"), help=_("With its trades and price bands.")),
        },
    )
    rows: list[int] = event["selection"]["rows"]
    return [shown[row] for row in rows if row < len(shown)]


controls.page_header(_("Recordings"), prose("library_lead"))
may_change = permissions.guard(Action.RECORD, Action.CONVERT, Action.CHANGE, Action.EXPORT, Action.SERVER_FOLDER)
library_actions.announce()
record_switch.show_running()
where = folder()
listed = entries(where) if where is not None else None
if where is not None and listed is not None:
    try:
        bundled = bundled_recordings()
    except RecordingError as error:
        controls.error_box(str(error))
        bundled = []
    if not listed:
        remedy = _("Nothing has been recorded yet: turn on “Record this market” on the live page, or convert a file below.")
        controls.notice("empty", remedy if may_change else _("Nothing has been recorded yet."))
    shown = [*listed, *bundled]
    if shown:
        chosen = table(shown)
        if listed:
            library_actions.room(listed)
        if chosen:
            library_actions.draw_actions(where, chosen)
        elif may_change:
            st.caption(_("Choose one by the box at the left to open or export it, one or more to delete them."))
        else:
            st.caption(_("Choose one by the box at the left to open it."))
if may_change:
    upload_panel.draw_upload_panel()
controls.link_to_view()
