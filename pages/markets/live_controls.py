"""The live page's choices: what to watch, how to play it, what to look at. Every one of them lives in the URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

import streamlit as st

from core.market.book import STEP_MS
from core.market.feeds import catalogue
from core.market.feeds.background import background_loop
from core.market.feeds.playback import SPEEDS, PlayedFeed
from core.market.feeds.protocol import Feed
from core.market.feeds.recording import RecordingFeed
from core.market.feeds.simulated import MarketSettings, SimulatedFeed
from core.market.feeds.stream_checks import Way, venue_check
from core.market.labels import LabelKind
from core.market.sources import MarketSource
from core.messages import translate
from pages.markets import recorded_choice
from pages.shared import controls, url_state
from pages.shared.language import _, duration, number

FASTEST: Final = "max"
MAX_PATIENCE_S: Final = 15.0
"""Longest time that an exchange may take to list its markets, seconds."""


@dataclass(frozen=True, kw_only=True)
class ViewChoices:
    """Choices of the reader.

    Attributes:
        head: index of the chosen label and horizon; heads_of_label: indices of all horizons of that label, nearest first.
    """

    head: int
    label: LabelKind
    horizon: int
    heads_of_label: tuple[int, ...]


def horizon_name(steps: int) -> str:
    """A horizon in steps and in seconds: "10 steps (2.5 s)"."""
    return _("{steps} steps ({time})").format(steps=number(steps), time=duration(steps * STEP_MS / 1e3))


def pick_source(*, first: str | None = None) -> MarketSource | None:
    """The source pickers. None where what was chosen cannot be watched; the page has then said why.

    Args:
        first: name of the recording that opens where the link names none.
    """
    kinds = {"recording": _("Recording"), "live": _("Live exchange"), "simulated": _("Simulated")}
    kind = url_state.choice(st.segmented_control, _("Source"), kinds, key="source", required=True, width="stretch")
    with st.container():
        if kind == "live":
            return _pick_live()
        if kind == "simulated":
            seed = url_state.number_input(
                _("Seed"), 0, 9_999, key="seed", default=7, help=_("The same seed and settings give the same market.")
            )
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
    soon = _("Noticed with the next message; rows since then do not count.")
    way, lost = {
        Way.NUMBERS: (_("update numbers"), soon),
        Way.CHECKSUM: (_("checksums"), soon),
        Way.WHOLE: (_("whole books"), _("Nothing: the next message holds the whole book.")),
        Way.COMPARED: (
            _("comparison"),
            _("Noticed within seconds by the book on request, unless a later update of that level comes first."),
        ),
        Way.UNCHECKED: (
            _("not checked"),
            _("Nothing would notice it: its rows stay provisional, and are neither recorded nor scored."),
        ),
        Way.ASKED: (_("no stream"), _("Nothing can be lost: each book is asked for.")),
    }[venue_check(exchange, streams=streams).way]
    st.caption(_("How its stream is checked: {way}. A lost update: {lost}").format(way=way, lost=lost))


def _symbols(exchange: str) -> tuple[list[str], str]:
    """Symbols to offer, or a sentence where the exchange does not list them. Asked for once a visit."""
    key = f"live:symbols:{exchange}"
    if key not in st.session_state:
        with st.spinner(_("Asking the exchange which markets it has…"), show_time=True):
            asked = background_loop().submit(catalogue.markets(exchange))
            try:
                symbols, problem = asked.result(timeout=MAX_PATIENCE_S), ""
            except (catalogue.CatalogueUnavailable, TimeoutError) as error:
                asked.cancel()
                symbols, problem = [], str(error)
        st.session_state[key] = symbols, problem
    return cast("tuple[list[str], str]", st.session_state[key])


def begun(source: MarketSource) -> Feed:
    """The source's feed, a recording at the second that the link names, so that nothing before it is worked through."""
    feed = source.feed()
    if isinstance(feed, RecordingFeed):
        second = url_state.whole_number(st.query_params.get("at"), 0, int(feed.duration), 0)
        if second:
            feed.seek(row_at(feed, second))
    return feed


def row_at(feed: RecordingFeed, second: int) -> int:
    """The row that a recording has at this second."""
    return min(feed.length - 1, second * 1000 // STEP_MS)


def pick_speed(feed: PlayedFeed) -> None:
    """The speed of what is played."""
    speeds = {str(speed): f"{speed:g}x" for speed in SPEEDS} | {FASTEST: _("As fast as it goes")}
    now = FASTEST if feed.speed is None else str(float(feed.speed))
    if linked := url_state.real_number(st.query_params.get("speed"), 0.0):  # one that is not offered is the nearest that is
        st.query_params["speed"] = str(min(SPEEDS, key=lambda speed: abs(speed - linked)))
    chosen = url_state.choice(
        st.selectbox, _("Speed"), speeds, key="speed", default="1.0", width=110, label_visibility="collapsed"
    )
    if chosen != now and chosen != st.session_state.get("live:speed"):
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
                help=_("Makes the price drift and the sizes near the touch lean: watch the prediction follow."),
            )
    wanted = MarketSettings(volatility_bps=volatility, spread_ticks=spread, pressure=pressure)
    before: MarketSettings = st.session_state.get(f"levers:{feed.key}", plain)
    if wanted != before:
        feed.adjust(volatility_bps=volatility, spread_ticks=spread, pressure=pressure)
    st.session_state[f"levers:{feed.key}"] = wanted
