"""The start of the lecture: what it is, for whom, how long, and its lessons in their order."""

from __future__ import annotations

from typing import Final

import streamlit as st

from core.lecture import course
from core.lecture.course import Lesson
from pages.learn import lesson
from pages.shared import controls
from pages.shared.language import _, number, prose_section
from pages.shared.navigation import ENTRIES

PAGE: Final = "learn_course"


def page() -> None:
    """Top to bottom."""
    controls.page_header(_("The course"), prose_section(PAGE, "lead"))
    st.markdown(
        _(
            "**{count} lessons, {minutes} minutes in all** with a class that answers: about {sessions} sessions of an hour."
        ).format(count=number(len(course.LESSONS)), minutes=number(course.minutes()), sessions=number(-(-course.minutes() // 60)))
    )
    lesson.link(course.LESSONS[0], label=_("Begin with the first lesson"), icon=":material/play_arrow:", key="begin")
    left, right = st.columns(2, gap="large")
    with left:
        st.header(_("For whom"), anchor=False)
        st.markdown(prose_section(PAGE, "whom"))
    with right:
        st.header(_("How to use it"), anchor=False)
        st.markdown(prose_section(PAGE, "how"))
    st.header(_("The lessons"), anchor=False)
    for first in range(0, len(course.LESSONS), 2):
        for column, one in zip(st.columns(2), course.LESSONS[first : first + 2], strict=False):
            with column, st.container(border=True, height="stretch"):
                _card(one)
    st.header(_("Beside the course"), anchor=False)
    in_course = {one.url for one in course.LESSONS}
    with st.container(horizontal=True):
        for entry in ENTRIES:
            if entry.under == "learn" and entry.url not in in_course:
                st.page_link(entry.file, label=_(entry.title), icon=entry.icon, width="content")
    controls.link_to_view()


def _card(one: Lesson) -> None:
    lesson.link(one, label=f"**{course.number(one)} · {lesson.title_of(one)}**")
    needs = ", ".join(lesson.title_of(course.lesson(code)) for code in one.needs)
    needed = _("needs: {lessons}").format(lessons=needs) if needs else _("needs nothing before")
    st.caption(_("{minutes} min").format(minutes=number(one.minutes)) + " · " + needed)
    st.markdown(lesson.question(one))


page()
