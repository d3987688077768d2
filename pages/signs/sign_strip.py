"""A strip of signs to copy: a photograph or a drawn hand each, as a mirror shows them."""

from collections.abc import Iterable
from html import escape

import streamlit as st

from core.figures import hands as figures
from core.figures.pictures import data_url
from core.signs import examples
from pages.shared.language import _


@st.cache_data(show_spinner=False)
def _pictures(gloss: str) -> list[str]:
    example = examples.examples().get(gloss)
    if example is None:
        return []
    photograph = examples.photograph(gloss)
    moves = len(example.film) > 0
    drawn = figures.moving_svg(example.film) if moves else figures.hand_svg(example.stills[0])
    return [data_url(picture) for picture in (photograph, drawn.encode()) if picture is not None]


def draw_sign_strip(glosses: Iterable[str]) -> None:
    """Every sign that there is an example of, in the order given."""
    items = []
    for gloss in glosses:
        alt = escape(_("How to sign {sign}").format(sign=gloss), quote=True)
        pictures = "".join(f'<img src="{one}" alt="{alt}">' for one in _pictures(gloss))
        items.append((escape(gloss), pictures))
    listed = "".join(f"<li><b>{caption}</b>{pictures}</li>" for caption, pictures in items)
    st.html(f'<ul class="signs-strip" tabindex="0">{listed}</ul>')
