"""The live page's one row of controls: what to watch, how to play it, what to draw. Every choice lives in the URL."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import streamlit as st

from core.market.book import STEP_MS
from core.market.feeds import catalogue
from core.market.feeds.background import BACKGROUND_LOOP
from core.market.feeds.playback import SPEEDS, PlayedFeed
from core.market.feeds.protocol import Feed
from core.market.feeds.recording import RecordingFeed
from core.market.feeds.simulated import MarketSettings, SimulatedFeed
from core.market.feeds.stream_checks import Way, venue_check
from core.market.hub import hub, kind_of
from core.market.labels import LabelKind
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.market.sources import MarketSource
from core.messages import translate
from pages.markets import recorded_choice
from pages.shared import controls, url_state
from pages.shared.language import _, duration, number
from pages.shared.streamlit_private import tab

FASTEST: Final = "max"
OPENS_WITH: Final = "binance_spot_btcusdt_2024-08-08"
"""The recording that opens: trades throughout, and a fall of 100 dollars in its first minutes."""
FIRST_STEPS: Final = 50
"""The horizon that it opens with."""
WATCHED: Final = "markets:keys"
"""Session key: the feeds that this visit watches."""
SHARED: Final = "with"
"""URL parameter: the code of a playback that several viewers share."""
MAX_LINES: Final = 12
MINIMAP_POINTS: Final = 600
LIKELY: Final = "BTC/USDT"
"""Symbol to begin with where an exchange does not list its markets."""


@dataclass(frozen=True, kw_only=True)
class TerminalChoices:
    """Choices of the reader.

    Attributes:
        head: index of the chosen label and horizon. heads: indices of that label's horizons, nearest first.
        span: seconds drawn while following the newest row.
        zone: "UTC" or a name of the browser's time zone.
        bars: seconds of a price bar; 0 for the best prices at every step. smallest, resting: size of the smallest trade, and of
            the smallest resting size, drawn.
        cumulative: whether the volume delta is summed since the last gap.
        lines: prices of the reader's own lines. minimap: outline of a whole recording, see `RecordingFeed.outline`.
        small: whether it is one pane of several.
    """

    head: int
    heads: tuple[int, ...]
    span: int
    zone: str
    bars: int = 0
    smallest: float = 0.0
    resting: float = 0.0
    cumulative: bool = False
    lines: tuple[float, ...] = ()
    minimap: dict[str, Any] | None = None
    small: bool = False


def horizon_name(steps: int) -> str:
    """A horizon in steps and in seconds: "10 steps (2.5 s)"."""
    return _("{steps} steps ({time})").format(steps=number(steps), time=duration(steps * STEP_MS / 1e3))


def pick_source(*, first: str | None = None) -> MarketSource | None:
    """The source pickers. None where what was chosen cannot be watched; the page has then said why.

    Args:
        first: name of the recording that opens where the link names none.
    """
    kinds = {"recording": _("Recording"), "live": _("Live exchange"), "simulated": _("simulated").capitalize()}
    kind = url_state.choice(st.segmented_control, _("Source"), kinds, key="source", width="stretch")
    with st.container():
        if kind == "live":
            return _pick_live()
        if kind == "simulated":
            seed = url_state.number_input(_("Seed"), 0, 9_999, key="seed", default=7)
            return MarketSource(kind="simulated", name=str(int(seed)))
        return MarketSource(kind="recording", name=recorded_choice.pick_one(first=first))


def _pick_live() -> MarketSource | None:
    with st.spinner(_("Listing the exchanges…"), show_time=True):
        entries = catalogue.exchanges()
    names = {one.id: one.name if one.socket else _("{name} (polled)").format(name=one.name) for one in entries}
    left, right = st.columns(2)
    with left:
        exchange = url_state.choice(st.selectbox, _("Exchange"), names, key="ex", default="binance")
    symbols, problem = _symbols(exchange)
    typed = st.query_params.get("sym")
    options = ([typed] if typed and typed not in symbols else []) + symbols
    with right:
        symbol = st.selectbox(
            _("Symbol"),
            options,
            key=f"sym:{exchange}",
            index=options.index(typed) if typed in options else 0 if options else None,
            accept_new_options=True,
            placeholder=_("Type a symbol"),
            help=_("Spot like BTC/USDT, perpetual like BTC/USDT:USDT. Type to search."),
        )
    url_state.remember("sym", symbol)
    _say_check(exchange, next((one.socket for one in entries if one.id == exchange), False))
    if problem:
        st.caption(_("{problem} A symbol can be typed.").format(problem=translate(problem)))
    if not symbol:
        controls.notice("empty", _("Choose or type a symbol to watch."))
        return None
    return MarketSource(kind="live", name=f"{exchange}/{symbol}")


def _say_check(exchange: str, streams: bool) -> None:
    """Says how a lost update of this exchange would be noticed (docs/faults.md has all of them)."""
    soon = _("A lost update is noticed with the next message; rows since then do not count.")
    said = {
        Way.NUMBERS: soon,
        Way.CHECKSUM: soon,
        Way.WHOLE: _("A lost update costs nothing: the next message holds the whole book."),
        Way.COMPARED: _("A lost update is noticed within seconds, unless a later one of that level comes first."),
        Way.UNCHECKED: _("Nothing would notice a lost update: rows stay provisional, and are neither recorded nor scored."),
        Way.ASKED: _("Nothing can be lost: each book is asked for."),
    }
    st.caption(said[venue_check(exchange, streams=streams).way])


def _symbols(exchange: str) -> tuple[list[str], str]:
    """Symbols to offer, or a sentence where the exchange does not list them. Asked for once a visit."""
    key = f"live:symbols:{exchange}"
    if key not in st.session_state:
        with st.spinner(_("Asking the exchange which markets it has…"), show_time=True):
            try:
                symbols, problem = BACKGROUND_LOOP.submit(catalogue.markets(exchange)).result(), ""
            except catalogue.CatalogueUnavailable as error:
                symbols, problem = [LIKELY], str(error)
        st.session_state[key] = symbols, problem
    return cast("tuple[list[str], str]", st.session_state[key])


def begun(source: MarketSource) -> Feed:
    """The source's feed, a recording at the second that the link names, so that nothing before it is worked through.

    Without one a recording opens where there is something to see.
    """
    feed = source.feed()
    if isinstance(feed, RecordingFeed):
        second = url_state.whole_number(st.query_params.get("at"), 0, int(feed.duration), feed.opens_at)
        if second:
            feed.seek(row_at(feed, second))
    return feed


def row_at(feed: RecordingFeed, second: int) -> int:
    """The row that a recording has at this second."""
    return min(feed.length - 1, second * 1000 // STEP_MS)


def pick_speed(feeds: Sequence[PlayedFeed]) -> None:
    """The speed of what is played, one for all."""
    speeds = {str(speed): f"{speed:g}x" for speed in SPEEDS} | {FASTEST: _("As fast as it goes")}
    now = {FASTEST if feed.speed is None else str(float(feed.speed)) for feed in feeds}
    if linked := url_state.real_number(st.query_params.get("speed"), 0.0):  # one that is not offered is the nearest that is
        st.query_params["speed"] = str(min(SPEEDS, key=lambda speed: abs(speed - linked)))
    chosen = url_state.choice(
        st.selectbox, _("Speed"), speeds, key="speed", default="1.0", width=110, label_visibility="collapsed"
    )
    if now != {chosen} and chosen != st.session_state.get("live:speed"):
        for feed in feeds:
            feed.set_speed(None if chosen == FASTEST else float(chosen))
    st.session_state["live:speed"] = chosen


def simulation_settings(feed: Feed) -> None:
    """A simulation's settings: this visitor's, from the first change of a lever on (or at once, where the link names one)."""
    if not isinstance(feed, SimulatedFeed):
        return
    plain = MarketSettings()
    with st.container(border=True):
        first, second, third = st.columns(3)
        with first:
            volatility = st.slider(
                _("Volatility (bps in a second)"), 0.0, 10.0, plain.volatility_bps, 0.1, key="vol", bind="query-params"
            )
        with second:
            spread = st.slider(_("Spread (ticks)"), 1, 20, plain.spread_ticks, key="spread", bind="query-params")
        with third:
            pressure = st.slider(
                _("Pressure (-1 sell, 1 buy)"),
                -1.0,
                1.0,
                plain.pressure,
                0.05,
                key="pressure",
                bind="query-params",
            )
    wanted = MarketSettings(volatility_bps=volatility, spread_ticks=spread, pressure=pressure)
    before: MarketSettings = st.session_state.get(f"levers:{feed.key}", plain)
    if wanted != before:
        feed.adjust(wanted)
    st.session_state[f"levers:{feed.key}"] = wanted


def watch_only(keys: Iterable[str]) -> None:
    """Leave every feed that this visit watched until now, except these."""
    wanted = set(keys)
    for key in st.session_state.get(WATCHED, set()) - wanted:
        hub().leave(tab(), key)
    st.session_state[WATCHED] = wanted


def owner() -> str:
    """Owner of the playback that this page shows: the code in the link, else one of this visit's own."""
    linked = st.query_params.get(SHARED, "")
    if linked.isalnum() and len(linked) <= 16:
        return linked
    return cast(str, st.session_state.setdefault("live:owner", secrets.token_hex(4)))


def pick_head(predictor: Predictor) -> tuple[int, tuple[int, ...]]:
    """The head to follow, of the forward label (D24) or of the smoothed one where there is no other; and all of that label's."""
    kinds = {kind for kind, _horizon in predictor.heads}
    label: LabelKind = "forward" if "forward" in kinds else "smoothed"
    heads = tuple(i for i, head in enumerate(predictor.heads) if head[0] == label)
    steps = {str(predictor.heads[i][1]): horizon_name(predictor.heads[i][1]) for i in heads}
    horizon = int(
        url_state.choice(
            st.selectbox, _("Horizon"), steps, key="h", default=str(FIRST_STEPS), label_visibility="collapsed", width=170
        )
    )
    return predictor.head(label, horizon), heads


def pick_view(head: int, heads: tuple[int, ...], feed: object) -> TerminalChoices:
    """Asks in a popover what is drawn and how."""
    spans = {str(seconds): duration(seconds) for seconds in (30, 60, 120, 300, 600, 1200)}
    spans_of_bars = {
        "0": _("best bid and ask").capitalize(),
        **{str(n): _("Bars of {span}").format(span=duration(n)) for n in (5, 15, 60)},
    }
    zones = {"UTC": "UTC", "local": _("My time zone")}
    with st.popover(_("View"), icon=":material/tune:", width="content"):
        span = int(url_state.choice(st.selectbox, _("History"), spans, key="span", default="120"))
        bars = int(url_state.choice(st.selectbox, _("Price as"), spans_of_bars, key="bars"))
        smallest = url_state.number_input(_("Smallest trade drawn"), 0.0, 1e9, key="least", default=0.0, format="%g")
        resting = url_state.number_input(_("Smallest resting size drawn"), 0.0, 1e9, key="rest", default=0.0, format="%g")
        cumulative = st.toggle(_("Bought less sold, summed since the last gap"), key="cumulative", bind="query-params")
        zone = url_state.choice(st.selectbox, _("Times in"), zones, key="zone")
    return TerminalChoices(
        head=head,
        heads=heads,
        span=span,
        zone="UTC" if zone == "UTC" else (st.context.timezone or "UTC"),
        bars=bars,
        smallest=smallest,
        resting=resting,
        cumulative=cumulative,
        lines=lines(),
        minimap=feed.outline(MINIMAP_POINTS) if isinstance(feed, RecordingFeed) else None,
    )


def lines() -> tuple[float, ...]:
    """Prices of the reader's own lines, from the link."""
    texts = st.query_params.get("lines", "").split("_")[:MAX_LINES]
    prices = (url_state.real_number(text, None) for text in texts)
    return tuple(price for price in prices if price is not None and price > 0)


def playback(sessions: Sequence[MarketSession]) -> None:
    """Play or pause, one step, and the speed, of all that can be played."""
    feeds = [one.feed for one in sessions if isinstance(one.feed, PlayedFeed) and kind_of(one.feed.key) != "shared"]
    if not feeds:
        return
    still = all(feed.paused for feed in feeds)
    controls.play_button(not still, lambda wanted: set_playing(feeds, wanted), key="feed")
    if st.button(_("Step"), icon=":material/skip_next:", key="step", disabled=not still):
        for feed in feeds:
            feed.step()
    pick_speed(feeds)


def set_playing(feeds: Sequence[PlayedFeed], playing: bool) -> None:
    """Play or pause; the moment of one paused recording goes into the link."""
    for feed in feeds:
        (feed.resume if playing else feed.pause)()
    if len(feeds) == 1:
        remember_moment(feeds[0])


def moment_now(feed: object) -> dict[str, str]:
    """The URL parameter of a recording's present second; empty where it opens without one, and for other feeds."""
    second = feed.position * STEP_MS // 1000 if isinstance(feed, RecordingFeed) else 0
    return {"at": str(second)} if isinstance(feed, RecordingFeed) and second != feed.opens_at else {}


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
        feed.seek(row_at(feed, max(0, value)))
        remember_moment(feed)
    elif name == "recording":
        st.session_state["source"] = "recording"
    elif name == "present":
        st.session_state[controls.PRESENTATION] = bool(value)
    elif name == "play" and isinstance(feed, PlayedFeed):
        set_playing([feed], feed.paused)


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
