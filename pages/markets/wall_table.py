"""The watch wall's table: a row per market, sortable by a press on a column's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.market.answers.scoreboard import LATEST
from core.market.session_view import Status
from core.market.wall import WallRow
from pages.markets import terminal, wall_markets
from pages.shared.language import _, number


def show(rows: Sequence[tuple[wall_markets.WallSource, WallRow]], *, window: int, key: str) -> int | None:
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
            "Updated once a second. Press a market to open it; press a column's name to sort. The scores are Matthews "
            "correlations over the last {count} predictions whose outcome is known."
        ).format(count=number(LATEST))
    )
    cells: list[tuple[int, str]] = state["selection"]["cells"]
    return cells[0][0] if cells and cells[0][0] < len(rows) else None


def table_of(rows: Sequence[tuple[wall_markets.WallSource, WallRow]], window: int) -> pd.DataFrame:
    """The table's values: numbers stay numbers, so that they sort as such."""
    return pd.DataFrame([_line(source, row, window) for source, row in rows])


def _line(source: wall_markets.WallSource, row: WallRow, window: int) -> dict[str, Any]:
    calls = (f"▼ {_('Down')}", f"■ {_('Stationary')}", f"▲ {_('Up')}")
    return {
        "symbol": row.symbol,
        "call": None if row.call is None else calls[row.call],
        "net": round(row.net, 3),
        "mids": list(row.mids),
        "tlob": round(row.tlob, 3),
        "momentum": round(row.momentum, 3),
        "status": _status(row, window),
        "age": round(row.age_s, 1),
        "alerts": len(row.alerts),
        "venue": wall_markets.venue_of(source),
        "scored": row.scored,
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
        "net": column.NumberColumn(_("P(up) - P(down)"), format="localized"),
        "tlob": column.NumberColumn("TLOB", format="localized", help=_("Matthews correlation of TLOB's calls.")),
        "momentum": column.NumberColumn(
            _("Momentum"), format="localized", help=_("Matthews correlation of the momentum rule on the same predictions.")
        ),
        "scored": column.NumberColumn(_("Scored"), format="localized", help=_("How many predictions the two scores cover.")),
        "age": column.NumberColumn(_("Age (s)"), format="localized", help=_("Seconds since the newest book arrived.")),
        "alerts": column.NumberColumn(_("Alerts"), help=_("How many went off since this market's feed began.")),
    }
