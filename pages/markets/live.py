"""The live order book on one screen: the market, what TLOB calls, and how often it was right."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from core import checkpoints
from core.checkpoints import CheckpointError
from core.market.book import BookError
from core.market.feeds.protocol import Status
from core.market.hub import TooManyFeeds, hub
from core.market.predictor import DEFAULT, Predictor, load_predictor
from core.market.session import MarketSession
from core.market.sources import MarketSource
from pages.markets import live_controls, live_model, live_scores, pane_markets, record_switch, terminal
from pages.markets.class_names import unknown_market
from pages.markets.live_controls import TerminalChoices
from pages.shared import controls, permissions, streamlit_private
from pages.shared.language import _


def main() -> None:
    """The page. Its names are functions' own: a script's are part of a cycle, which keeps a session after its last viewer."""
    try:
        predictor = load_predictor(live_model.chosen(), folder=checkpoints.FOLDER)
    except CheckpointError as error:
        controls.no_checkpoint(error)
        st.stop()
    bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="livebar")
    with bar:
        st.title(_("Live order book"), anchor=False, width="content")
        with st.popover(_("Market"), icon=":material/candlestick_chart:", width="content"):
            picked = live_controls.pick_source(first=live_controls.OPENS_WITH)
    if picked is None:
        st.stop()
    source: MarketSource = live_model.told_apart(picked.played_by(live_controls.owner()))
    live_controls.watch_only({source.key})

    def start() -> MarketSession:
        """A session of the chosen source, begun at the moment of the link."""
        return MarketSession(live_controls.begun(source), predictor)

    try:
        session = _session(source, start, predictor)
    except BookError as error:
        controls.error_box(error, remedy=_("Choose another source."))
        st.stop()
    except TooManyFeeds as error:
        controls.error_box(error)
        st.stop()
    with bar:
        live_controls.playback([session])
        view = live_controls.pick_view(*live_controls.pick_head(predictor), session.feed)
        live_model.pick()
        live_controls.link(session)
    if session.status_now()[0] in (Status.FAILED, Status.ENDED) and st.button(
        _("Start again"), icon=":material/refresh:", key="restart"
    ):
        hub().restart(session.feed.key, session)
        st.rerun()
    terminal.draw_terminal(
        session,
        view,
        venue=pane_markets.symbol_and_venue(source)[1],
        viewer=streamlit_private.tab(),
        on_command=partial(live_controls.carry_out, session, heads=view.heads),
    )
    with st.container(key="livelevers"):
        live_controls.simulation_settings(session.feed)
    if not controls.presenting():
        unknown_market(session.entry, str(predictor.card["name"]))
        _actions(session, start)
        _below(session, view)
        live_model.draw_model(predictor, session.entry, view.head)


def _session(source: MarketSource, start: Callable[[], MarketSession], predictor: Predictor) -> MarketSession:
    """The source's session; of a recording the one that all share, where others' own playbacks take every place."""
    viewer = streamlit_private.tab()
    try:
        return hub().watch(viewer, source.key, start, address=permissions.visitor().limited_by)
    except TooManyFeeds:
        if source.kind != "recording" or live_model.chosen() != DEFAULT:
            raise
    shared = MarketSource(kind="recording", name=source.name)
    live_controls.watch_only({shared.key})
    session = hub().watch(viewer, shared.key, lambda: MarketSession(shared.feed(), predictor))
    controls.notice("stale", _("Many are watching: this playback is shared by all, and nobody may stop it."))
    return session


def _actions(session: MarketSession, begin: Callable[[], MarketSession]) -> None:
    """Freeze the window, record.

    Args:
        begin: makes a session of the same feed.
    """
    # A link, which the browser follows by itself: after `st.switch_page` a tick of this page's fragments, still under way, would
    # be run last and leave the other page blank.
    st.page_link(
        "pages/markets/attention.py",
        label=_("Freeze this window"),
        icon=":material/ac_unit:",
        query_params={"freeze": session.feed.key},
    )
    record_switch.draw_record_switch(session, begin)


def _below(session: MarketSession, view: TerminalChoices) -> None:
    """All other scores, for who asks for them."""
    box = controls.opened(_("All scores: TLOB, and every naive rule"), icon=":material/scoreboard:", key="all_scores")
    if box is None:
        return

    @st.fragment(run_every=30.0)
    def scores() -> None:
        """The scoreboard, every thirty seconds; the screen's own scores come with each step."""
        live_scores.draw_scores(session, view.head, view.zone)
        live_scores.describe_recalibration(session, view.head)

    @st.fragment(run_every=60.0)
    def worth() -> None:
        """Shows the calls and what they are worth, every minute."""
        live_scores.show_calls(session, view.head, view.zone)

    with box:
        scores()
        worth()


main()
