"""The order of the course, and the numbers in the answers to its questions."""

import re

import pytest

from core.lecture import course
from pages.shared.language import number, prose, sections, significant, speaking
from pages.shared.navigation import ENTRIES
from tests.core.lecture.course_numbers import numbers_of


def test_every_lesson_is_a_page_and_needs_only_what_came_before() -> None:
    pages = {entry.url for entry in ENTRIES}
    for place, lesson in enumerate(course.LESSONS):
        assert lesson.url in pages
        assert set(lesson.needs) <= {one.code for one in course.LESSONS[:place]}
        assert course.lesson_of(lesson.url, next(iter(lesson.parts), "")) is lesson
    assert len({one.code for one in course.LESSONS}) == len(course.LESSONS)


def test_the_way_leads_from_the_first_to_the_last_and_back() -> None:
    way = [course.LESSONS[0]]
    while (following := course.beside(way[-1], 1)) is not None:
        assert course.beside(following, -1) is way[-1]
        way.append(following)
    assert tuple(way) == course.LESSONS and course.beside(way[0], -1) is None
    assert [course.number(one) for one in way] == list(range(1, len(way) + 1))
    assert course.lesson_of("attention-steps", "heads") is course.lesson("heads")


def test_a_lessons_questions_come_again_two_lessons_later() -> None:
    later = [(one.code, course.two_before(one)) for one in course.LESSONS]
    assert [code for code, earlier in later if earlier is None] == ["recurrent", "attention"]
    assert dict(later)["heads"] == course.lesson("recurrent") and dict(later)["metrics"] == course.lesson("cost")


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("lesson", [one.code for one in course.LESSONS])
def test_the_answers_say_what_the_code_of_the_lesson_gives(lesson: str, language: str) -> None:
    with speaking(language):
        passages = sections(prose(f"course_{lesson}"))
        asked = "\n".join(text for name, text in passages.items() if re.fullmatch(r"[qa]\d", name))
        for name, value in numbers_of(lesson).items():
            said = value if isinstance(value, str) else number(value) if isinstance(value, int) else significant(value)
            assert re.search(rf"(?<![\d.,]){re.escape(said)}(?![.,]?\d)", asked), f"{name}: {said}"
