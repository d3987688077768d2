"""The pages there are, in the order of the sidebar. A page that is not listed here does not exist; a test holds both equal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import streamlit as st

from pages.shared.language import N_, _

ROOT: Final = Path(__file__).resolve().parents[2]

SECTIONS: Final = (N_("Markets"), N_("Images"), N_("Signs"), N_("Learn"), N_("System"))
"""In this order; one without pages is not shown."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One page.

    Attributes:
        file: relative to the project's root.
        section: one of SECTIONS. title: in English, marked with N_.
        icon: a Material symbol, which Streamlit brings along.
        url: path of the page, unique; part of every shared link, so it never changes.
    """

    file: str
    section: str
    title: str
    icon: str
    url: str


ENTRIES: Final[tuple[Entry, ...]] = (
    Entry(
        file="pages/markets/live.py",
        section="Markets",
        title=N_("Live order book"),
        icon=":material/candlestick_chart:",
        url="live",
    ),
    Entry(
        file="pages/markets/attention.py",
        section="Markets",
        title=N_("What TLOB looks at"),
        icon=":material/grid_on:",
        url="attention",
    ),
    Entry(file="pages/system/status.py", section="System", title=N_("System"), icon=":material/monitor_heart:", url="system"),
)
"""The first is the one that opens."""


def sections() -> dict[str, list[Any]]:
    """Streamlit's pages by translated section, for `st.navigation`."""
    shown: dict[str, list[Any]] = {}
    for section in SECTIONS:
        entries = [entry for entry in ENTRIES if entry.section == section]
        if entries:
            shown[_(section)] = [
                st.Page(ROOT / entry.file, title=_(entry.title), icon=entry.icon, url_path=entry.url, default=entry is ENTRIES[0])
                for entry in entries
            ]
    return shown
