"""Recordings: those that came with the app, those of a folder, and files of other programs, converted."""

from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from core.market.answers.ahead import Standing
from core.market.answers.one_answer import FEWEST
from core.market.book import BookError
from core.market.leads import lead_at_end
from core.market.store import write_ahead
from core.market.store.index import Recording, bundled_recordings, list_recordings
from core.market.store.places import library_folder
from core.market.store.writer import restore_recordings
from core.service.access import Action
from pages.markets import library_actions, record_switch, recorded_choice, upload_panel
from pages.markets.live_controls import FIRST_STEPS, horizon_name
from pages.shared import controls, permissions
from pages.shared.language import _, duration, moment, number, prose, size


def entries() -> list[Recording] | None:
    """Returns what lies in the library; None, after an error box, where it cannot be listed."""
    folder = library_folder()
    if not folder.is_dir():
        return []
    restore_recordings(folder)
    bar = st.empty()

    def report(done: int, total: int) -> None:
        if total > 40:
            bar.progress(
                done / total, text=_("Reading recording {done} of {total}").format(done=number(done), total=number(total))
            )

    try:
        return list_recordings(folder, progress=report)
    except BookError as error:
        controls.error_box(error)
        return None
    finally:
        bar.empty()


def line(entry: Recording) -> dict[str, Any]:
    """An entry as a row of the table: numbers stay numbers, so that they sort as such."""
    return {
        "name": entry.name,
        "market": recorded_choice.market_and_venue(entry),
        "begins": moment(datetime.fromtimestamp(entry.start_ms / 1e3, UTC), zone="UTC") if entry.rows else entry.problem,
        "span": duration(entry.seconds) if entry.rows else "",
        "mids": list(entry.mids),
        "rows": entry.rows,
        "gaps": entry.gaps,
        "levels": entry.levels,
        "lead": standing(entry),
        "size": size(entry.size),
    }


def standing(entry: Recording) -> str:
    """Standing of a recording's forecasts at its end; "" where too few outcomes are known, or its journal tells none."""
    lead = lead_at_end(entry.paths, ("forward", FIRST_STEPS))
    if lead is None or lead.outcomes < FEWEST:
        return ""
    words = {Standing.AHEAD: _("Ahead"), Standing.BEHIND: _("Behind"), Standing.UNDECIDED: _("Undecided")}
    per_call = f"{'+' if lead.per_call > 0 else ''}{number(lead.per_call, 3)}"
    return f"{words[lead.standing]}: {per_call} ({number(lead.outcomes)})"


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
            "begins": column.TextColumn(_("Begins (UTC)")),
            "span": column.TextColumn(_("Span")),
            "mids": column.LineChartColumn(_("Mid"), color="blue", width=150),
            "rows": column.NumberColumn(_("Rows"), format="localized"),
            "gaps": column.NumberColumn(_("Gaps"), format="localized", help=_("Holes between rows of 250 ms.")),
            "levels": column.NumberColumn(_("Levels")),
            "lead": column.TextColumn(
                _("Beside the naive rules"),
                help=_("TLOB, {horizon} ahead: its lead over the nearest rule in nats a call, and of how many outcomes.").format(
                    horizon=horizon_name(FIRST_STEPS)
                ),
            ),
            "size": column.TextColumn(_("Size")),
        },
    )
    rows: list[int] = event["selection"]["rows"]
    return [shown[row] for row in rows if row < len(shown)]


controls.page_header(_("Recordings"), prose("library_lead"))
may_change = permissions.guard(Action.RECORD, Action.CONVERT, Action.CHANGE, Action.EXPORT)
library_actions.announce()
record_switch.show_running()
listed = entries()
if damaged := write_ahead.damaged(library_folder()):
    text = _("A recording that was killed left a damaged journal. What could be read of it is below; it is kept as {files}.")
    controls.notice("stale", text.format(files=", ".join(path.name for path in damaged)))
try:
    bundled = bundled_recordings()
except BookError as error:
    controls.error_box(error)
    bundled = []
if listed == []:
    remedy = _("Nothing has been recorded yet: turn on “Record this market” on the live page, or convert a file below.")
    controls.notice("empty", remedy if may_change else _("Nothing has been recorded yet."))
shown = [*(listed or []), *bundled]
if shown:
    chosen = table(shown)
    if listed:
        library_actions.room(listed)
    if chosen:
        library_actions.draw_actions(chosen)
    else:
        st.caption(_("Choose one by the box at the left."))
if may_change:
    upload_panel.draw_upload_panel()
controls.link_to_view()
