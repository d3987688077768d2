"""The layout of a lesson on a projector: one figure on three fifths of the screen.

Beside it stand the diagram, the dial and the link's QR code, below it the question and what moved. Places are fixed
(assets/styles/lesson_present.css): nothing scrolls, nothing jumps.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import streamlit as st

from pages.learn import take_along
from pages.shared import controls, url_state
from pages.shared.language import _

FIGURE: Final = "fig"
"""URL parameter: number of the figure on display, from 1."""


class Stage:
    """The places of the screen, in the order of the keyboard."""

    def __init__(self) -> None:
        self.figure = st.container(key="stage_figure")
        with st.container(key="stage_side"):
            self.diagram = st.container(key="stage_diagram")
            self.dial = st.container(key="stage_dial")
            self.choice = st.container(key="stage_choice")
            self.link = st.container(key="stage_link")
        self.strip = st.container(key="stage_strip")
        self.hidden = st.container(key="stage_hidden")

    def present(self, shown: Sequence[Callable[[], object]], *, first: int, equations: int) -> None:
        """One of these, and a choice among them.

        Args:
            first: which, where the reader chose none. equations: how many at the end are equations.
        """
        if not shown:
            return
        figures = len(shown) - equations
        marks = [str(n + 1) for n in range(figures)] + ["ƒ" * (n + 1) for n in range(equations)]
        names = {str(n + 1): mark for n, mark in enumerate(marks)}
        with self.choice:
            label: dict[str, Any] = {"label_visibility": "collapsed"}
            chosen = url_state.choice(st.segmented_control, _("Figure"), names, key=FIGURE, default=str(first + 1), **label)
        with self.figure:
            shown[int(chosen) - 1]()

    def code(self) -> None:
        """The QR code of the view's link."""
        link = controls.view_address(**{controls.PRESENTATION: "false"})
        with self.link:
            if code := take_along.qr_code(link):
                st.html(f'<figure class="stage-qr" aria-label="{_("QR code of this view")}">{code}</figure>')


def stage() -> Stage | None:
    """The places, while presenting."""
    return Stage() if controls.presenting() else None


def same(values: Any, others: Any) -> bool:
    """Tells whether two matrices have the same rows, in any order."""
    return values is not None and values.shape == others.shape and sorted(values.tolist()) == sorted(others.tolist())
