"""The teacher's side of a class: what this page shows goes to every phone, in each language; the class's link, queue and reasons.

The session that opened the class leads it. A cookie of this browser keeps the class's key, so that a page which is loaded anew
leads on; the page's address holds the code alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.lecture.classroom import CLASSES, LIFE_S, Asked, ClassError
from core.lecture.trial import Effect
from core.service import classes
from core.service.access import NotAllowed
from pages.learn import class_test, predict, take_along
from pages.learn.plain_view import PlainView
from pages.learn.predict import Question
from pages.shared import controls, permissions
from pages.shared.language import LANGUAGES, _, current, ngettext, number, speaking

SENT: Final = "class:sent"
"""Session state: what was sent last, so that a run which changes nothing sends nothing."""
TOLD: Final = "class:told"
"""Session state: the question on the phones, by language, which stays as it is while the dials go on."""
PROBLEM: Final = "class:problem"
TOUR: Final = "tour"
"""Session state: a dictionary that takes what a tour needs of a state (`lesson_page.for_tour`); no visitor's session has one."""
EVERY_S: Final = 2.0

View = Callable[[], tuple[PlainView, Question | None]]


def publish(view: View, *, state: Any, asked: bool, frozen: Question | None, revealed: bool) -> None:
    """Send a view to the class that this session leads; nothing where it leads none, or nothing changed.

    Args:
        view: makes it and its question in the language of the moment. state: all that it is made from.
        asked: a question is on display. frozen: the one that stays although the dials went on. revealed: its answer is out.
    """
    code = predict.led()
    if not code:
        return
    sent = (code, repr(state), asked, frozen.key if frozen else "", revealed)
    if st.session_state.get(SENT) == sent:
        return
    texts, questions = {}, dict[str, Asked]()
    for language in LANGUAGES:
        with speaking(language):
            shown, question = view()
            texts[language] = json.dumps(shown.content(), ensure_ascii=False)
        if asked and (on_display := frozen or question):
            questions[language] = on_display
    kept: Mapping[str, Asked] = st.session_state.get(TOLD) or {}
    if frozen and kept and next(iter(kept.values())).key == frozen.key:
        questions = dict(kept)
    st.session_state[TOLD] = questions
    try:
        CLASSES.show(code, texts, questions or None, revealed=revealed)
        st.session_state[SENT] = sent
    except ClassError as problem:
        st.session_state[PROBLEM] = problem.args[0]


def address(code: str) -> str:
    """The class's link, short enough to type."""
    return f"{(st.context.url or '').rpartition('/')[0]}/class/{code}"


def panel(help: str = "", *, lesson: str = "") -> None:
    """The switch of the class and, where one is open, its link, queue, reasons and tests; for who attends, the way back.

    Args:
        help: what the switch does on this page, in place of a lesson's. lesson: of the course, which a test is about.
    """
    code, led = predict.class_code(), predict.led()
    if not led and code and CLASSES.known(code):
        back = _("Back to the class")
        st.html(f'<a class="to-class" href="/class/{code}?lang={current()}" target="_self">{back}</a>')
        return
    if not controls.presenting():
        st.session_state["predict:shared"] = bool(led)
        st.toggle(
            _("For the class"),
            key="predict:shared",
            on_change=_switch,
            help=help
            or _(
                "Every phone that opens the class's link shows what this page shows, in its own language, and answers the same "
                "question. All of it lives in the app's memory for three hours; nothing about who answered is kept."
            ),
        )
    if problem := st.session_state.pop(PROBLEM, None):
        controls.error_box(problem)
    if led:
        _keep_key(led)
        _live(led, lesson)


def _switch() -> None:
    by, led = permissions.visitor(), predict.led()
    try:
        if st.session_state["predict:shared"]:
            code, key = classes.open_class(by)
            st.session_state[predict.KEY] = (code, key)
            predict.put(predict.CLASS, code)
        elif led:
            classes.require_lead(by, led, predict.key_of(led))
            CLASSES.close(led)
            predict.put(predict.CLASS, "")
        st.session_state.pop(SENT, None)
    except (ClassError, NotAllowed) as problem:
        st.session_state[PROBLEM] = problem.args[0]


def _keep_key(code: str) -> None:
    """Have the browser keep the key for this server alone, for as long as a class lives."""
    kept = json.dumps(f"{predict.cookie(code)}={predict.key_of(code)};path=/;max-age={int(LIFE_S)};SameSite=Strict")
    script = f'document.cookie = {kept} + (location.protocol === "https:" ? ";Secure" : "");'
    st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)


@st.fragment(run_every=EVERY_S)
def _live(code: str, lesson: str) -> None:
    waiting, reasons = CLASSES.queue(code), CLASSES.reasons(code)
    count = CLASSES.here(code)
    here = (
        number(count) if controls.presenting() else ngettext("{count} phone", "{count} phones", count).format(count=number(count))
    )
    name = f"{code} · {here}" + (f" · {number(len(waiting))} ?" if waiting else "")
    with st.popover(name, icon=":material/groups:"):
        link = address(code)
        st.markdown(f"**{link}**")
        label = _("QR code of the class")
        st.html(f'<figure style="margin:0;width:14rem" aria-label="{label}">{take_along.qr_code(link)}</figure>')
        st.markdown("**" + _("Questions of the class") + "**")
        if not waiting:
            st.caption(_("None waits."))
        for place, text, votes in waiting:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(f"{votes} ▲  {text}")
                st.button(_("Done"), key=f"class:done:{place}", on_click=_settle, args=(code, place))
        if reasons:
            st.markdown("**" + _("Why, in their words") + "**")
            st.toggle(_("Show the reasons to the class"), key=f"class:reasons:{code}", on_change=_tell, args=(code,))
            for one in reasons:
                st.text(f"“{one}”")
        if lesson:
            _trial(code, lesson)


def _trial(code: str, lesson: str) -> None:
    """Starts and ends the lesson's tests, and shows what predicting gains over watching."""
    named = {"": _("None now"), "before": _("Before"), "after": _("After"), "later": _("Weeks later")}
    st.markdown("**" + _("A short test: does predicting help?") + "**")
    st.segmented_control(
        _("Test"), list(named), format_func=named.__getitem__, default="", key=f"class:test:{code}", required=True,
        label_visibility="collapsed", on_change=_test, args=(code, lesson),
        help=_(
            "The first test draws each student to predict or to watch; the same questions with other numbers come after the "
            "lesson and, in a class of some weeks later, from what the phone has kept."
        ),
    )  # fmt: skip
    on, trial = CLASSES.trial(code)
    if on != lesson or not trial.right:
        return
    for phase in ("before", "after", "later"):
        count = sum(phase in one for one in trial.right.values())
        if count:
            st.caption(
                f"{named[phase]}: " + ngettext("{count} handed in", "{count} handed in", count).format(count=number(count))
            )
    for phase in ("after", "later"):
        if min((told := trial.effect(phase)).counts):
            st.markdown(f"{named[phase]}: {_effect(told)}")
    rows = trial.rows()
    controls.download_table(
        _("Results"), lambda: pd.DataFrame(rows), key=f"trial_{lesson}", filename=f"trial-{lesson}", formats=("csv",)
    )


def _effect(it: Effect) -> str:
    gains = _("right answers gained: predicting {predict} ({n1}), watching {watch} ({n2}); difference {difference}").format(
        predict=number(it.gains[0], 2), n1=number(it.counts[0]), watch=number(it.gains[1], 2), n2=number(it.counts[1]),
        difference=number(it.difference, 2),
    )  # fmt: skip
    sure = it.low == it.low  # it is no number where there are too few
    interval = _("95 % interval {low} to {high}") if sure else _("too few for an interval")
    return f"{gains}, {interval.format(low=number(it.low, 2), high=number(it.high, 2)) if sure else interval}"


def _test(code: str, lesson: str) -> None:
    phase = str(st.session_state[f"class:test:{code}"] or "")
    made = class_test.items(lesson, phase) if phase else {}
    with_lead(code, lambda: CLASSES.test(code, lesson, phase, made))


def _settle(code: str, place: int) -> None:
    with_lead(code, lambda: CLASSES.settle(code, place))


def _tell(code: str) -> None:
    with_lead(code, lambda: CLASSES.tell_reasons(code, on=bool(st.session_state[f"class:reasons:{code}"])))


def with_lead(code: str, act: Callable[[], None]) -> None:
    """Do what only the class's teacher may."""
    try:
        classes.require_lead(permissions.visitor(), code, predict.key_of(code))
        act()
    except (ClassError, NotAllowed) as problem:
        st.session_state[PROBLEM] = problem.args[0]
