"""The switch that records the market on the screen, with the recording's size, span, gaps and the disk left."""

from collections.abc import Callable

import streamlit as st

from core.market.book import BookError
from core.market.hub import TooManyFeeds
from core.market.recorder import RecordingStatus
from core.market.session import MarketSession
from core.service import recordings
from core.service.access import Action, NotAllowed
from pages.markets import pane_markets
from pages.shared import controls, permissions
from pages.shared.language import _, duration, number, size


def draw_record_switch(session: MarketSession, begin: Callable[[], MarketSession]) -> None:
    """Draw the switch, and below it what is recorded.

    Args:
        begin: makes a session of the same feed, should this one be gone.
    """
    key = session.feed.key
    now = recordings.status(key)
    if not permissions.guard(Action.RECORD):
        return
    running = bool(now and now.running)
    # Each state has a switch of its own. One switch whose value every run sets anew loses a click that comes during a run: the
    # browser takes the value that the run sends for a second click.
    st.toggle(
        _("Record this market"),
        value=running,
        key=f"record:{key}:{running}",
        on_change=_stop if running else _start,
        args=(key,) if running else (key, begin),
        help=_("It goes on when this page is closed, and again when the app starts anew, until it is off."),
    )
    if now is not None:
        _progress(key)


def show_running() -> None:
    """The markets that are being recorded now, each with a button that ends it."""
    keys = recordings.running(permissions.visitor())
    if not keys:
        return
    with st.container(border=True):
        for key in keys:
            now = recordings.status(key)
            if now is None:
                continue
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{controls.for_markdown(pane_markets.title_of_feed(key))}**", width="content")
                st.caption(describe(now), width="content")
                st.button(_("Stop"), icon=":material/stop:", key=f"record:stop:{key}", on_click=_stop, args=(key,))


def _start(key: str, begin: Callable[[], MarketSession]) -> None:
    try:
        recordings.start(permissions.visitor(), key, begin)
    except (BookError, OSError, TooManyFeeds) as error:
        st.toast(controls.for_markdown(str(error)), icon=":material/error:")


def _stop(key: str) -> None:
    try:
        recordings.stop(permissions.visitor(), key)
    except NotAllowed as error:
        st.toast(controls.for_markdown(str(error)), icon=":material/error:")


@st.fragment(run_every=2.0)
def _progress(key: str) -> None:
    now = recordings.status(key)
    if now is None:
        return
    if now.problem:
        controls.error_box(now.problem)
    st.caption(describe(now))
    if not now.running:
        st.page_link("pages/markets/library.py", label=_("Recordings"), icon=":material/video_library:")


def describe(now: RecordingStatus) -> str:
    """A recording's numbers in a line."""
    state = _("Recording") if now.running else _("Recorded")
    return _("{state}: {span}, rows: {rows}, gaps: {gaps}, {size}; {free} left on the disk.").format(
        state=state,
        span=duration(now.seconds),
        rows=number(now.rows),
        gaps=number(now.gaps),
        size=size(now.size),
        free=size(now.free),
    )
