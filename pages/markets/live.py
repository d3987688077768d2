"""The live order book: what TLOB says of it, how sure it is, how often it was right, and what it was looking at."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.checkpoints import CheckpointError
from core.market.book import BookError
from core.market.hub import hub
from core.market.library import LibraryError
from core.market.predictor import load_predictor
from core.market.session import MarketSession
from core.market.sources import MarketSource
from pages.markets import live_controls, live_model, live_panels, live_scores
from pages.shared import controls
from pages.shared.language import _

controls.page_header(
    _("Live order book"), _("A real order book, TLOB's prediction for it, and how often that prediction has come true.")
)

try:
    predictor = load_predictor()
except CheckpointError as error:
    controls.error_box(str(error), remedy=_("Restore the files in assets/checkpoints, or train a model (see the README)."))
    st.stop()

picked = live_controls.pick_source()
if picked is None:
    st.stop()
source: MarketSource = picked
view = live_controls.pick_view(predictor)

context = get_script_run_ctx()
viewer = context.session_id if context else "nobody"
before = st.session_state.get("live:key")
if before is not None and before != source.key:
    hub().leave(viewer, before)
st.session_state["live:key"] = source.key

try:
    session = hub().watch(viewer, source.key, lambda: MarketSession(live_controls.begun(source), predictor))
except (BookError, LibraryError) as error:
    controls.error_box(str(error), remedy=_("Choose another source."))
    st.stop()


@st.fragment(run_every=0.25)
def market() -> None:
    """The moving part, four times a second; each run is also the viewer's sign of life."""
    hub().watch(viewer, source.key, lambda: session)
    live_panels.await_step(session)
    live_panels.show(session, view)


@st.fragment(run_every=1.0)
def scores() -> None:
    """What came of the predictions, once a second."""
    live_scores.show(session, view)


live_controls.playback(session)
market()
scores()
live_panels.actions(session, source.key)
live_model.show(predictor, session.entry, view)
