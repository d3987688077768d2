"""The order of the course."""

from __future__ import annotations

import pytest

from core.lecture import course
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
    assert course.lesson_of("words") is None
    with pytest.raises(KeyError, match="no lesson is called 'mice'"):
        course.lesson("mice")


def test_a_lessons_questions_come_again_two_lessons_later() -> None:
    later = [(one.code, course.two_before(one)) for one in course.LESSONS]
    assert [code for code, earlier in later if earlier is None] == ["recurrent", "attention"]
    assert dict(later)["heads"] == course.lesson("recurrent") and dict(later)["metrics"] == course.lesson("cost")
