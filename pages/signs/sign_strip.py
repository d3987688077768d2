"""A strip of signs to copy: a photograph or a drawing that moves each, as a mirror shows them."""

from collections.abc import Iterable
from html import escape

import streamlit as st

from core.figures import hands as figures
from core.figures.pictures import data_url
from core.signs import examples
from pages.shared.language import _


@st.cache_data(show_spinner=False)
def _picture(gloss: str) -> str:
    """Address of the photograph of a sign that is held, or of the drawing of one that moves; empty where there is neither."""
    example = examples.examples().get(gloss)
    moving = example is not None and len(example.film) > 0 and figures.moving_svg(example.film).encode()
    shown = moving or examples.photograph(gloss)
    return data_url(shown) if shown else ""


def draw_sign_strip(glosses: Iterable[str]) -> None:
    """Every sign, in the order given, each with its picture."""
    listed = []
    for gloss in glosses:
        alt = escape(_("How to sign {sign}").format(sign=gloss), quote=True)
        picture = f'<img src="{shown}" alt="{alt}">' if (shown := _picture(gloss)) else ""
        listed.append(f"<li><b>{escape(gloss)}</b>{picture}</li>")
    st.html(f'<ul class="signs-strip" tabindex="0">{"".join(listed)}</ul>')
