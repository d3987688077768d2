"""The lecture: a path of 45 minutes in nine stops, each with its picture and its question, and below it the lessons."""

from base64 import b64encode
from functools import cache
from typing import Final

import streamlit as st

from core.lecture import course
from core.lecture.course import Lesson
from core.lecture.stops import MINUTES
from pages.learn import lecture, lesson
from pages.shared import controls
from pages.shared.language import _, number, prose_section
from pages.shared.navigation import ROOT

PICTURES: Final = ROOT / "assets" / "pictures" / "lecture"
"""Pictures of the stops: `python -m scripts.screenshots --stops` draws them from the pages."""


def page() -> None:
    """The stage, where the address names a stop; else top to bottom."""
    if lecture.STOP in st.query_params:
        lecture.stage()
        return
    controls.page_header(_("The lecture"), prose_section(lecture.PAGE, "lead"))
    with st.container(key="lecture_stops"):
        for at, code in enumerate(MINUTES):
            with st.container(key=f"lecture_tile_{at}"):
                _stop(at, code)
    left, right = st.columns(2, gap="large")
    with left:
        st.header(_("For whom"), anchor=False)
        st.markdown(prose_section(lecture.PAGE, "whom"))
    with right:
        st.header(_("How to use it"), anchor=False)
        st.markdown(prose_section(lecture.PAGE, "how"))
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
    controls.link_to_view()


def _stop(at: int, code: str) -> None:
    st.html(f'<img src="{_picture(code)}" alt="">')
    label = f"**{number(at + 1)} · {prose_section(lecture.PAGE, f'{code}_title')}**"
    minutes = _("{count} min").format(count=number(MINUTES[code]))
    st.page_link("pages/learn/course.py", label=f"{label} · {minutes}", query_params={lecture.STOP: f"{at + 1}.1"})
    st.caption(prose_section(lecture.PAGE, f"{code}_1").partition("\n\n")[0])


@cache
def _picture(code: str) -> str:
    return f"data:image/webp;base64,{b64encode((PICTURES / f'{code}.webp').read_bytes()).decode()}"


def _card(one: Lesson) -> None:
    lesson.link(one, label=f"**{course.number(one)} · {lesson.title_of(one)}**")
    needs = ", ".join(lesson.title_of(course.lesson(code)) for code in one.needs)
    needed = _("needs: {lessons}").format(lessons=needs) if needs else _("needs nothing before")
    st.caption(_("{count} min").format(count=number(one.minutes)) + " · " + needed)
    st.markdown(lesson.passage(one, "why"))


page()
