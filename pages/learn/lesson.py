"""Parts that make a page a lesson of the course: its place, its story, the instructor's notes, the questions at its end.

    lesson.head(here, "Recurrent cells")     # first
    ...
    lesson.foot(here, "lstm")     # before the page's foot

The order is in `core.lecture.course`, the prose in `assets/text/<language>/course_<lesson>.md`: a section `story_<part>` a part,
`ask`, `wrong`, and `q1` to `q3` with `a1` to `a3`, whose numbers a test computes (`tests/core/lecture/course_numbers.py`).
"""

from collections.abc import Mapping
from html import escape
from typing import Any, Final

import streamlit as st
from streamlit.errors import StreamlitPageNotFoundError

from core.lecture import course
from core.lecture.course import Lesson
from pages.learn import predict
from pages.shared import assets
from pages.shared.language import N_, _, number, prose_section
from pages.shared.navigation import entry_of

TITLES: Final[Mapping[str, str]] = {"heads": N_("Attention heads"), "attention": N_("Attention, one head")}
"""Of lessons that are a part of a page; the others have their page's title."""
QUESTIONS: Final = 3


def title_of(of: Lesson) -> str:
    """Its title in the reader's language."""
    return _(TITLES.get(of.code) or entry_of(of.url).title)


def passage(of: Lesson, section: str) -> str:
    """A section of the lesson's text."""
    return prose_section(f"course_{of.code}", section)


def link(
    to: Lesson, *, label: str = "", icon: str | None = None, icon_first: bool = True, key: str = "", help: str | None = None
) -> None:
    """A link to a lesson, which keeps the question."""
    query: dict[str, Any] = predict.links()
    if to.parts:
        query["part"] = to.parts[0]
    with st.container(key=f"lesson_{key}", width="content") if key else st.container(width="content"):
        file, shown = entry_of(to.url).file, label or title_of(to)
        try:
            st.page_link(
                file, label=shown, help=help, query_params=query, icon=icon, icon_position="left" if icon_first else "right"
            )
        except StreamlitPageNotFoundError:  # a page that runs by itself, without the navigation
            st.caption(shown)


def head(here: Lesson, title: str) -> None:
    """The first row (the page's title, the lesson's place, the switch of the question), and the keys of lessons and matrices."""
    script = "".join(f"{assets.imported(name)};" for name in ("lesson_keys.js", "matrix.js"))
    st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)
    with st.container(key="lesson_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.title(title, anchor=False, width="content")
        _place(here)
        predict.switch()


def recall(of: Lesson, title: str, *, opened: bool) -> str:
    """The lesson's questions, each of which opens its answer, HTML."""
    pairs = ((escape(passage(of, f"{kind}{n}")) for kind in "qa") for n in range(1, QUESTIONS + 1))
    asked = "".join(f"<details><summary>{question}</summary><p>{answer}</p></details>" for question, answer in pairs)
    return (
        f'<details class="recall"{" open" if opened else ""} data-lesson="{of.code}">'
        f"<summary><b>{escape(title)}</b></summary>{asked}</details>"
    )


def _place(here: Lesson) -> None:
    """The lesson's number, with links to the one before and the one after."""
    before, after = course.beside(here, -1), course.beside(here, 1)
    with st.container(key="lesson_place", horizontal=True, vertical_alignment="center", gap="xxsmall", width="content"):
        if before is not None:
            at = number(course.number(before))
            link(before, label=at, help=title_of(before), icon=":material/arrow_back:", key="before")
        st.caption(
            _("**Lesson {n} of {count}** · {minutes} min").format(
                n=number(course.number(here)), count=number(len(course.LESSONS)), minutes=number(here.minutes)
            ),
            width="content",
        )
        if after is not None:
            at = number(course.number(after))
            link(after, label=at, help=title_of(after), icon=":material/arrow_forward:", icon_first=False, key="after")


def notes(of: Lesson) -> None:
    """Shows the instructor's notes: what to ask, what goes wrong, how long it takes."""
    for name, section in ((_("What to ask"), "ask"), (_("What goes wrong"), "wrong")):
        st.markdown(f"**{name}**\n\n{passage(of, section)}")
    parts = len(of.parts) or None
    st.markdown(
        _("**Time:** {minutes} minutes with a class that answers.").format(minutes=number(of.minutes))
        + (" " + _("About {each} a part.").format(each=number(round(of.minutes / parts))) if parts and parts > 1 else "")
    )


def foot(here: Lesson, part: str) -> None:
    """Shows the part's story, the instructor's notes, its questions and earlier ones, what to know before, the next lesson."""
    with st.container(key="lesson_story"):
        st.markdown(passage(here, f"story_{part}"))
    with st.expander(_("For the instructor"), icon=":material/cast_for_education:"):
        notes(here)
    st.html(recall(here, _("Three questions"), opened=True))
    if (earlier := course.two_before(here)) is not None:
        again = _("Again: three questions of lesson {n}, {title}")
        st.html(recall(earlier, again.format(n=number(course.number(earlier)), title=title_of(earlier)), opened=False))
    with st.container(horizontal=True, vertical_alignment="center"):
        if here.needs:
            st.caption(_("To know before:"), width="content")
            for code in here.needs:
                link(course.lesson(code))
        if (after := course.beside(here, 1)) is not None:
            st.caption(_("Next:"), width="content")
            link(after)
