"""The lecture: a path of 45 minutes in nine stops, each with its picture and its question, and below it the lessons."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from typing import Final

import streamlit as st

from core.lecture import course
from core.lecture.course import Lesson, Stop
from pages.learn import lecture_path, lesson
from pages.shared import controls
from pages.shared.language import _, number, prose_section
from pages.shared.navigation import ENTRIES, ROOT

PAGE: Final = "learn_course"
PICTURES: Final = ROOT / "assets" / "pictures" / "lecture"
"""Pictures of the stops: `python -m scripts.screenshots --stops` draws them from the pages."""


def page() -> None:
    """Top to bottom."""
    controls.page_header(_("The lecture"), prose_section(PAGE, "lead"))
    with st.container(key="lecture_stops"):
        for at, stop in enumerate(course.STOPS):
            with st.container(key=f"lecture_tile_{at}"):
                _stop(at, stop)
    left, right = st.columns(2, gap="large")
    with left:
        st.header(_("For whom"), anchor=False)
        st.markdown(prose_section(PAGE, "whom"))
    with right:
        st.header(_("How to use it"), anchor=False)
        st.markdown(prose_section(PAGE, "how"))
    st.header(_("The lessons"), anchor=False)
    st.markdown(
        _(
            "**{count} lessons, {minutes} minutes in all** with a class that answers: about {sessions} sessions of an hour."
        ).format(count=number(len(course.LESSONS)), minutes=number(course.minutes()), sessions=number(-(-course.minutes() // 60)))
    )
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


def _stop(at: int, stop: Stop) -> None:
    st.html(f'<img src="{_picture(stop.code)}" alt="">')
    label = f"**{number(at + 1)} · {lecture_path.title_of(stop)}**"
    lecture_path.link(stop, label=f"{label} · {_('{minutes} min').format(minutes=number(stop.minutes))}")
    st.caption(lecture_path.question(stop))


@cache
def _picture(code: str) -> str:
    return f"data:image/webp;base64,{b64encode((PICTURES / f'{code}.webp').read_bytes()).decode()}"


def _card(one: Lesson) -> None:
    lesson.link(one, label=f"**{course.number(one)} · {lesson.title_of(one)}**")
    needs = ", ".join(lesson.title_of(course.lesson(code)) for code in one.needs)
    needed = _("needs: {lessons}").format(lessons=needs) if needs else _("needs nothing before")
    st.caption(_("{minutes} min").format(minutes=number(one.minutes)) + " · " + needed)
    st.markdown(lesson.question(one))


page()
