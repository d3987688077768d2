"""The block diagram of a lesson: a prepared drawing whose blocks open the page's parts (assets/scripts/diagram.js).

A file of `assets/diagrams` holds two drawings, of which the style sheet shows the one that fits. `data-part` of a block is the
code of a part. A part may have a file of its own (`recurrent_rnn`).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from pages.shared.browser_component import browser_component
from pages.shared.language import N_, _, current
from pages.shared.navigation import ROOT

FOLDER: Final = ROOT / "assets" / "diagrams"
WORDS: Final[Mapping[str, Sequence[str]]] = {
    "backprop": (N_("Heads"), N_("unchanged")),
    "norms": (N_("unchanged"),),
    "recurrent_gradient": (N_("attention"),),
    "recurrent_rnn": (N_("to the next step"),),
    "transformer": (
        N_("text"),
        N_("embed + PE"),
        N_("encoder"),
        N_("so far"),
        N_("causal"),
        N_("cross + FFN"),
        N_("joins the answer"),
    ),
}
"""Texts of a drawing that are translated; the others are formulas and names."""


@cache
def drawing(name: str, _language: str) -> str:
    """A file in the reader's language."""
    text = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    words = WORDS.get(name, ())
    return re.sub(r">([^<>\n]+)<", lambda found: f">{_(found[1]) if found[1] in words else found[1]}<", text)


def draw(name: str, part: str, parts: Sequence[str]) -> None:
    """Draw a diagram here, where the lesson or the part has one with a block for this part.

    Args:
        name: of the lesson's file. part: the code of the one on display. parts: of the page, in their order.
    """
    file = next((one for one in (f"{name}_{part}", name) if (FOLDER / f"{one}.svg").is_file()), None)
    if file is None or f'data-part="{part}"' not in drawing(file, current()):
        return
    query = st.query_params.to_dict()

    def link(found: re.Match[str]) -> str:
        code = found[1]
        here = ' aria-current="true"' if code == part else ""
        return f'<a data-part="{code}" data-at="{parts.index(code)}" href="?{escape(urlencode(query | {"part": code}))}"{here}'

    svg = re.sub(r'<a data-part="([^"]+)"', link, drawing(file, current()))
    hint = _("A block opens its part.")
    with st.container(key="learn_diagram"):
        browser_component("diagram")(key="lesson_diagram", data=f"{svg}<figcaption>{hint}</figcaption>".encode())
