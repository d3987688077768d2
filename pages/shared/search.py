"""Search over pages and lessons, equations and terms, in the header and by the key `/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import streamlit as st

from core.lecture.equations import equations
from core.lecture.glossary import terms
from pages.shared.language import _, current, regional
from pages.shared.navigation import ENTRIES, ROOT


@dataclass(frozen=True, kw_only=True)
class Hit:
    """Something to be found: a page with the parameters that open it, or the meaning of a term where there is no page."""

    name: str
    icon: str
    page: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    meaning: str = ""


@cache
def _hits(language: str, region: str) -> tuple[Hit, ...]:
    """Everything to be found, in the reader's language; `region` has the numbers of titles."""
    files = {entry.url: entry.file for entry in ENTRIES}
    pages = [Hit(name=_(entry.title), icon=entry.icon, page=entry.file) for entry in ENTRIES]
    formulas = [
        Hit(name=one.title[language], icon=":material/function:", page=files[one.page], query=one.query) for one in equations()
    ]
    words = [
        Hit(
            name=" · ".join(dict.fromkeys((term.names[language], *term.names.values()))),
            icon=":material/book_2:",
            meaning=term.meanings[language],
        )
        for term in terms()
    ]
    return (*pages, *formulas, *words)


@st.fragment
def button() -> None:
    """The button that opens the search."""
    if st.button(_("Search"), icon=":material/search:", key="search", help=_("Key: /"), type="tertiary"):
        st.dialog(_("Search"))(_dialog)()


def _dialog() -> None:
    hits = _hits(current(), regional())
    chosen = st.selectbox(
        _("Pages, lessons, equations and terms"),
        range(len(hits)),
        index=None,
        format_func=lambda at: f"{hits[at].name}",
        key="search_for",
        placeholder=_("softmax, spread, Score recordings …"),
    )
    if chosen is None:
        return
    hit = hits[chosen]
    if hit.page:
        language = {"lang": st.query_params["lang"]} if "lang" in st.query_params else {}
        st.switch_page(ROOT / hit.page, query_params={**hit.query, **language})
    st.markdown(f"**{hit.name}**: {hit.meaning}")
