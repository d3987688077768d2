"""Predict before you see: which way a number goes once a dial does, how far, and where most moves; then the true answer.

`lesson_page` asks it of every part, of the dial on display; the next question is of the next kind. The switch is in the lesson's
row (`switch`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from core.lecture.moved import Moved, doublings, trend
from pages.learn.what_moved import Followed, most_moved
from pages.shared import url_state
from pages.shared.language import _, compact, number

ASK: Final = "ask"
"""URL parameter: the question is shown."""
KEPT: Final = "predict:kept"
"""Session state: the switch is on."""
FROZEN: Final = "predict:frozen"
"""Session state: page and part, and the question that was revealed there."""
TURN: Final = "predict:turn"
"""Session state: how many questions were left behind."""
OTHERS: Final = 3
"""Rows at most beside the one that moves most."""


@dataclass(frozen=True)
class Change:
    """A number's name within a sentence, its value before and after, and the change of the matrix beside it."""

    name: str
    before: float
    after: float
    moved: Moved | None


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question with its options.

    Attributes:
        key: its name among all questions, the same in every language.
        text: the question in words. options: the answers to choose from; answer: place of the true one. reason: a sentence.
        then: choices of the session that bring the state asked about, for the dial to go there once the answer is out.
    """

    key: str
    text: str
    options: Sequence[str]
    answer: int
    reason: str
    then: Mapping[str, Any]


def questions(key: str, sentence: str, then: Mapping[str, Any], change: Change, matrix: Followed | None) -> list[Question]:
    """Questions on a dial that goes elsewhere: which way a number goes, how far, and where most moves.

    Args:
        key, then: their own. sentence: of the dial.
        matrix: of the view, whose change is None where its shape changes.
    """
    name, moved = change.name, change.moved
    reason = f"{name[:1].upper()}{name[1:]}: {compact(change.before)} → {compact(change.after)}."
    way, times = trend(change.before, change.after), doublings(change.before, change.after)
    ways: Sequence[str] = (_("it rises"), _("it stays the same"), _("it falls"))
    asked = [("way", _("What happens to {number}?").format(number=name), ways, 1 - way, reason)]
    if times is not None and way:
        sizes = _("¼ of it or less"), _("about half"), _("about as large"), _("about twice"), _("4 times or more")
        asked.append(("size", _("Beside now, how large will {number} be?").format(number=name), sizes, times + 2, reason))
    if matrix is not None and moved is not None and moved.leads:
        most, names = moved.most[0], matrix.rows
        others = [n for n in range(len(names)) if n != most]
        places = sorted([most, *others[:: -(-len(others) // OTHERS)]])
        rows = [f"{number(n + 1)} · {names[n]}" for n in places]
        asked.append(("place", _("Which row moves most?"), rows, places.index(most), most_moved(matrix, moved)))
    return [
        Question(key=f"{key} {kind}", text=f"{sentence} {text}", options=options, answer=answer, reason=why, then=then)
        for kind, text, options, answer, why in asked
    ]


def wanted() -> bool:
    """Tells whether the question is to be shown."""
    asked = st.query_params.get(ASK)  # kept for the session, as links within the app leave it out
    _keep(bool(st.session_state.get(KEPT)) if asked is None else asked == "true")
    return bool(st.session_state[KEPT])


def _keep(on: bool) -> None:
    st.session_state[KEPT] = on
    url_state.remember(ASK, "true" if on else None)


def switch() -> None:
    """The switch of the question."""
    st.session_state["predict:asked"] = wanted()
    st.toggle(
        _("Predict first"),
        key="predict:asked",
        on_change=lambda: _keep(bool(st.session_state["predict:asked"])),
        help=_("A question about what the view will show once something changes: answer, then see."),
    )


def links() -> dict[str, str]:
    """The parameters that a link to another lesson has to carry."""
    return {ASK: "true"} if wanted() else {}


def ask(make: Callable[[], Sequence[Question]]) -> bool:
    """Show the question, where it is wanted; call it after the dials.

    Args:
        make: the questions of the view's state, one of each kind, if it has any. Called only where it is needed.

    Returns:
        Whether the answer is out, or none is waited for.
    """
    if not wanted():
        return True
    kept = st.session_state.get(FROZEN)
    if kept is not None and kept[0] == _view():  # the question that was revealed here stays until the reader asks for the next
        question: Question = kept[1]
    elif kinds := make():
        question = kinds[st.session_state.get(TURN, 0) % len(kinds)]
    else:
        return True
    with st.container(key="predict"):
        _show(question)
    return bool(st.session_state.get(f"predict:{question.key}:revealed"))


def _view() -> tuple[Any, Any]:
    """The page and its part."""
    return st.context.url, st.session_state.get("part") or st.query_params.get("part")


def _freeze(question: Question) -> None:
    st.session_state[f"predict:{question.key}:revealed"] = True
    st.session_state[FROZEN] = (_view(), question)


def _leave(question: Question) -> None:
    """Goes on to the question of the next kind; this one is asked anew where its turn comes again."""
    state = st.session_state
    for name in [FROZEN, *(f"predict:{question.key}:{kept}" for kept in ("revealed", "hands"))]:
        state.pop(name, None)
    state[TURN] = state.get(TURN, 0) + 1


def _show(question: Question) -> None:
    state = st.session_state
    revealed = bool(state.get(f"predict:{question.key}:revealed"))
    st.markdown(f"**{question.text}**")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        given = _hands(question, revealed)
        if not revealed:
            reveal = _("Reveal")
            icon = ":material/visibility:"
            st.button(reveal, icon=icon, key="predict_reveal", help=_("Key R"), on_click=_freeze, args=(question,))
        elif question.then:
            show = _("Show")
            go = st.session_state.update
            st.button(show, icon=":material/play_arrow:", key="predict_walk", on_click=go, args=(question.then,))
        if revealed:
            st.button(_("Next question"), icon=":material/skip_next:", key="predict_next", on_click=_leave, args=(question,))
    if revealed:
        _reveal(question, given)


def _hands(question: Question, revealed: bool) -> list[int]:
    """Hands for each option, of a class or of one reader: a press counts one."""
    kept = f"predict:{question.key}:hands"
    hands: list[int] = st.session_state.setdefault(kept, [0] * len(question.options))

    def raised(option: int) -> None:
        hands[option] += 1

    for option, name in enumerate(question.options):
        label, icon = f"{name} · {number(hands[option])}" if hands[option] else name, ":material/front_hand:"
        st.button(label, icon=icon, key=f"predict_hand_{option}", on_click=raised, args=(option,), disabled=revealed)
    return hands


def _reveal(question: Question, hands: list[int]) -> None:
    """The verdict: what is true, of which numbers, and how many said so."""
    true = question.options[question.answer]
    sentence = f"**{true[:1].upper()}{true[1:]}.** {question.reason}"
    right, all_hands = hands[question.answer], sum(hands)
    if all_hands > 1:
        votes = _("{right} of {count} hands said so.").format(right=number(right), count=number(all_hands))
        st.info(f"{sentence} {votes}", icon=":material/front_hand:")
    elif not all_hands:
        st.info(sentence, icon=":material/visibility:")
    elif right:
        st.success(_("Right: {answer}").format(answer=sentence), icon=":material/check_circle:")
    else:
        st.warning(sentence, icon=":material/lightbulb:")
