"""Every equation of the five documents: where it lives in the code, which test checks it, and which page shows it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.lecture.equations import DOCUMENTS, Equation, decisions, equations, search, table
from pages.learn import equation_tables, frame
from pages.learn.lesson_page import LessonPage, Part, PartView, markdown, render
from pages.shared import controls, url_state
from pages.shared.language import _, current, ngettext
from pages.shared.navigation import ENTRIES

PER_PAGE = 20


def filters() -> dict[str, str]:
    """Search text, document and decision from the controls; "all" where not restricted."""
    with frame.controls_block("find"):
        left, middle, right = st.columns([2, 1, 1])
        with left:
            query = url_state.text(
                _("Search"), key="find", max_chars=80, placeholder=_("softmax, CTC, D11, core.nn …"), icon=":material/search:"
            )
        with middle:
            offered = {"all": _("all five"), **{name: name for name in DOCUMENTS}}
            document = url_state.choice(st.selectbox, _("Document"), offered, key="doc")
        with right:
            cited = {"all": _("with or without"), "any": _("any decision"), **{name: name for name in decisions()}}
            decision = url_state.choice(st.selectbox, _("Decision"), cited, key="decided")
    return {"query": query, "document": document, "decision": decision}


def draw_entry(entry: Equation) -> None:
    """Draw one entry."""
    language, titles = current(), {page.url: page.title for page in ENTRIES}
    places = ", ".join(f"`{place.replace(':', '.')}`" for place in entry.code)
    more = {"lang": str(st.query_params["lang"])} if "lang" in st.query_params else {}
    cited = " ".join(entry.decisions)
    with st.container(border=True):
        st.markdown(f"**{entry.title[language]}**")
        st.caption(_("{document}, section {name}").format(document=entry.document, name=entry.section))
        st.latex(entry.latex)
        if worked := equation_tables.example(entry.id):
            st.markdown(_("For example: {worked}").format(worked=f"${worked}$"))
        st.markdown(_("In the code: {places}").format(places=places))
        st.markdown(_("Checked by {test}, against {what}").format(test=f"`{entry.test}`", what=entry.against[language]))
        if entry.why:
            st.markdown(
                f":material/gavel: **{cited}** {entry.why[language]}" if cited else f":material/gavel: {entry.why[language]}"
            )
        elif cited:
            st.markdown(f":material/gavel: **{cited}**")
        label = _("With numbers: {title}").format(title=_(titles[entry.page]))
        st.markdown(f"[{label}]({entry.link(**more)})")


def export(entries: list[Equation]) -> pd.DataFrame:
    """The entries as a table in the reader's language."""
    columns = [
        _("Id"), _("Document"), _("Section"), _("Title"), "LaTeX", _("In the code"), _("Test"), _("Against"), _("Page"),
        _("Decision and reason"),
    ]  # fmt: skip
    return pd.DataFrame(table(entries, current(), columns), columns=columns)


def listing(query: str, document: str, decision: str) -> PartView:
    """The entries that fit, a sheet of them at a time."""
    matches = search(query, document=None if document == "all" else document, decision=None if decision == "all" else decision)
    count = ngettext("{count} equation of {all}", "{count} equations of {all}", len(matches))
    sheets = max(1, -(-len(matches) // PER_PAGE))

    def entries() -> None:
        with frame.controls_block("export"):
            made, name = lambda: export(matches), "equations"
            controls.download_table(_("These equations"), made, key="equations_table", filename=name, formats=("csv",))
        if not matches:
            controls.notice("empty", _("No equation has all of these words: try fewer, or another document."))
        at = 1
        if sheets > 1:
            with frame.controls_block("page"):
                at = url_state.slider(_("Page"), 1, sheets, key="sheet", default=1)
        for entry in matches[(at - 1) * PER_PAGE : at * PER_PAGE]:
            draw_entry(entry)

    return PartView(
        figure=[markdown(f"**{count.format(count=len(matches), all=len(equations()))}**"), entries],
        notes=[frame.passage("equations", "all")],
        more=[equation_tables.notation, equation_tables.families, equation_tables.operations, equation_tables.literature],
    )


render(
    LessonPage(
        "equations",
        _("Equation index"),
        [Part("", "", lambda **_values: {}, listing, above=filters)],
        ", ".join(DOCUMENTS) + "; D1–D36",
    )
)
