"""Find the error in the paper: ten claims of the documents, the tools that test them, and what comes out."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

import streamlit as st

from core.lecture.paper_errors import CASES, Case, finding
from core.messages import translate
from pages.shared import controls, url_state
from pages.shared.language import _, number, prose_section
from pages.shared.navigation import ENTRIES

PAGE: Final = "learn_paper_errors"


def page() -> None:
    """Top to bottom."""
    controls.page_header(_("Find the error in the paper"), prose_section(PAGE, "lead"))
    names = {one.code: f"{place} · {one.document}, {one.section}" for place, one in enumerate(CASES, 1)}
    code = url_state.choice(st.pills, _("Case"), names, key="case", required=True, label_visibility="collapsed")
    at = next(place for place, one in enumerate(CASES) if one.code == code)
    left, right = st.columns(2, gap="large")
    with left:
        _claim(CASES[at])
    with right:
        _tools(CASES[at])
    with st.expander(_("The finding"), icon=":material/gavel:", key=f"paper_finding_{code}"):
        st.markdown(f"**{CASES[at].decision}.** {translate(finding(code))}")
        st.latex(CASES[at].right)
        st.caption(_("As the code has it."))
        words = _("The decision in the index of equations")
        st.markdown(f"[{words}]({_address('equations', decided=CASES[at].decision)})")
    with st.expander(_("For the instructor"), icon=":material/cast_for_education:", key=f"paper_notes_{code}"):
        st.markdown(prose_section(PAGE, f"notes_{code}"))
    st.caption(_("Case {n} of {count}").format(n=number(at + 1), count=number(len(CASES))))
    controls.link_to_view()


def _claim(case: Case) -> None:
    st.header(_("The claim"), anchor=False)
    st.markdown(translate(case.claim))
    st.latex(case.formula)
    st.caption(_("{document}, section {name}").format(document=case.document, name=case.section))


def _tools(case: Case) -> None:
    st.header(_("Test it"), anchor=False)
    titles = {one.url: one.title for one in ENTRIES}
    for tool in case.tools:
        st.markdown(f"- {translate(tool.task)} [{_(titles[tool.url])}]({_address(tool.url, **tool.query)})")


def _address(url: str, **query: str) -> str:
    """Address of a page within the app, in the reader's language."""
    language = {"lang": str(st.query_params["lang"])} if "lang" in st.query_params else {}
    return f"{url}?{urlencode(query | language)}"


page()
