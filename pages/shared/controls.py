"""Headers, notices, errors, play buttons, downloads, links and presentation mode of all pages."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from urllib.parse import urlencode

import streamlit as st

from core.messages import first_line, translate
from pages.shared import assets, url_state
from pages.shared.language import _, current, number

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

    from core.device import Placed  # torch, which loads after the server listens
    from core.explain.attribution import Report

PRESENTATION: Final = "present"
MARKS: Final = re.compile(r"[\\`*\[\]<>$|~]|(?<=\w):(?=//)|(?<=www)\.", re.IGNORECASE)
SOON_S: Final = 0.5
"""Seconds before a bar is drawn: as many as Streamlit waits with a spinner."""

T = TypeVar("T")
Views = Mapping[str, tuple[str, Callable[[], object]]]
"""Each a title and what draws it."""


def apply_frame() -> None:
    """Tell the page its language, and how it looks on a projector where one is used. Call once per run."""
    styles = f"<style>{assets.style('presentation.css')}</style>" if presenting() else ""
    script = f'<script>document.documentElement.lang = "{current()}";</script>'
    st.html(styles + script, unsafe_allow_javascript=True)


def presenting() -> bool:
    """Tells whether presentation mode is on: larger text, no controls (`?present=true`)."""
    return st.session_state.get(PRESENTATION, st.query_params.get(PRESENTATION) == "true") is True


def presentation_switch() -> None:
    """The switch of presentation mode: larger text and fewer controls, for a projector."""
    st.toggle(_("Presentation"), key=PRESENTATION, bind="query-params")


def page_header(title: str, lead: str = "") -> None:
    """A page's title and its introductory sentence."""
    st.title(title, anchor=False)
    if lead:
        st.markdown(lead)


def computed_on(placed: Placed) -> str:
    """Name of the kind of device that a model computes on; a notice where it had to leave the GPU."""
    if placed.placement.failure:
        notice("stale", _("The GPU failed: the processor answers in its place, more slowly, until the app starts again."))
    return "GPU" if placed.placement.where == "gpu" else _("Processor").lower()


def opened(label: str, *, icon: str | None = None, key: str) -> DeltaGenerator | None:
    """A box that is closed at first; None while it is, so that its content is made and loaded for who opens it."""
    box = st.expander(label, icon=icon, key=key, on_change="rerun")
    return box if box.open else None


def as_sentence(text: str) -> str:
    """A clause with a capital (unless a file's name comes first) and a full stop; a whole sentence as it is."""
    text = text.strip()
    first = text[:1].upper() if text.split(" ", 1)[0].isalpha() else text[:1]
    return first + text[1:] + ("" if text.endswith((".", "!", "?", "…", ":")) else ".")


def for_markdown(message: str) -> str:
    """A message of core in the reader's language for Markdown, in which what a visitor or a file brought is plain text."""
    return translate(message, value=plain)


def plain(text: str) -> str:
    """Text that Markdown shows as it is: no link, picture, formula, code or tag comes of it."""
    return MARKS.sub(r"\\\g<0>", text)


def error_box(problem: str | Exception, *, remedy: str = "") -> None:
    """An error and its remedy, a sentence each: translated, a message of core, or what was raised; no path of the server."""
    sentence = first_line(problem) if isinstance(problem, OSError) else str(problem)
    st.error(f"{as_sentence(for_markdown(sentence))} {remedy}".strip(), icon=":material/error:")


def cut_link(key: str) -> None:
    """Say that a link's text was too long for the field of this key, where it was."""
    if count := url_state.cut_from(key):
        kept = len(st.session_state[key])
        sentence = _("The link's text has {count} characters: the first {most} are read.")
        notice("stale", sentence.format(count=number(count), most=number(kept)))


def own_text(label: str, *, key: str, samples: Mapping[str, str], most: int) -> str:
    """A text of the reader's own, of at most so many characters, or one of some samples, whose names stand by their texts."""
    field, buttons = st.columns([4, 2.4], vertical_alignment="center")
    with buttons.container(horizontal=True, key=f"{key}_samples"):
        for place, (text, name) in enumerate(samples.items()):
            st.button(name, on_click=st.session_state.update, args=({key: text},), help=text, key=f"{key}_sample_{place}")
    with field:
        first = next(iter(samples))
        written = url_state.text(label, key=key, default=first, max_chars=most, label_visibility="collapsed", placeholder=label)
        cut_link(key)
    return written


def below(views: Views, *, key: str) -> None:
    """Of the views of what lies behind a page's stage the one that the reader chooses."""
    titles = {code: title for code, (title, _draw) in views.items()}
    views[url_state.choice(st.segmented_control, _("Below"), titles, key=key)][1]()


def restore_remedy() -> str:
    """The sentence on what helps where a checkpoint is missing or damaged."""
    return _("Restore the files in assets/checkpoints, or train a model (see the README).")


def no_checkpoint(error: Exception) -> None:
    """Say that a checkpoint is missing or damaged, and what helps."""
    error_box(error, remedy=restore_remedy())


def notice(state: Literal["empty", "loading", "stale", "closed"], sentence: str) -> None:
    """A notice that there is nothing to show (yet, or not to this visitor), or that what is shown is out of date.

    Args:
        sentence: translated, or a message of core.
    """
    icon = {
        "empty": ":material/inbox:",
        "loading": ":material/hourglass_top:",
        "stale": ":material/history:",
        "closed": ":material/lock:",
    }[state]
    shown = st.warning if state == "stale" else st.info
    shown(for_markdown(sentence), icon=icon)


@contextmanager
def progress(text: str) -> Iterator[Report]:
    """A bar from the first report of how much is done until the block ends; a click anywhere on the page ends the block."""
    place = st.empty()

    def report(share: float) -> None:
        place.progress(min(max(share, 0.0), 1.0), text=text)

    yield report
    place.empty()


def counted(items: Collection[T], text: str) -> Iterator[T]:
    """The items one after another, with the text and a bar while they take more than half a second."""
    began = time.monotonic()
    with st.spinner(text), progress("") as report:
        for done, item in enumerate(items):
            if time.monotonic() - began > SOON_S:
                report(done / len(items))
            yield item


def play_button(playing: bool, play: Callable[[bool], None], *, key: str) -> None:
    """A button to pause while it plays, and to play while it is paused; the whole page then runs again.

    They are two widgets, as a browser may report one press twice on a page with a timer: a second press of the same button would
    undo the first.

    Args:
        play: called with True to play, with False to pause.
        key: of the widget; `:play` or `:pause` is added to it.
    """
    st.button(
        _("Pause") if playing else _("Play"),
        icon=":material/pause:" if playing else ":material/play_arrow:",
        key=f"{key}:{'pause' if playing else 'play'}",
        on_click=_played,
        args=(play, not playing),
    )


def _played(play: Callable[[bool], None], wanted: bool) -> None:
    play(wanted)
    st.rerun()


def download_table(label: str, table: Callable[[], pd.DataFrame], *, key: str, filename: str) -> None:
    """Download buttons of a table, as CSV and as Parquet; the table is made when a button is pressed.

    Args:
        label: of what is downloaded; the format is added to it.
        table: makes the table.
        filename: without suffix.
    """
    with st.container(horizontal=True, width="content"):
        for form, encode, mime in (("CSV", _csv, "text/csv"), ("Parquet", _parquet, "application/vnd.apache.parquet")):
            data, end = (lambda encode=encode: encode(table())), form.lower()
            download_bytes(f"{label} ({form})", data, key=f"{key}_{end}", filename=f"{filename}.{end}", mime=mime)


def download_bytes(label: str, data: Callable[[], bytes], *, key: str, filename: str, mime: str) -> None:
    """Download button of a file that is made when the button is pressed, such as a PNG."""
    st.download_button(label, data=data, file_name=filename, mime=mime, key=key, icon=":material/download:", on_click="ignore")


def link_to_view(note: str = "", *, picture: str = "", keeps: str = "") -> None:
    """The page's address with every choice in it, to copy.

    Args:
        note: a caption under the address, such as how long the link works. picture: of the address, HTML.
        keeps: parameter that names what the visitor brought; where the address has it, a caption says how long that is kept.
    """
    if keeps and keeps in st.query_params:
        note = _("Whoever has this link can open it while the app runs: of each visitor the newest few.")
    with st.popover(_("Link to this view"), icon=":material/link:"):
        address_of_view()
        if note:
            st.caption(note)
        if picture:
            st.html(picture)


def address_of_view(**parameters: str) -> None:
    """The address itself, to copy, with these parameters instead of the page's own of the same names."""
    st.code(view_address(**parameters), language=None, wrap_lines=True)


def view_address(**parameters: str) -> str:
    """The page's address with every choice in it, and with these parameters instead of its own of the same names."""
    return f"{st.context.url or ''}?{urlencode(st.query_params.to_dict() | parameters)}"


def _csv(table: pd.DataFrame) -> bytes:
    """The table, with an apostrophe before text that a spreadsheet would run as a formula."""
    return table.map(_quoted).rename(columns=_quoted).to_csv(index=False).encode()


def _quoted(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _parquet(table: pd.DataFrame) -> bytes:
    buffer = BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()
