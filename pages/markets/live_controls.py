"""The live page's choices: what to watch, how to play it, what to look at. Every one of them lives in the URL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, cast

import streamlit as st

from core.market import library
from core.market.book import STEP_MS
from core.market.feeds import catalogue
from core.market.feeds.background import background_loop
from core.market.feeds.market_process import MarketSettings
from core.market.feeds.pacing import SPEEDS
from core.market.feeds.playback import PlayedFeed
from core.market.feeds.protocol import Feed
from core.market.feeds.recording import RecordingFeed
from core.market.feeds.simulated import SimulatedFeed
from core.market.labels import LabelKind
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.market.sources import LiveSource, MarketSource, RecordingSource, SimulatedSource
from pages.shared import controls, url_state
from pages.shared.language import _, duration, moment, number

FASTEST: Final = "max"
MOST_PATIENCE_S: Final = 15.0
"""How long an exchange may take to list its markets."""


@dataclass(frozen=True, kw_only=True)
class ViewChoices:
    """What the reader wants to see.

    Attributes:
        head: index of the chosen label and horizon; heads_of_label: indices of all horizons of that label, nearest first.
        rows: of history drawn. book: "ladder" or "depth".
    """

    head: int
    label: LabelKind
    horizon: int
    heads_of_label: tuple[int, ...]
    rows: int
    book: str


def horizon_name(steps: int) -> str:
    """A horizon in steps and in seconds: "10 steps (2.5 s)"."""
    return _("{steps} steps ({time})").format(steps=number(steps), time=duration(steps * STEP_MS / 1e3))


def pick_source() -> MarketSource | None:
    """The source pickers. None where what was chosen cannot be watched; the page has then said why."""
    kinds = {"recording": _("Recording"), "live": _("Live exchange"), "simulated": _("Simulated")}
    left, right = st.columns([2, 3])
    with left:
        kind = url_state.choice(st.segmented_control, _("Source"), kinds, key="source", required=True, width="stretch")
    with right:
        if kind == "live":
            return _pick_live()
        if kind == "simulated":
            seed = st.number_input(
                _("Seed"),
                0,
                9_999,
                7,
                key="seed",
                bind="query-params",
                help=_("The same seed and settings give the same market."),
            )
            return SimulatedSource(seed=int(seed))
        kinds_of_market = {"spot": _("spot"), "perpetual": _("perpetual")}
        options = {
            one.name: f"{one.symbol} · {one.venue} {kinds_of_market[one.kind]} · {duration(one.duration_s)}"
            for one in library.recordings()
        }
        return RecordingSource(name=url_state.choice(st.selectbox, _("Recording"), options, key="rec"))


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
    if problem:
        st.caption(_("{problem} Only well-known symbols are listed; any other can be typed.").format(problem=problem))
    if not symbol:
        controls.notice("empty", _("Choose or type a symbol to watch."))
        return None
    return LiveSource(exchange=exchange, symbol=str(symbol))


def _symbols(exchange: str) -> tuple[list[str], str]:
    """Symbols to offer, and a sentence where they are only the well-known ones. Asked for once a visit."""
    key = f"live:symbols:{exchange}"
    if key not in st.session_state:
        with st.spinner(_("Asking the exchange which markets it has…"), show_time=True):
            asked = background_loop().submit(catalogue.markets(exchange))
            try:
                found, problem = asked.result(timeout=MOST_PATIENCE_S), ""
            except (catalogue.CatalogueUnavailable, TimeoutError) as error:
                asked.cancel()
                found, problem = catalogue.common_markets(exchange), str(error)
        st.session_state[key] = ([one.symbol for one in found], problem)
    return cast("tuple[list[str], str]", st.session_state[key])


def pick_view(predictor: Predictor) -> ViewChoices:
    """What to draw and which head to follow."""
    labels = {"smoothed": _("Smoothed"), "forward": _("Forward")}
    present = {kind: text for kind, text in labels.items() if any(head[0] == kind for head in predictor.heads)}
    first, second, third, fourth = st.columns([3, 3, 2, 2])
    with first:
        label = cast(
            LabelKind,
            url_state.choice(
                st.segmented_control,
                _("Label"),
                present,
                key="label",
                required=True,
                help=_(
                    "What a prediction is held to. Smoothed compares two averages, one of them past; forward compares the mean "
                    "of the next mids with the mid now."
                ),
            ),
        )
    mine = [i for i, (kind, _steps) in enumerate(predictor.heads) if kind == label]
    steps = {str(predictor.heads[i][1]): horizon_name(predictor.heads[i][1]) for i in mine}
    with second:
        horizon = int(url_state.choice(st.selectbox, _("Horizon"), steps, key="h"))
    with third:
        spans = {str(seconds): duration(seconds) for seconds in (60, 120, 300, 600)}
        span = int(url_state.choice(st.selectbox, _("History"), spans, key="span", default="120"))
    with fourth:
        book = url_state.choice(
            st.segmented_control, _("Book"), {"ladder": _("Ladder"), "depth": _("Depth")}, key="book", required=True
        )
    return ViewChoices(
        head=predictor.head(label, horizon),
        label=label,
        horizon=horizon,
        heads_of_label=tuple(mine),
        rows=span * 1000 // STEP_MS,
        book=book,
    )


def begun(source: MarketSource) -> Feed:
    """The source's feed, a recording at the second that the link names, so that nothing before it is worked through."""
    feed, asked = source.feed(), st.query_params.get("at", "")
    if isinstance(feed, RecordingFeed) and asked.isdecimal():
        feed.seek(_row_at(feed, int(asked)))
    return feed


def _row_at(feed: RecordingFeed, second: int) -> int:
    return min(feed.length - 1, second * 1000 // STEP_MS)


def playback(session: MarketSession) -> None:
    """Pause, step, speed and place of what can be played; the simulation's levers. They act for everyone who watches it."""
    feed = session.feed
    if not isinstance(feed, PlayedFeed):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        controls.play_button(not feed.paused, lambda wanted: (feed.resume if wanted else feed.pause)(), key="feed")
        if st.button(_("Step"), icon=":material/skip_next:", key="step", disabled=not feed.paused, help=_("One row of 250 ms.")):
            feed.step()
        _speed(feed)
        if isinstance(feed, RecordingFeed):
            _seek(feed)
    if isinstance(feed, SimulatedFeed):
        _levers(feed)


def _speed(feed: PlayedFeed) -> None:
    speeds = {str(speed): f"{speed:g}x" for speed in SPEEDS} | {FASTEST: _("As fast as it goes")}
    now = FASTEST if feed.speed is None else str(float(feed.speed))
    chosen = url_state.choice(st.selectbox, _("Speed"), speeds, key="speed", default="1.0", width=190)
    if chosen != now and chosen != st.session_state.get("live:speed"):
        feed.set_speed(None if chosen == FASTEST else float(chosen))
    st.session_state["live:speed"] = chosen


def _seek(feed: RecordingFeed) -> None:
    """Jump to a minute; the link remembers it."""
    last = int(feed.duration // 1)

    def jump() -> None:
        feed.seek(_row_at(feed, int(st.session_state["at"])))

    st.slider(
        _("Go to second"),
        0,
        last,
        0,
        key="at",
        bind="query-params",
        on_change=jump,
        width=320,
        help=_("The recording starts at {time}; what was scored before a jump back is scored anew.").format(time=moment_of(feed)),
    )
    asked = int(st.session_state["at"])
    if asked and st.session_state.get("live:sought") != (feed.key, asked) and feed.position * STEP_MS // 1000 < asked:
        jump()  # a link opens where it was made
    st.session_state["live:sought"] = (feed.key, asked)


def moment_of(feed: RecordingFeed) -> str:
    """When a recording begins, in the reader's zone."""
    return moment(datetime.fromtimestamp(feed.started_ms / 1e3, UTC))


def _levers(feed: SimulatedFeed) -> None:
    """The simulation's settings: this visitor's, from the first change of a lever on (or at once, where the link names one)."""
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
                help=_("Makes the price drift and the sizes near the touch lean: watch the prediction follow."),
            )
    wanted = MarketSettings(volatility_bps=volatility, spread_ticks=spread, pressure=pressure)
    before: MarketSettings = st.session_state.get(f"levers:{feed.key}", plain)
    if wanted != before:
        feed.adjust(volatility_bps=volatility, spread_ticks=spread, pressure=pressure)
    st.session_state[f"levers:{feed.key}"] = wanted
