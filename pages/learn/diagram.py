"""The block diagram that heads a lesson: its blocks open the page's parts; what the last change altered is marked by the browser.

`place` comes above the dials, inside of the fragment; `draw` fills it once the page's numbers are known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import streamlit as st

from core.figures.learn.diagrams.blocks import Diagram
from core.figures.learn.diagrams.drawing import Look, svg
from pages.shared import controls
from pages.shared.browser_component import browser_component
from pages.shared.language import _, number

GO: Final = "diagram:go"
"""Session state: a block was clicked, and the whole page is to run with its part."""


def place(*, kept: bool = True) -> Any:
    """The container for the diagram, here, whose place is `kept` until the page's numbers are known and `draw` fills it."""
    if st.session_state.pop(GO, False):
        st.rerun()
    return controls.reserved("learn_diagram") if kept else st.container()


def write(value: float) -> str:
    """A number on a wire: two decimals in the reader's language."""
    return number(round(value, 2) + 0.0, 2)


def draw(diagram: Diagram, *, part: str, parts: Mapping[str, str]) -> None:
    """Draw a diagram here.

    Args:
        part: the code of the one on display. parts: name of each part.
    """
    query = st.query_params.to_dict()
    look = Look(part=part, names=parts, link=lambda code: f"?{urlencode(query | {'part': code})}")
    data = {
        "wide": svg(diagram, look, narrow=False),
        "narrow": svg(diagram, look, narrow=True),
        "title": diagram.title,
        "of": f"{diagram.title} {part}",
        "hint": _("A block opens its part; what the last change altered is orange."),
    }
    browser_component("diagram")(key="lesson_diagram", data=json.dumps(data, ensure_ascii=False).encode(), on_part_change=_open)


def _open() -> None:
    state: Any = st.session_state["lesson_diagram"]
    code = state.get("part")
    if code:
        st.session_state["part"] = code
        st.session_state[GO] = True
