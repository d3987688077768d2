"""A class: who leads it, what it counts, how it is bounded, and what a phone gets."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.lecture import classroom
from core.lecture.classroom import LIFE_S, MAX_SHOWN, MAX_TEXT, Asked, ClassError, Classes
from core.service import classes as service
from core.service.access import NotAllowed, Role, Visitor


def asked(key: str = "q") -> dict[str, Asked]:
    texts = {"en": ("Which?", ("cat", "sat", "mat")), "es": ("¿Cuál?", ("gato", "sentó", "mesa"))}
    return {name: Asked(key=key, text=text, options=few, answer=1, right=(), why="w") for name, (text, few) in texts.items()}


def opened(**given: object) -> tuple[Classes, str]:
    classes = Classes(**given)  # type: ignore[arg-type]
    code, _key = classes.open()
    classes.show(code, {"en": '{"n":1}', "es": '{"n":2}'}, asked(), revealed=False)
    return classes, code


def got(classes: Classes, code: str, language: str = "en", seen: dict[str, int] | None = None) -> dict[str, object]:
    return {name: json.loads(text) for name, (_at, text) in classes.slots(code, language, seen or {}).items()}


def test_it_counts_each_voter_once_from_many_threads() -> None:
    classes, code = opened()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: classes.answer(code, "q", str(n % 40), n % 3), range(400)))
    assert sum(classes.tally(code, "q", 3)) == 40
    classes.answer(code, "q", "one", 0)
    classes.answer(code, "q", "one", 2)
    assert sum(classes.tally(code, "q", 3)) == 41 and classes.tally("nobody", "q", 2) == [0, 0]


def test_phones_get_the_same_in_their_language_and_no_answer_before_it_is_out() -> None:
    classes, code = opened()
    classes.answer(code, "q", "a", 2)
    english, spanish = got(classes, code), got(classes, code, "es")
    assert (english["view"], spanish["view"]) == ({"n": 1}, {"n": 2})
    assert spanish["question"] == {"key": "q", "text": "¿Cuál?", "options": ["gato", "sentó", "mesa"], "revealed": False}
    assert english["counts"] == {"question": "q", "answers": 1}
    classes.show(code, {"en": '{"n":1}', "es": '{"n":2}'}, asked(), revealed=True)
    after = got(classes, code)
    assert after["counts"] == {"question": "q", "answers": 1, "tally": [0, 0, 1]}
    assert after["question"] == english["question"] | {"revealed": True, "right": [1], "why": "w"}  # type: ignore[operator]
    with pytest.raises(ClassError, match="this question is closed"):
        classes.answer(code, "q", "a", 1)


def test_the_tally_stays_while_the_dial_goes_to_the_state_asked_about() -> None:
    classes, code = opened()
    classes.answer(code, "q", "a", 1)
    classes.show(code, {"en": '{"n":1}'}, asked(), revealed=True)
    seen = {name: at for name, (at, _text) in classes.slots(code, "en", {}).items()}
    classes.show(code, {"en": '{"n":9}'}, asked(), revealed=True)
    assert set(got(classes, code, seen=seen)) == {"view"} and got(classes, code)["counts"]["tally"] == [0, 1, 0]  # type: ignore[index]


def test_reasons_come_after_the_answer_without_names_and_are_shown_when_the_teacher_says_so() -> None:
    classes, code = opened()
    with pytest.raises(ClassError, match="whose answer is out"):
        classes.give_reason(code, "q", "a", "too early")
    classes.show(code, {"en": "1"}, asked(), revealed=True)
    classes.give_reason(code, "q", "zoe", "  the\nroot \u202e ")
    classes.give_reason(code, "q", "abe", "a larger divisor")
    assert got(classes, code)["reasons"] is None and classes.reasons(code) == ["a larger divisor", "the root"]
    classes.tell_reasons(code, on=True)
    assert got(classes, code)["reasons"] == ["a larger divisor", "the root"]
    classes.give_reason(code, "q", "abe", "")
    assert got(classes, code)["reasons"] == ["the root"]
    classes.show(code, {"en": "1"}, asked("r"), revealed=False)
    assert got(classes, code)["reasons"] is None


def test_the_queue_is_ordered_by_votes_then_age() -> None:
    classes, code = opened()
    for by, text in (("a", "first"), ("b", "second"), ("c", "x" * 900)):
        classes.ask(code, by, text)
    classes.vote(code, "d", 2)
    assert classes.queue(code) == [(2, "second", 2), (1, "first", 1), (3, "x" * MAX_TEXT, 1)]
    classes.vote(code, "d", 2)
    classes.settle(code, 1)
    assert got(classes, code)["queue"] == [
        {"number": 2, "text": "second", "votes": 1},
        {"number": 3, "text": "x" * MAX_TEXT, "votes": 1},
    ]
    with pytest.raises(ClassError, match="needs words"):
        classes.ask(code, "a", " \u200b\n")
    for _ in range(classroom.MAX_ASKED_EACH):
        classes.ask(code, "e", "again")
    with pytest.raises(ClassError, match="of yours wait"):
        classes.ask(code, "e", "again")


def test_it_is_bounded_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    classes, first = opened(max_classes=2, idle_s=100, clock=lambda: now[0])
    second, _key = classes.open()
    with pytest.raises(ClassError, match="2 classes are open"):
        classes.open()
    now[0] = 90
    classes.answer(first, "q", "a", 0)
    now[0] = 150
    woken: list[int] = []
    classes.join(first, "phone", lambda: woken.append(1))
    assert classes.known(first) and not classes.known(second)
    tries = {
        "MAX_VOTERS": ("have answered this", lambda: classes.answer(first, "q", "b", 0)),
        "MAX_HERE": ("phones are in", lambda: classes.join(first, "another", lambda: None)),
        "MAX_QUESTIONS": ("open another", lambda: classes.answer(first, "r", "a", 0)),
    }
    for bound, (refused, go_on) in tries.items():
        monkeypatch.setattr(classroom, bound, 1)
        if bound == "MAX_QUESTIONS":
            classes.show(first, {"en": "1"}, asked("r"), revealed=False)
        with pytest.raises(ClassError, match=refused):
            go_on()
    with pytest.raises(ClassError, match="no such answer"):
        classes.answer(first, "r", "a", 3)
    with pytest.raises(ClassError, match="is not sent to the class"):
        classes.show(first, {"en": "x" * (MAX_SHOWN + 1)}, None, revealed=False)
    woken.clear()
    for _ in range(int(LIFE_S) // 90 + 1):  # used all the time, and over all the same
        now[0] += 90
        if classes.known(first):
            classes.ask(first, str(now[0]), "still here?") if len(classes.queue(first)) < 5 else classes.vote(first, "a", 1)
    assert not classes.known(first) and woken


def test_a_phone_that_floods_is_slowed_down_alone() -> None:
    now = [0.0]
    classes, code = opened(clock=lambda: now[0])
    sent = [classes.allow(code, "flood") for _ in range(40)]
    assert sum(sent) == int(classroom.BURST) and classes.allow(code, "other")
    now[0] = 2
    assert classes.allow(code, "flood")


def test_only_who_has_the_key_leads() -> None:
    anyone = Visitor(id="t", role=Role.STRANGER)
    code, key = service.open_class(anyone)
    service.require_lead(anyone, code, key)
    service.require_attend(anyone, code)
    for wrong in ("", "x" * len(key), key[:-1]):
        with pytest.raises(NotAllowed, match="Closed here: leading a class"):
            service.require_lead(Visitor(id="s", role=Role.OPERATOR), code, wrong)
    classroom.CLASSES.close(code)
    for gone in (lambda: service.require_lead(anyone, code, key), lambda: service.require_attend(anyone, code)):
        with pytest.raises(ClassError, match="ask for the new link"):
            gone()
