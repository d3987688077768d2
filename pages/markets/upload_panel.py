"""Converts files of other programs into recordings: what is in them is shown before anything is written."""

import hashlib
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.market.book import STEP_MS
from core.market.formats.conversion import NAMED_FAULTS, Inspection
from core.market.formats.readers import FORMATS
from core.market.formats.tables import FormatError
from core.market.store.segments import market_folder
from core.messages import translate
from core.service import recordings
from core.service.access import NotAllowed
from pages.shared import controls, permissions, upload_caps
from pages.shared.language import _, duration, moment, number, prose
from pages.shared.stat_strip import Stat, stat_strip

MAX_MB: Final = 400
"""As `server.maxUploadSize`, and as `deploy/nginx.conf` lets through."""
INSPECTED: Final = "upload:inspected"


@dataclass(frozen=True, kw_only=True)
class InspectedFiles:
    """Files as they were uploaded, by name and content, what is in them, and where they lie meanwhile."""

    files: tuple[tuple[str, bytes], ...]
    inspection: Inspection
    folder: tempfile.TemporaryDirectory[str]

    @property
    def paths(self) -> dict[str, Path]:
        """The files by their names."""
        return {name: Path(self.folder.name) / f"{i}" for i, (name, _digest) in enumerate(self.files)}


def draw_upload_panel() -> None:
    """Draw the panel."""
    st.header(_("Convert a file"), anchor=False)
    st.markdown(prose("library_formats"))
    uploads = upload_caps.file_uploader(
        _("One file, LOBSTER's two, or the days of one market"),
        accept_multiple_files=True,
        key="upload:files",
        max_upload_size=MAX_MB,
    )
    if not uploads:
        st.session_state.pop(INSPECTED, None)  # and with it the copies on the disk
        return
    try:
        inspected = _inspect(uploads)
    except NotAllowed as error:
        controls.error_box(error)
        return
    except (FormatError, OSError) as error:
        controls.error_box(error, remedy=_("Choose a file of one of the formats above."))
        return
    _describe(inspected.inspection)
    _convert(inspected)


def _name(inspection: Inspection, market: str) -> str:
    """A recording's name: its market and the day on which it begins."""
    return f"{market_folder(market)}_{datetime.fromtimestamp(inspection.start_ms / 1e3, UTC):%Y-%m-%d}"


def _inspect(uploads: list[Any]) -> InspectedFiles:
    """Inspects the files; read once for as long as they are the same."""
    names, wanted = Counter[str](), tuple[tuple[str, bytes], ...]()
    for upload in uploads:
        names[upload.name] += 1
        path, again = PurePath(upload.name), names[upload.name]
        name = upload.name if again == 1 else f"{path.stem} ({again}){path.suffix}"  # days of a data set may have one name
        wanted += ((name, hashlib.sha256(upload.getbuffer()).digest()),)
    kept: InspectedFiles | None = st.session_state.pop(INSPECTED, None)
    if kept is None or kept.files != wanted:
        kept = _inspected_anew(uploads, wanted)
    st.session_state[INSPECTED] = kept
    return kept


def _inspected_anew(uploads: list[Any], wanted: tuple[tuple[str, bytes], ...]) -> InspectedFiles:
    folder = tempfile.TemporaryDirectory(prefix="recording-")
    paths = {}
    for i, (upload, (name, _digest)) in enumerate(zip(uploads, wanted, strict=True)):
        paths[name] = path = Path(folder.name) / f"{i}"
        path.write_bytes(upload.getbuffer())
    bar = st.progress(0.0, text=_("Reading the file"))
    try:
        inspection = recordings.inspect(
            permissions.visitor(), paths, progress=lambda share: bar.progress(share, text=_("Reading the file"))
        )
    finally:
        bar.empty()
    return InspectedFiles(files=wanted, inspection=inspection, folder=folder)


def _describe(inspection: Inspection) -> None:
    begins, ends = (moment(datetime.fromtimestamp(when / 1e3, UTC)) for when in (inspection.start_ms, inspection.end_ms))
    carried = _("median; a book is carried for {time} at most").format(time=duration((inspection.carry_ms or STEP_MS) / 1e3))
    values = (
        (_("Format"), FORMATS[inspection.form].name, inspection.market),
        (_("Books"), number(inspection.books), ""),
        (_("Levels a side"), number(inspection.levels), ""),
        (_("Span"), duration((inspection.end_ms - inspection.start_ms) / 1e3), f"{begins} – {ends}"),
        (_("Time between two books"), _("{count} ms").format(count=number(inspection.sampling_ms)), carried),
        (_("Trades"), number(inspection.trades), ""),
    )
    left_out = number(inspection.problem_count)
    last = Stat(name=_("Rows left out"), value=left_out, tone="warning" if inspection.problem_count else "plain")
    stat_strip([*(Stat(name=name, value=value, note=note) for name, value, note in values), last])
    if remark := FORMATS[inspection.form].remark:
        st.caption(translate(remark))
    for note in inspection.notes:
        st.warning(translate(note))
    if inspection.problems:
        with st.expander(_("Rows left out"), icon=":material/rule:"):
            table = [{"row": one.row, "what": translate(one.what)} for one in inspection.problems]
            st.dataframe(
                pd.DataFrame(table),
                hide_index=True,
                width="stretch",
                column_config={
                    "row": st.column_config.NumberColumn(_("Row"), format="%d", width="small"),
                    "what": st.column_config.TextColumn(_("What is wrong")),
                },
            )
            if inspection.problem_count > NAMED_FAULTS:
                more = number(inspection.problem_count - len(inspection.problems))
                st.caption(_("And {count} more.").format(count=more))


def _convert(inspected: InspectedFiles) -> None:
    inspection = inspected.inspection
    left, right = st.columns(2)
    with left:
        market = st.text_input(_("Market"), value=inspection.market or "market", key="upload:market", max_chars=60)
    with right:
        name = st.text_input(
            _("Name of the recording"),
            value=(proposed := _name(inspection, market)),
            key=f"upload:name:{proposed}",
            max_chars=120,
        )
    if not st.button(_("Convert"), type="primary", icon=":material/transform:", key="upload:convert"):
        return
    bar, market = st.progress(0.0, text=_("Converting")), re.sub(r"\s+", " ", market).strip()
    try:
        written = recordings.convert(
            permissions.visitor(),
            inspected.paths,
            name.strip(),
            inspection,
            market=market,
            progress=lambda share: bar.progress(share, text=_("Converting")),
        )
    except (FormatError, OSError, NotAllowed) as error:
        controls.error_box(error)
        return
    finally:
        bar.empty()
    st.success(
        _("{rows} rows of 250 ms are in the library as {name}; gaps between them: {gaps}.").format(
            rows=number(written.rows), gaps=number(written.gaps), name=name.strip()
        )
    )
    st.page_link(
        "pages/markets/live.py",
        label=_("Live order book"),
        icon=":material/candlestick_chart:",
        query_params={"source": "recording", "rec": name.strip()},
    )
    st.button(_("Show it in the list"), key="upload:again")
