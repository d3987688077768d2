"""The markets of the watch wall: their codes in the URL, the picker that adds and removes them, and the table, a row each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.market.answers.one_answer import FEWEST
from core.market.hub import MAX_FEEDS_OF_VIEWER
from core.market.session_view import Status
from core.market.sources import MarketSource
from core.market.store import index
from core.market.wall import WallRow
from pages.markets import live_controls, live_scores, recorded_choice, terminal
from pages.shared import controls, url_state
from pages.shared.language import _, ngettext, number

PARAMETER: Final = "wall"
KEPT: Final = "wall:kept"
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
        RecordingError: where the bundled recordings cannot be listed.
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
    """The wall's markets: those of the link, else those of this visit, else the bundled recordings.

    Says which of the link's are left out, and why.

    Raises:
        RecordingError: where the bundled recordings cannot be listed.
    """
    text = st.query_params.get(PARAMETER) or st.session_state.get(KEPT) or _bundled()
    codes = [] if text == NOTHING else list(dict.fromkeys(code for code in text.split(",") if code))
    by_code = {code: source_of(code, live_controls.owner()) for code in codes}
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


def keep(sources: Sequence[MarketSource]) -> None:
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


def symbol_and_venue(source: MarketSource) -> tuple[str, str]:
    """Its symbol, before any session of it runs, and the venue at which it is traded."""
    if source.kind == "live":
        venue, _slash, symbol = source.name.partition("/")
        return symbol, venue
    if source.kind == "simulated":
        return _("simulated"), _("seed {seed}").format(seed=number(int(source.name)))
    recording = index.find_recording(source.name)
    kind = recorded_choice.kind_name(recording)
    return recording.market, f"{recording.venue} {kind}".strip()


def title_of(source: MarketSource) -> str:
    """Both in a line."""
    return " · ".join(symbol_and_venue(source))


def link_of(source: MarketSource, *, horizon: int) -> dict[str, str]:
    """URL parameters that open this market on the live page, a playback as the very one of the wall."""
    if source.kind == "live":
        symbol, venue = symbol_and_venue(source)
        market = {"ex": venue, "sym": symbol}
    else:
        market = {"rec" if source.kind == "recording" else "seed": source.name, live_controls.SHARED: live_controls.owner()}
    return {"source": source.kind, **market, "h": str(horizon)}


def pick(sources: Sequence[MarketSource]) -> None:
    """The picker, in a popover: add a market, remove one, or go back to the bundled recordings."""
    with st.popover(_("Markets"), icon=":material/playlist_add:", width="content"):
        picked = live_controls.pick_source()
        source = picked and picked.played_by(live_controls.owner())
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
            left.text(title_of(one))
            right.button(
                _("Remove"),
                icon=":material/delete:",
                key=f"wall:remove:{code_of(one)}",
                on_click=keep,
                args=([other for other in sources if other != one],),
            )
        st.button(_("The bundled recordings"), icon=":material/restart_alt:", key="wall:reset", on_click=reset)


def reset() -> None:
    """Back to the bundled recordings."""
    st.session_state.pop(KEPT, None)
    url_state.remember(PARAMETER, None)


def show_table(rows: Sequence[tuple[MarketSource, WallRow]], *, window: int, key: str) -> int | None:
    """Draw the table.

    Args:
        window: rows that a prediction needs.
        key: the same for the same markets.

    Returns:
        Index of the row that was pressed; None where none was.
    """
    if not rows:
        return None
    state = st.dataframe(
        table_of(rows, window),
        key=f"wall:table:{key}",
        hide_index=True,
        width="stretch",
        height="content",
        on_select="rerun",
        selection_mode="single-cell",
        column_config=_columns(),
        placeholder="–",
    )
    st.caption(
        _(
            "Updated once a second. Press a market to open it; press a column's name to sort. Answers are compared with the "
            "naive rules from {least} outcomes on that do not overlap."
        ).format(least=number(FEWEST))
    )
    cells: list[tuple[int, str]] = state["selection"]["cells"]
    return cells[0][0] if cells and cells[0][0] < len(rows) else None


def table_of(rows: Sequence[tuple[MarketSource, WallRow]], window: int) -> pd.DataFrame:
    """The table's values: numbers stay numbers, so that they sort as such."""
    return pd.DataFrame([_line(source, row, window) for source, row in rows])


def _line(source: MarketSource, row: WallRow, window: int) -> dict[str, Any]:
    calls = (f"▼ {_('Down')}", f"■ {_('Stationary')}", f"▲ {_('Up')}")
    return {
        "symbol": row.symbol,
        "call": None if row.call is None else calls[row.call],
        "look": round(row.look, 3),
        "net": round(row.net, 3),
        "mids": list(row.mids),
        "standing": live_scores.standing_names()[row.standing] if row.nearest else None,
        "lead": round(row.lead, 3),
        "rule": live_scores.rival_names()[row.nearest] if row.nearest else None,
        "status": _status(row, window),
        "age": round(row.age_s, 1),
        "venue": symbol_and_venue(source)[1],
        "outcomes": row.independent,
    }


def _status(row: WallRow, window: int) -> str:
    text = terminal.status_names()[row.status]
    return text.format(done=number(row.warm), whole=number(window)) if row.status is Status.WARMING else text


def _columns() -> dict[str, Any]:
    column = st.column_config
    return {
        "symbol": column.TextColumn(_("Symbol"), pinned=True),
        "venue": column.TextColumn(_("Venue")),
        "status": column.TextColumn(_("Status")),
        "mids": column.LineChartColumn(_("Mid, last minute"), color="blue", width=150),
        "call": column.TextColumn(_("Call"), width=120),
        "look": column.NumberColumn(
            _("Worth a look"),
            format="localized",
            help=_(
                "How far apart the chances of up and down are, where the answers so far are ahead of every naive rule; else 0."
            ),
        ),
        "net": column.NumberColumn(_("P(up) - P(down)"), format="localized"),
        "standing": column.TextColumn(_("Beside the naive rules")),
        "lead": column.NumberColumn(
            _("Lead, nats a call"), format="localized", help=_("Log loss of the nearest naive rule less that of the answers.")
        ),
        "rule": column.TextColumn(_("Nearest rule")),
        "outcomes": column.NumberColumn(
            _("Outcomes"), format="localized", help=_("Outcomes so far that do not overlap; a score begins with ten.")
        ),
        "age": column.NumberColumn(_("Age (s)"), format="localized", help=_("Seconds since the newest book arrived.")),
    }
