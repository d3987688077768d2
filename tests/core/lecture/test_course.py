"""The order of the course, and what a class answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from core.lecture import class_answers, course
from core.lecture.class_answers import ClassAnswers, ClassError
from pages.shared.navigation import ENTRIES


def test_every_lesson_is_a_page_and_needs_only_what_came_before() -> None:
    pages = {entry.url for entry in ENTRIES}
    for place, lesson in enumerate(course.LESSONS):
        assert lesson.url in pages
        assert set(lesson.needs) <= {one.code for one in course.LESSONS[:place]}
        assert course.lesson_of(lesson.url, next(iter(lesson.parts), "")) is lesson
    assert len({one.code for one in course.LESSONS}) == len(course.LESSONS)


def test_the_way_leads_from_the_first_to_the_last_and_back() -> None:
    way = [course.LESSONS[0]]
    while (following := course.after(way[-1])) is not None:
        assert course.before(following) is way[-1]
        way.append(following)
    assert tuple(way) == course.LESSONS and course.before(way[0]) is None
    assert course.lesson_of("attention-steps", "heads") is course.lesson("heads")
    assert course.lesson_of("leakage") is None
    with pytest.raises(KeyError, match="no lesson is called 'mice'"):
        course.lesson("mice")


def test_a_class_counts_each_voter_once_from_many_threads() -> None:
    answers = ClassAnswers()
    code = answers.open()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: answers.answer(code, "q", str(n % 40), n % 3), range(400)))
    assert sum(answers.tally(code, "q", 3)) == 40
    answers.answer(code, "r", "one", 0)
    answers.answer(code, "r", "one", 2)
    assert answers.tally(code, "r", 3) == [0, 0, 1]
    assert answers.tally("nobody", "q", 2) == [0, 0]


def test_classes_are_capped_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    answers = ClassAnswers(max_classes=2, idle_s=100, clock=lambda: now[0])
    first, second = answers.open(), answers.open()
    with pytest.raises(ClassError, match="2 classes are open"):
        answers.open()
    now[0] = 90
    answers.answer(first, "q", "a", 0)
    now[0] = 150
    assert answers.known(first) and not answers.known(second)
    with pytest.raises(ClassError, match="no class is open"):
        answers.answer(second, "q", "a", 0)
    monkeypatch.setattr(class_answers, "MAX_VOTERS", 1)
    answers.answer(first, "q", "a", 1)
    with pytest.raises(ClassError, match="have answered this question"):
        answers.answer(first, "q", "b", 0)
    monkeypatch.setattr(class_answers, "MAX_QUESTIONS", 1)
    with pytest.raises(ClassError, match="open another"):
        answers.answer(first, "r", "a", 0)
