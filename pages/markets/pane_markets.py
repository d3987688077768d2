"""The markets of several panes: their codes in the URL, and the picker that adds and removes them."""

import re
from collections.abc import Sequence
from typing import Final

import streamlit as st

from core.market.feeds.catalogue import exchange_name
from core.market.sources import MarketSource
from core.market.store import index
from pages.markets import live_controls, recorded_choice
from pages.shared import controls, url_state
from pages.shared.language import _, number

PARAMETER: Final = "panes"
BEFORE: Final = "wall"
"""The parameter's name in links to the table of markets that the panes took the place of."""
KEPT: Final = "panes:kept"
MOST: Final = 6
NOTHING: Final = "none"
"""The parameter's value where every market was removed."""
CODES: Final = {"recording": "rec", "live": "live", "simulated": "sim"}
_LIVE: Final = re.compile(r"([a-z0-9]{1,40}):([^,\s]{1,80})")


def code_of(source: MarketSource) -> str:
    """A source as the URL names it: "rec:NAME", "live:EXCHANGE:SYMBOL", "sim:SEED"."""
    return f"{CODES[source.kind]}:{source.name.replace('/', ':', 1) if source.kind == 'live' else source.name}"


def source_of(code: str, owner: str) -> MarketSource | None:
    """The inverse of `code_of`, playbacks as this owner's; None for a code of no market.

    Raises:
        BookError: where the bundled recordings cannot be listed.
    """
    kind, _colon, rest = code.partition(":")
    if kind == "rec" and rest in {one.name for one in index.recordings()}:
        return MarketSource(kind="recording", name=rest, owner=owner)
    seed = url_state.whole_number(rest, 0, 9_999, None) if kind == "sim" else None
    if seed is not None:
        return MarketSource(kind="simulated", name=str(seed), owner=owner)
    live = _LIVE.fullmatch(rest) if kind == "live" else None
    return MarketSource(kind="live", name=f"{live[1]}/{live[2]}") if live else None


def chosen() -> list[MarketSource]:
    """The panes' markets: those of the link, else those of this visit, else the bundled recordings.

    Says which of the link's are left out, and why.

    Raises:
        BookError: where the bundled recordings cannot be listed.
    """
    linked = st.query_params.get(PARAMETER) or st.query_params.pop(BEFORE, None)
    text = linked or st.session_state.get(KEPT) or _bundled()
    codes = [] if text == NOTHING else list(dict.fromkeys(code for code in text.split(",") if code))
    by_code = {code: source_of(code, live_controls.owner()) for code in codes}
    unknown = [code for code, source in by_code.items() if source is None]
    sources = [source for source in by_code.values() if source is not None]
    if unknown:
        controls.notice("stale", _("The link names what is no market here: {codes}.").format(codes=", ".join(unknown)[:200]))
    if len(sources) > MOST:
        left = [code_of(source) for source in sources[MOST:]]
        controls.notice("stale", full() + " " + _("Left out: {codes}.").format(codes=", ".join(left)[:200]))
    sources = sources[:MOST]
    set_markets(sources)
    return sources


def set_markets(sources: Sequence[MarketSource]) -> None:
    """Make these the panes' markets, in the URL and for the rest of this visit."""
    text = ",".join(map(code_of, sources)) or NOTHING
    st.session_state[KEPT] = text
    url_state.remember(PARAMETER, None if text == _bundled() else text)


def _bundled() -> str:
    return ",".join(f"rec:{one.name}" for one in index.recordings()[:MOST])


def full() -> str:
    """That no more panes fit."""
    return _("There is room for {count} markets at once: remove one to add another.").format(count=number(MOST))


def symbol_and_venue(source: MarketSource) -> tuple[str, str]:
    """Its symbol, before any session of it runs, and the venue at which it is traded."""
    if source.kind == "live":
        exchange, _slash, symbol = source.name.partition("/")
        return symbol, exchange_name(exchange)
    if source.kind == "simulated":
        return _("simulated"), _("seed {seed}").format(seed=number(int(source.name)))
    recording = index.find_recording(source.name)
    kind = recorded_choice.kind_name(recording)
    return recording.market, f"{recording.venue} {kind}".strip()


def title_of(source: MarketSource) -> str:
    """Both in a line."""
    return " · ".join(symbol_and_venue(source))


def title_of_feed(key: str) -> str:
    """The same of a followed market, by its feed's key; what is played is named as its key names it."""
    kind, _slash, name = key.partition("~")[0].partition("/")
    return title_of(MarketSource(kind="live", name=name)) if kind == "live" else key.partition("~")[0]


def link_of(source: MarketSource, *, horizon: str) -> dict[str, str]:
    """URL parameters that open this market on the live page, a playback as the very one of its pane."""
    if source.kind == "live":
        exchange, _slash, symbol = source.name.partition("/")
        market = {"ex": exchange, "sym": symbol}
    else:
        market = {"rec" if source.kind == "recording" else "seed": source.name, live_controls.SHARED: live_controls.owner()}
    return {"source": source.kind, **market, "h": horizon}


def pick(sources: Sequence[MarketSource]) -> None:
    """The picker, in a popover: add a market, remove one, or go back to the bundled recordings."""
    with st.popover(_("Markets"), icon=":material/playlist_add:", width="content"):
        picked = live_controls.pick_source()
        source = picked and picked.played_by(live_controls.owner())
        there = source is not None and source.key in {one.key for one in sources}
        whole = len(sources) >= MOST
        st.button(
            _("Add a pane"),
            icon=":material/add:",
            key="panes:add",
            disabled=source is None or there or whole,
            on_click=set_markets,
            args=([*sources, *([source] if source else [])],),
        )
        if there:
            st.caption(_("This market has a pane already."))
        elif whole:
            st.caption(full())
        for one in sources:
            left, right = st.columns([3, 2], vertical_alignment="center")
            left.text(title_of(one))
            right.button(
                _("Remove"),
                icon=":material/delete:",
                key=f"panes:remove:{code_of(one)}",
                on_click=set_markets,
                args=([other for other in sources if other != one],),
            )
        st.button(_("The bundled recordings"), icon=":material/restart_alt:", key="panes:reset", on_click=reset)


def reset() -> None:
    """Back to the bundled recordings."""
    st.session_state.pop(KEPT, None)
    url_state.remember(PARAMETER, None)
