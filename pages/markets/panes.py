"""Two to six markets side by side, each the terminal in small; a press makes one large."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from core import checkpoints
from core.checkpoints import CheckpointError
from core.market.book import BookError
from core.market.feeds.recording import RecordingFeed, share_moment
from core.market.hub import TooManyFeeds, hub
from core.market.predictor import Predictor, load_predictor
from core.market.session import MarketSession
from core.market.sources import MarketSource
from core.messages import translate
from pages.markets import live_controls, pane_markets, terminal
from pages.markets.live_controls import TerminalChoices
from pages.shared import controls, permissions, streamlit_private
from pages.shared.language import _

OPENED: Final = "panes:opened"
"""Where the code of the market that was pressed waits for the page to run."""


def main() -> None:
    """The page. Its names are functions' own: a script's are part of a cycle, which keeps a session after its last viewer."""
    try:
        predictor = load_predictor(folder=checkpoints.FOLDER)
        sources = pane_markets.chosen()
    except CheckpointError as error:
        controls.no_checkpoint(error)
        st.stop()
    except BookError as error:
        controls.error_box(str(error))
        st.stop()
    _open_pressed(sources)
    live_controls.watch_only({source.key for source in sources})
    bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="livebar")
    with bar:
        st.title(_("Several markets"), anchor=False, width="content")
        pane_markets.pick(sources)
        head, _heads = live_controls.pick_head(predictor)
    if not sources:
        controls.notice("empty", _("There is no pane: add a market above."))
        return
    sessions = {source: _session(source, predictor) for source in sources}
    feeds = [one.feed for one in sessions.values() if isinstance(one, MarketSession)]
    share_moment([one for one in feeds if isinstance(one, RecordingFeed)])
    with bar:
        live_controls.playback([one for one in sessions.values() if isinstance(one, MarketSession)])
        controls.link_to_view()
    wide = 2 if len(sources) <= 4 else 3
    for first in range(0, len(sources), wide):
        columns = st.columns(wide, gap="small")
        for column, source in zip(columns, sources[first : first + wide], strict=False):
            with column:
                _draw_pane(source, sessions[source], head)


def _session(source: MarketSource, predictor: Predictor) -> MarketSession | str:
    """The source's session, or why it cannot be watched."""
    tab, address = streamlit_private.tab(), permissions.visitor().limited_by
    try:
        return hub().watch(tab, source.key, lambda: MarketSession(live_controls.begun(source), predictor), address=address)
    except (BookError, TooManyFeeds) as error:
        return translate(str(error))


def _draw_pane(source: MarketSource, session: MarketSession | str, head: int) -> None:
    if isinstance(session, str):
        controls.error_box(f"{pane_markets.title_of(source)}: {controls.as_sentence(session)}")
        return
    code, venue = pane_markets.code_of(source), pane_markets.symbol_and_venue(source)[1]
    view = TerminalChoices(head=head, heads=(head,), span=120, zone="UTC", small=True)
    key = f"terminal:{code}"
    terminal.draw_terminal(
        session, view, venue=venue, viewer=streamlit_private.tab(), on_command=partial(_take_command, code), key=key
    )


def _take_command(code: str, name: str, _value: Any) -> None:
    if name == "open":
        st.session_state[OPENED] = code


def _open_pressed(sources: list[MarketSource]) -> None:
    """Go to the live page with the market that was pressed. No fragment runs here, whose tick would be run after the switch."""
    code = st.session_state.pop(OPENED, None)
    for source in sources:
        if pane_markets.code_of(source) == code:
            link = pane_markets.link_of(source, horizon=st.query_params.get("h", "50"))
            st.switch_page("pages/markets/live.py", query_params=link)


main()
