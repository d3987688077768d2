"""Every equation of the five documents: where it lives in the code, which test checks it, and which page shows it."""

import streamlit as st

from core.lecture.equations import DOCUMENTS, Equation, equations, search
from pages.learn import equation_tables, take_along
from pages.learn.frame import passage
from pages.shared import controls, url_state
from pages.shared.language import _, current
from pages.shared.navigation import ENTRIES

PER_PAGE = 20


def search_line() -> str:
    """The search text; links of before name a document and a decision apart."""
    if linked := [st.query_params.pop(name) for name in ("doc", "decided") if name in st.query_params]:
        words = [st.query_params.get("find", ""), *linked]
        url_state.remember("find", " ".join(one for one in words if one not in ("", "all", "any")) or None)
    hint = "softmax, CTC, D11, vit-report, core.nn …"
    return url_state.text(_("Search"), key="find", max_chars=80, placeholder=hint, icon=":material/search:")


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
        if entry.page != "equations":  # else the line above has its numbers
            label = _("With numbers: {title}").format(title=_(titles[entry.page]))
            st.markdown(f"[{label}]({entry.link(**more)})")


controls.page_header(_("Equation index"), passage("equations", "lead"))
matches = search(search_line())
count = _("Equations: {count} of {all}").format(count=len(matches), all=len(equations()))
st.markdown(f"**{count}**")
if not matches:
    controls.notice("empty", _("No equation has all of these words: try fewer."))
sheets = -(-len(matches) // PER_PAGE)
last = PER_PAGE * (url_state.slider(_("Page"), 1, sheets, key="sheet", default=1) if sheets > 1 else 1)
for one in matches[last - PER_PAGE : last]:
    draw_entry(one)
st.info(passage("equations", "all"), icon=":material/visibility:")
for table in (equation_tables.notation, equation_tables.families, equation_tables.operations, equation_tables.literature):
    table()
take_along.offer("equations", "", "", None)
st.caption(_("Sources: {sources}").format(sources=", ".join(DOCUMENTS) + "; D1–D36"))
