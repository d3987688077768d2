"""Several markets on one page, a row each."""

from __future__ import annotations

import streamlit as st

from core import checkpoints
from core.checkpoints import CheckpointError
from core.market.book import BookError
from core.market.hub import TooManyFeeds, hub
from core.market.predictor import load_predictor
from core.market.session import MarketSession
from core.market.session_view import Status
from core.market.sources import MarketSource
from core.market.store.index import RecordingError
from core.market.wall import WallRow, wall_row
from core.messages import translate
from pages.markets import live_controls, wall_markets, watched_feeds
from pages.shared import controls, permissions, streamlit_private
from pages.shared.language import _

FOLLOW = """<script>
{
  const follow = (left) => {
    const link = document.querySelector(".st-key-wallopen a");
    if (link) link.click();
    else if (left) setTimeout(follow, 50, left - 1);
  };
  follow(100);
}
</script>"""
"""Presses the link of the market that was picked, once it is there."""

controls.page_header(
    _("Watch wall"),
    _("Several markets at once: what TLOB answers, and how its answers have scored beside the best naive rule."),
)
try:
    predictor = load_predictor(folder=checkpoints.FOLDER)
except CheckpointError as error:
    controls.no_checkpoint(error)
    st.stop()
try:
    sources = wall_markets.chosen()
except RecordingError as error:
    controls.error_box(error)
    st.stop()
watched_feeds.watch_only(source.key for source in sources)

with st.container(horizontal=True, vertical_alignment="center", gap="small"):
    wall_markets.pick(sources)
    choices = live_controls.pick_head(predictor)
    controls.link_to_view()


def rows_now() -> tuple[list[tuple[MarketSource, WallRow]], list[str]]:
    """Every market with its row; and, of those that cannot be watched, why."""
    rows, problems = [], []
    by = permissions.visitor()
    for source in sources:
        try:
            session = hub().watch(
                streamlit_private.tab(),
                source.key,
                lambda source=source: MarketSession(source.feed(), predictor),  # type: ignore[misc]
                address=by.limited_by,
            )
        except (BookError, RecordingError, TooManyFeeds) as error:
            problems.append(f"{wall_markets.title_of(source)}: {controls.as_sentence(translate(str(error)))}")
        else:
            rows.append((source, wall_row(session, choices.head)))
    return rows, problems


def open_market(source: MarketSource, row: WallRow) -> None:
    """Go to the live page with this market, by a link that the browser follows at once.

    `st.switch_page` would do it too, but a tick of this page that is under way would then be run last and leave that page blank.
    """
    with st.container(key="wallopen"):
        st.page_link(
            "pages/markets/live.py",
            label=_("Open {symbol} on the live page").format(symbol=row.symbol),
            icon=":material/open_in_full:",
            query_params=wall_markets.link_of(source, horizon=choices.horizon),
        )
        st.html(FOLLOW, unsafe_allow_javascript=True)


@st.fragment(run_every=1.0)
def wall() -> None:
    """The table; each run also keeps its feeds running for this viewer."""
    if not sources:
        controls.notice("empty", _("There is no market on the wall: add one above."))
        return
    rows, problems = rows_now()
    picked = wall_markets.show_table(rows, window=predictor.window, key=",".join(map(wall_markets.code_of, sources)))
    for problem in problems:
        controls.error_box(problem)
    for source, row in rows:
        if row.message and row.status is Status.FAILED:
            controls.error_box(f"{wall_markets.title_of(source)}: {translate(row.message)}")
        elif row.message:
            st.caption(f"{wall_markets.title_of(source)}: {translate(row.message)}")
    if picked is not None:
        open_market(*rows[picked])


wall()
