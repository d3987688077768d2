"""The markets of the watch wall: their codes in the URL, how they are called, and the picker that adds and removes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import streamlit as st

from core.market.hub import MAX_FEEDS_OF_VIEWER
from core.market.sources import LiveSource, MarketSource, RecordingSource, SimulatedSource
from core.market.store import index
from pages.markets import live_controls, toolbar
from pages.shared import controls, url_state
from pages.shared.language import _, ngettext, number

PARAMETER: Final = "wall"
KEPT: Final = "wall:kept"
NOTHING: Final = "none"
"""The parameter's value where every market was removed."""
WallSource = LiveSource | RecordingSource | SimulatedSource
_LIVE: Final = re.compile(r"live:([a-z0-9]{1,40}):([^,\s]{1,80})")


def code_of(source: WallSource) -> str:
    """A source as the URL names it: "rec:NAME", "live:EXCHANGE:SYMBOL", "sim:SEED"."""
    if isinstance(source, LiveSource):
        return f"live:{source.exchange}:{source.symbol}"
    return f"rec:{source.name}" if isinstance(source, RecordingSource) else f"sim:{source.seed}"


def source_of(code: str, owner: str) -> WallSource | None:
    """The inverse of `code_of`, playbacks as this owner's; None for a code of no market.

    Raises:
        RecordingError: where the bundled recordings cannot be listed.
    """
    kind, _colon, rest = code.partition(":")
    if kind == "rec" and rest in {one.name for one in index.recordings()}:
        return RecordingSource(name=rest, owner=owner)
    seed = url_state.whole_number(rest, 0, 9_999, None) if kind == "sim" else None
    if seed is not None:
        return SimulatedSource(seed=seed, owner=owner)
    live = _LIVE.fullmatch(code)
    return LiveSource(exchange=live[1], symbol=live[2]) if live else None


def chosen() -> list[WallSource]:
    """The wall's markets: those of the link, else those of this visit, else the bundled recordings.

    Says which of the link's are left out, and why.

    Raises:
        RecordingError: where the bundled recordings cannot be listed.
    """
    text = st.query_params.get(PARAMETER) or st.session_state.get(KEPT) or _bundled()
    codes = [] if text == NOTHING else list(dict.fromkeys(code for code in text.split(",") if code))
    by_code = {code: source_of(code, toolbar.owner()) for code in codes}
    unknown = [code for code, source in by_code.items() if source is None]
    sources = [source for source in by_code.values() if source is not None]
    if unknown:
        controls.notice("stale", _("The link names what is no market here: {codes}.").format(codes=", ".join(unknown)[:200]))
    if len(sources) > MAX_FEEDS_OF_VIEWER:
        left = [code_of(source) for source in sources[MAX_FEEDS_OF_VIEWER:]]
        controls.notice("stale", full() + " " + _("Left out: {codes}.").format(codes=", ".join(left)[:200]))
    sources = sources[:MAX_FEEDS_OF_VIEWER]
    keep(sources)
    return sources


def keep(sources: Sequence[WallSource]) -> None:
    """Make these the wall's markets, in the URL and for the rest of this visit."""
    text = ",".join(map(code_of, sources)) or NOTHING
    st.session_state[KEPT] = text
    url_state.remember(PARAMETER, None if text == _bundled() else text)


def _bundled() -> str:
    return ",".join(f"rec:{one.name}" for one in index.recordings()[:MAX_FEEDS_OF_VIEWER])


def full() -> str:
    """That the wall takes no more."""
    return ngettext(
        "A wall holds at most {count} market at once: remove one to add another.",
        "A wall holds at most {count} markets at once: remove one to add another.",
        MAX_FEEDS_OF_VIEWER,
    ).format(count=number(MAX_FEEDS_OF_VIEWER))


def symbol_of(source: WallSource) -> str:
    """Its symbol, before any session of it runs."""
    if isinstance(source, LiveSource):
        return source.symbol
    return index.find_recording(source.name).market if isinstance(source, RecordingSource) else _("simulated")


def venue_of(source: WallSource) -> str:
    """Venue at which it is traded."""
    if isinstance(source, LiveSource):
        return source.exchange
    if isinstance(source, RecordingSource):
        recording = index.find_recording(source.name)
        kind = {"spot": _("spot"), "perpetual": _("perpetual")}.get(recording.kind, recording.kind)
        return f"{recording.venue} {kind}"
    return _("seed {seed}").format(seed=number(source.seed))


def link_of(source: WallSource, *, label: str, horizon: int) -> dict[str, str]:
    """URL parameters that open this market on the live page, a playback as the very one of the wall."""
    if isinstance(source, LiveSource):
        market = {"source": "live", "ex": source.exchange, "sym": source.symbol}
    else:
        played = {"rec": source.name} if isinstance(source, RecordingSource) else {"seed": str(source.seed)}
        kind = "recording" if isinstance(source, RecordingSource) else "simulated"
        market = {"source": kind, **played, toolbar.SHARED: toolbar.owner()}
    return {**market, "label": label, "h": str(horizon)}


def pick(sources: Sequence[WallSource]) -> None:
    """The picker, in a popover: add a market, remove one, or go back to the bundled recordings."""
    with st.popover(_("Markets"), icon=":material/playlist_add:", width="content"):
        source = _owned(live_controls.pick_source())
        there = source is not None and source.key in {one.key for one in sources}
        whole = len(sources) >= MAX_FEEDS_OF_VIEWER
        st.button(
            _("Add to the wall"),
            icon=":material/add:",
            key="wall:add",
            disabled=source is None or there or whole,
            on_click=keep,
            args=([*sources, *([source] if source else [])],),
        )
        if there:
            st.caption(_("This market is on the wall already."))
        elif whole:
            st.caption(full())
        for one in sources:
            left, right = st.columns([3, 2], vertical_alignment="center")
            left.text(f"{symbol_of(one)} · {venue_of(one)}")
            right.button(
                _("Remove"),
                icon=":material/delete:",
                key=f"wall:remove:{code_of(one)}",
                on_click=keep,
                args=([other for other in sources if other != one],),
            )
        st.button(_("The bundled recordings"), icon=":material/restart_alt:", key="wall:reset", on_click=reset)


def _owned(source: MarketSource | None) -> WallSource | None:
    """A source as this visit watches it: what is played belongs to it."""
    if isinstance(source, RecordingSource | SimulatedSource):
        return replace(source, owner=toolbar.owner())
    return source if isinstance(source, LiveSource) else None


def reset() -> None:
    """Back to the bundled recordings."""
    st.session_state.pop(KEPT, None)
    url_state.remember(PARAMETER, None)
