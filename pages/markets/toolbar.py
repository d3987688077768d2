"""The live page's one row of controls: what to watch, play, how fast, which head, what to draw."""

from __future__ import annotations

import secrets
from typing import Final, cast

import streamlit as st

from core.market.book import STEP_MS
from core.market.feeds.playback import PlayedFeed
from core.market.feeds.recording import RecordingFeed
from core.market.hub import kind_of
from core.market.labels import LabelKind
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.market.sources import MarketSource
from pages.markets import live_controls
from pages.markets.live_controls import ViewChoices
from pages.markets.terminal import TerminalChoices
from pages.shared import controls, url_state
from pages.shared.language import _, duration, number

OPENS_WITH: Final = "binance_spot_btcusdt_2024-08-08"
"""The recording that opens: trades throughout, and a fall of 100 dollars in its first minutes."""
SHARED: Final = "with"
"""URL parameter: the code of a playback that several viewers share."""
MAX_LINES: Final = 12
MINIMAP_POINTS: Final = 600


def owner() -> str:
    """Owner of the playback that this page shows: the code in the link, else one of this visit's own."""
    linked = st.query_params.get(SHARED, "")
    if linked.isalnum() and len(linked) <= 16:
        return linked
    return cast(str, st.session_state.setdefault("live:owner", secrets.token_hex(4)))


def pick_source() -> MarketSource | None:
    """The source, chosen in a popover; None where what was chosen cannot be watched."""
    with st.popover(_("Market"), icon=":material/candlestick_chart:", width="content"):
        source = live_controls.pick_source(first=OPENS_WITH)
    return source and source.played_by(owner())


def pick_head(predictor: Predictor) -> ViewChoices:
    """The horizon to follow, of the forward label (D24); of the smoothed one for a checkpoint that has no other."""
    kinds = {kind for kind, _horizon in predictor.heads}
    label: LabelKind = "forward" if "forward" in kinds else "smoothed"
    heads = tuple(i for i, head in enumerate(predictor.heads) if head[0] == label)
    steps = {str(predictor.heads[i][1]): live_controls.horizon_name(predictor.heads[i][1]) for i in heads}
    horizon = int(
        url_state.choice(st.selectbox, _("Horizon"), steps, key="h", default="50", label_visibility="collapsed", width=170)
    )
    return ViewChoices(head=predictor.head(label, horizon), label=label, horizon=horizon, heads_of_label=heads)


def pick_view(choices: ViewChoices, feed: object) -> TerminalChoices:
    """Asks in a popover what is drawn and how."""
    spans = {str(seconds): duration(seconds) for seconds in (30, 60, 120, 300, 600, 1200)}
    groupings = {"0": _("Fit the book"), **{str(n): _("{count} ticks").format(count=number(n)) for n in (1, 5, 10, 50)}}
    spans_of_bars = {"0": _("Best bid and ask"), **{str(n): _("Bars of {span}").format(span=duration(n)) for n in (5, 15, 60)}}
    zones = {"UTC": "UTC", "local": _("My time zone")}
    with st.popover(_("View"), icon=":material/tune:", width="content"):
        span = int(url_state.choice(st.selectbox, _("History"), spans, key="span", default="120"))
        grouping = int(url_state.choice(st.selectbox, _("Price rows"), groupings, key="ticks"))
        contrast = url_state.slider(_("Contrast of resting size"), 0.3, 3.0, key="contrast", default=1.0, step=0.1)
        bars = int(url_state.choice(st.selectbox, _("Price as"), spans_of_bars, key="bars"))
        smallest = url_state.number_input(_("Smallest trade drawn"), 0.0, 1e9, key="least", default=0.0, format="%g")
        cumulative = st.toggle(_("Volume delta summed since the last gap"), key="cumulative", bind="query-params")
        zone = url_state.choice(st.selectbox, _("Times in"), zones, key="zone")
    return TerminalChoices(
        head=choices.head,
        heads=choices.heads_of_label,
        span=span,
        grouping=grouping,
        contrast=contrast,
        zone="UTC" if zone == "UTC" else (st.context.timezone or "UTC"),
        bars=bars,
        smallest=smallest,
        cumulative=cumulative,
        lines=lines(),
        minimap=feed.outline(MINIMAP_POINTS) if isinstance(feed, RecordingFeed) else None,
    )


def lines() -> tuple[float, ...]:
    """Prices of the reader's own lines, from the link."""
    texts = st.query_params.get("lines", "").split("_")[:MAX_LINES]
    prices = (url_state.real_number(text, None) for text in texts)
    return tuple(price for price in prices if price is not None and price > 0)


def playback(session: MarketSession) -> None:
    """Play or pause, one step, and the speed, of what can be played."""
    feed = session.feed
    if not isinstance(feed, PlayedFeed) or kind_of(feed.key) == "shared":
        return
    controls.play_button(not feed.paused, lambda wanted: set_playing(feed, wanted), key="feed")
    if st.button(_("Step"), icon=":material/skip_next:", key="step", disabled=not feed.paused, help=_("One row of 250 ms.")):
        feed.step()
    live_controls.pick_speed(feed)


def set_playing(feed: PlayedFeed, playing: bool) -> None:
    """Play or pause; a paused recording's moment goes into the link."""
    if playing:
        feed.resume()
    else:
        feed.pause()
    remember_moment(feed)


def moment_now(feed: object) -> dict[str, str]:
    """The URL parameter of a recording's present second; empty at its beginning and for other feeds."""
    second = feed.position * STEP_MS // 1000 if isinstance(feed, RecordingFeed) else 0
    return {"at": str(second)} if second else {}


def remember_moment(feed: object) -> None:
    """Put a recording's second into the link, so that it opens where it was copied."""
    if isinstance(feed, RecordingFeed):
        url_state.remember("at", moment_now(feed).get("at"))


def carry_out(session: MarketSession, name: str, value: object, heads: tuple[int, ...]) -> None:
    """A key or a press on the screen: play, horizon, seek, lines, presentation."""
    feed = session.feed
    if kind_of(feed.key) == "shared" and name in ("seek", "play"):
        return
    if name == "lines" and isinstance(value, list):
        prices = [f"{float(price):.10g}" for price in value[:MAX_LINES]]
        url_state.remember("lines", "_".join(prices) or None)
    elif name == "horizon" and isinstance(value, int) and 0 <= value < len(heads):
        st.session_state["h"] = str(session.predictor.heads[heads[value]][1])
    elif name == "seek" and isinstance(feed, RecordingFeed) and isinstance(value, int):
        feed.seek(live_controls.row_at(feed, max(0, value)))
        remember_moment(feed)
    elif name == "present":
        st.session_state[controls.PRESENTATION] = bool(value)
    elif name == "play" and isinstance(feed, PlayedFeed):
        set_playing(feed, feed.paused)


def link(session: MarketSession) -> None:
    """The address of this view, a recording's at this moment; of what is played, also for others to join this very playback."""
    with st.popover(_("Link to this view"), icon=":material/link:", width="content"):
        controls.address_of_view(**moment_now(session.feed))
        if isinstance(session.feed, PlayedFeed):
            st.toggle(
                _("Share this playback"),
                value=st.query_params.get(SHARED) == owner(),
                key="live:share",
                on_change=_share,
                help=_("Whoever opens the link then sees the same moment, and their pause and seek are yours."),
            )


def _share() -> None:
    url_state.remember(SHARED, owner() if st.session_state["live:share"] else None)
