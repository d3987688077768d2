"""Predict before you see: a question about what the view will show, the reader's answer, then the true one and the class's.

    predict.ask(lambda: questions.temperature(choices, steps))

The switch is in the lesson's row (`switch`). A class answers on its phones (`class_push`, `class_route`); its counts stand here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

import streamlit as st

from core.lecture.classroom import CLASSES, Asked
from pages.shared import controls, url_state
from pages.shared.language import _, ngettext, number

ASK: Final = "ask"
"""URL parameter: the question is shown."""
CLASS: Final = "class"
"""URL parameter: the class's code."""
EVERY_S: Final = 2.0
"""Seconds after which a class's counts are read anew."""
KEY: Final = "predict:key"
"""Session state: code and key of the class that this session opened."""
FROZEN: Final = "predict:frozen"
"""Session state: page and part, and the question that was revealed there."""

CSS: Final = """
.st-key-predict { border-left: 4px solid #D5701F; padding-left: 0.9rem; }
dl.tally {
  display: grid; grid-template-columns: max-content 1fr max-content; gap: 0.2rem 0.8rem; margin: 0.3rem 0; align-items: center;
}
dl.tally dt, dl.tally dd { margin: 0; font-variant-numeric: tabular-nums; }
dl.tally .bar { height: 0.9rem; background: #858C96; border-radius: 2px; min-width: 2px; }
dl.tally .right { background: #2A9A78; }
"""


@dataclass(frozen=True, kw_only=True)
class Question(Asked):
    """A question about the view, its answer as core computed it.

    Attributes:
        then: choices of the session that bring the state asked about, for the dial to go there once the answer is out.
    """

    then: Mapping[str, Any] = field(default_factory=dict)


def wanted() -> bool:
    """Tells whether the question is to be shown."""
    return _kept(ASK) == "true"


def class_code() -> str:
    """The code of the class that this visitor is in; empty where in none."""
    return _kept(CLASS)


def _kept(name: str) -> str:
    """A parameter of the link, kept for the session, as links within the app leave it out."""
    held = f"predict:{name}"
    told = st.query_params.get(name)
    if told is not None:
        st.session_state[held] = told[:20]
    value = str(st.session_state.get(held) or "")
    url_state.remember(name, value or None)
    return value


def cookie(code: str) -> str:
    """Name of the cookie that keeps the key of a class which this browser leads."""
    return f"lead_{code}"


def key_of(code: str) -> str:
    """The key by which this session, or this browser before the page was loaded anew, leads a class; "" where it does not."""
    opened: tuple[str, str] = st.session_state.get(KEY, ("", ""))
    return opened[1] if opened[0] == code else str(st.context.cookies.get(cookie(code), ""))


def led() -> str:
    """The code of the class that this session leads; empty where it leads none."""
    code = class_code()
    return code if code and CLASSES.leads(code, key_of(code)) else ""


def put(name: str, value: str) -> None:
    """Keep a parameter of the link."""
    st.session_state[f"predict:{name}"] = value
    url_state.remember(name, value or None)


def switch() -> None:
    """The switch of the question."""
    st.session_state["predict:asked"] = wanted()
    st.toggle(
        _("Predict first"),
        key="predict:asked",
        on_change=lambda: put(ASK, "true" if st.session_state["predict:asked"] else ""),
        help=_("A question about what the view will show once something changes: answer, then see."),
    )


def links() -> dict[str, str]:
    """The parameters that a link to another lesson has to carry."""
    return {name: value for name in (ASK, CLASS) if (value := _kept(name))}


def ask(make: Callable[[], Question | None]) -> bool:
    """Show the question, where it is wanted; call it after the dials.

    Args:
        make: builds the question from the view's state; None where this state has none. Called only where it is needed.

    Returns:
        Whether the true answer may be seen: a view that holds it (other questions are about a change) waits for that.
    """
    if not wanted():
        return True
    question = frozen() or make()
    if question is None:
        return True
    st.html(f"<style>{CSS}</style>")
    with st.container(key="predict"):
        _show(question)
    return bool(st.session_state.get(f"predict:{question.key}:revealed"))


def _view() -> tuple[Any, Any]:
    """The page and its part."""
    return st.context.url, st.session_state.get("part") or st.query_params.get("part")


def frozen() -> Question | None:
    """The question that was revealed in this part and stays, with its tally, while dials move; None once the teacher went on."""
    kept = st.session_state.get(FROZEN)
    return kept[1] if kept is not None and kept[0] == _view() else None


def _freeze(question: Question) -> None:
    st.session_state[f"predict:{question.key}:revealed"] = True
    st.session_state[FROZEN] = (_view(), question)


def _walk(question: Question) -> None:
    st.session_state.update(question.then)
    st.session_state.pop("permutation:typed", None)  # the field of a typed order follows the order


def _show(question: Question) -> None:
    code, state = class_code(), st.session_state
    if code and not CLASSES.known(code):
        controls.notice("closed", _("This class is over: answers are not counted. Its switch opens a new one, with a new link."))
    code = led()
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
    if code:
        _class(question, code, bool(state.get(revealed)))


def _answered(widget: str, chosen: str) -> None:
    st.session_state[chosen] = st.session_state[widget]


def _reveal(question: Question, answer: int | None) -> None:
    true = question.options[question.answer]
    sentence = f"**{true}.** {question.why}"
    if answer is None:
        st.info(sentence, icon=":material/visibility:")
    elif answer in (question.answer, *question.right):
        st.success(_("Right: {answer}").format(answer=sentence), icon=":material/check_circle:")
    else:
        st.warning(_("It is {answer}").format(answer=sentence), icon=":material/lightbulb:")


def _class(question: Question, code: str, revealed: bool) -> None:
    """Shows the number of answers and, once revealed, the answers. Read anew by itself."""

    @st.fragment(run_every=EVERY_S)
    def counts() -> None:
        tally = CLASSES.tally(code, question.key, len(question.options))
        given = ngettext("{count} answer so far", "{count} answers so far", sum(tally)).format(count=number(sum(tally)))
        st.caption(_("Class {code}: {answers}").format(code=code, answers=given))
        if revealed:
            st.html(_tally(question, tally))

    counts()


def _tally(question: Question, tally: list[int]) -> str:
    most = max(1, *tally)
    rows = "".join(
        f'<dt>{escape(option)}</dt><dd><div class="bar{" right" if place in (question.answer, *question.right) else ""}" '
        f'style="width:{100 * count / most:.0f}%"></div></dd><dd>{number(count)}</dd>'
        for place, (option, count) in enumerate(zip(question.options, tally, strict=True))
    )
    return f'<dl class="tally">{rows}</dl>'
