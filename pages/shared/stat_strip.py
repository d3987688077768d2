"""A row of named values that wraps on narrow screens."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import streamlit as st

Tone = Literal["plain", "good", "warning", "bad", "up", "down"]


@dataclass(frozen=True, kw_only=True)
class Stat:
    """One value. `tone` colours it, in addition to a sign or word; `note` is small print under it."""

    name: str
    value: str
    tone: Tone = "plain"
    note: str = ""


def stat_strip(stats: Sequence[Stat]) -> None:
    """Show the values, already translated, as a description list."""
    cells = "".join(
        f'<div class="stat stat-{stat.tone}"><dt>{escape(stat.name)}</dt><dd>{escape(stat.value)}</dd>'
        + (f'<dd class="stat-note">{escape(stat.note)}</dd>' if stat.note else "")
        + "</div>"
        for stat in stats
    )
    st.html(f'<dl class="stat-strip">{cells}</dl>')
