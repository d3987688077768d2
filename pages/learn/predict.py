"""Predict before you see: what happens to a number of the view once one thing changes; the reader's answer, then the true one.

    predict.ask(lambda: Question(key="...", change=_("One frame is added."), number=_("the number of paths"), before=3, after=7))

`lesson_page` asks it of every part, of the dial on display. The switch is in the lesson's row (`switch`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import streamlit as st

from core.lecture.moved import trend
from pages.shared import url_state
from pages.shared.language import _, significant

ASK: Final = "ask"
"""URL parameter: the question is shown."""
KEPT: Final = "predict:kept"
"""Session state: the switch is on."""
FROZEN: Final = "predict:frozen"
"""Session state: page and part, and the question that was revealed there."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Does a number rise or fall once one thing changes?

    Attributes:
        key: its name among all questions, the same in every language.
        change: what changes, a sentence. number: the number's name within a sentence. before, after: its values.
        then: choices of the session that bring the state asked about, for the dial to go there once the answer is out.
    """

    key: str
    change: str
    number: str
    before: float
    after: float
    then: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The question in words."""
        return f"{self.change} " + _("What happens to {number}?").format(number=self.number)

    @property
    def options(self) -> tuple[str, str, str]:
        """The answers to choose from."""
        return _("it rises"), _("it stays the same"), _("it falls")

    @property
    def answer(self) -> int:
        """Place of the true one."""
        return 1 - trend(self.before, self.after)


def wanted() -> bool:
    """Tells whether the question is to be shown."""
    told = st.query_params.get(ASK)  # kept for the session, as links within the app leave it out
    if told is not None:
        st.session_state[KEPT] = told == "true"
    return _keep(bool(st.session_state.get(KEPT)))


def _keep(on: bool) -> bool:
    st.session_state[KEPT] = on
    url_state.remember(ASK, "true" if on else None)
    return on


def switch() -> None:
    """The switch of the question."""
    st.session_state["predict:asked"] = wanted()
    st.toggle(
        _("Predict first"),
        key="predict:asked",
        on_change=_switched,
        help=_("A question about what the view will show once something changes: answer, then see."),
    )


def _switched() -> None:
    _keep(bool(st.session_state["predict:asked"]))


def links() -> dict[str, str]:
    """The parameters that a link to another lesson has to carry."""
    return {ASK: "true"} if wanted() else {}


def ask(make: Callable[[], Question | None]) -> bool:
    """Show the question, where it is wanted; call it after the dials.

    Args:
        make: builds the question from the view's state; None where this state has none. Called only where it is needed.

    Returns:
        Whether the answer is out, or none is waited for.
    """
    if not wanted():
        return True
    question = frozen() or make()
    if question is None:
        return True
    with st.container(key="predict"):
        _show(question)
    return bool(st.session_state.get(f"predict:{question.key}:revealed"))


def _view() -> tuple[Any, Any]:
    """The page and its part."""
    return st.context.url, st.session_state.get("part") or st.query_params.get("part")


def frozen() -> Question | None:
    """The question that was revealed in this part and stays while dials move; None once the reader asks for the next."""
    kept = st.session_state.get(FROZEN)
    return kept[1] if kept is not None and kept[0] == _view() else None


def _freeze(question: Question) -> None:
    st.session_state[f"predict:{question.key}:revealed"] = True
    st.session_state[FROZEN] = (_view(), question)


def _walk(question: Question) -> None:
    st.session_state.update(question.then)


def _show(question: Question) -> None:
    state = st.session_state
    revealed, chosen = f"predict:{question.key}:revealed", f"predict:{question.key}:chosen"
    st.markdown(f"**{question.text}**")
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    with left:
        widget = f"predict:{question.key}:options"
        if chosen in state:
            state[widget] = state[chosen]
        answer = st.radio(
            _("Your prediction"),
            range(len(question.options)),
            index=None,
            format_func=lambda option: question.options[option],
            horizontal=True,
            key=widget,
            disabled=bool(state.get(revealed)),
            label_visibility="collapsed",
            on_change=_answered,
            args=(widget, chosen),
        )
    with right:
        if not state.get(revealed):
            st.button(
                _("Reveal"),
                icon=":material/visibility:",
                key="predict_reveal",
                help=_("Key R"),
                on_click=_freeze,
                args=(question,),
            )
        elif question.then:
            show = _("Show it")
            st.button(show, icon=":material/play_arrow:", key="predict_walk", on_click=_walk, args=(question,))
        if state.get(revealed) and frozen() is not None:
            st.button(
                _("Next question"), icon=":material/skip_next:", key="predict_next", on_click=lambda: state.pop(FROZEN, None)
            )
    if state.get(revealed):
        _reveal(question, answer)


def _answered(widget: str, chosen: str) -> None:
    st.session_state[chosen] = st.session_state[widget]


def _reveal(question: Question, answer: int | None) -> None:
    true = question.options[question.answer]
    sentence = f"**{true}.** {significant(question.before)} → {significant(question.after)}"
    if answer is None:
        st.info(sentence, icon=":material/visibility:")
    elif answer == question.answer:
        st.success(_("Right: {answer}").format(answer=sentence), icon=":material/check_circle:")
    else:
        st.warning(_("It is {answer}").format(answer=sentence), icon=":material/lightbulb:")
