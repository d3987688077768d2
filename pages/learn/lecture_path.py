"""The path of the lecture: nine stops, each a page in a state; an address with `stop` is on it, and says so above its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st
from streamlit.errors import StreamlitPageNotFoundError

from core.lecture import course
from core.lecture.course import STOPS, Stop, StopView
from pages.shared import controls
from pages.shared.language import _, number, prose_section
from pages.shared.navigation import entry_of

PAGE: Final = "learn_course"
STOP: Final = "stop"


def here() -> Stop | None:
    """The stop that the address is at; None where it leads along no path."""
    place = st.query_params.get(STOP, "")
    return STOPS[int(place) - 1] if place in [str(n) for n in range(1, len(STOPS) + 1)] else None


def title_of(stop: Stop) -> str:
    """Its title, short."""
    return prose_section(PAGE, f"{stop.code}_title")


def question(stop: Stop) -> str:
    """The question that the stop asks."""
    return prose_section(PAGE, stop.code)


def link(stop: Stop, view: StopView | None = None, *, label: str, help: str | None = None, **more: Any) -> None:
    """A link to a stop, or to another of its views."""
    to = view or stop.views[0]
    query = dict(to.query) | {STOP: str(STOPS.index(stop) + 1)}
    page_link(entry_of(to.url).file, query, label=label, help=help, **more)


def page_link(file: str, query: Mapping[str, str], *, label: str, help: str | None = None, **more: Any) -> None:
    """A link that keeps presentation mode."""
    kept = {controls.PRESENTATION: "true"} if controls.presenting() else {}
    try:
        st.page_link(file, label=label, help=help, query_params=dict(query) | kept, **more)
    except StreamlitPageNotFoundError:  # a page that runs by itself, without the navigation
        st.caption(label)


def place(stop: Stop) -> None:
    """The stop's number between links to its neighbours, and its other views."""
    n = STOPS.index(stop)
    with st.container(key="lesson_place", horizontal=True, vertical_alignment="center", gap="xxsmall", width="content"):
        if n:
            link(STOPS[n - 1], label=number(n), help=title_of(STOPS[n - 1]), icon=":material/arrow_back:")
        where = _("**Stop {n} of {count}** · {minutes} min")
        st.caption(where.format(n=number(n + 1), count=number(len(STOPS)), minutes=number(stop.minutes)), width="content")
        if n + 1 < len(STOPS):
            link(STOPS[n + 1], label=number(n + 2), help=title_of(STOPS[n + 1]), icon=":material/arrow_forward:")
        else:
            page_link(entry_of("learn").file, {}, label=_("The lecture"))
        if len(stop.views) > 1:
            for view, label in zip(stop.views, prose_section(PAGE, f"{stop.code}_views").split(" · "), strict=True):
                link(stop, view, label=label)


def above(url: str) -> None:
    """The stop and its question, above a page that is no lesson; a lesson has them in its head."""
    stop = here()
    if stop is None or course.lesson_of(url) is not None:
        return
    with st.container(key="lecture_stop", horizontal=True, vertical_alignment="center", gap="small"):
        place(stop)
        st.caption(question(stop), width="content")
