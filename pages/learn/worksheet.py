"""Tasks of a handout for two, each made from the view's own state.

The two predict, and explain to each other what the lesson asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from core.lecture import course
from core.lecture.handout import Exercise, Handout
from pages.learn import lesson, plain_view, take_along
from pages.learn.predict import Question
from pages.shared.language import _, prose


def tasks(url: str, part: str, place: int, question: Question | None) -> list[Exercise]:
    """The tasks after the calculation.

    Args:
        place: of the part on its page, from 0: parts of one lesson ask different ones of its questions.
    """
    made = [] if question is None else [_predict(question)]
    here = course.lesson_of(url, part)
    if here is not None:
        first, second = (1 + (place + step) % lesson.QUESTIONS for step in (0, 1))
        told = [("A → B", first), ("B → A", second)]
        asked, key = (
            "".join(f"<p><b>{who}</b> {_line(lesson.passage(here, f'{kind}{n}'))}</p>" for who, n in told) for kind in "qa"
        )
        made.append(Exercise(name=_("Explain it to each other, without notes (2 minutes)"), asked=asked, key=key))
    return made


def _predict(question: Question) -> Exercise:
    options = " ".join(f"<span>☐ {_line(one)}</span>" for one in question.options)
    return Exercise(
        name=_("Predict: each marks an answer before you talk (2 minutes)"),
        asked=f'<p>{_line(question.text)}</p><p class="given">{options}</p>',
        key=f"<p><b>{_line(question.options[question.answer])}.</b> {_line(question.why)}</p>",
    )


def _line(text: str) -> str:
    return plain_view.text(text).removeprefix("<p>").removesuffix("</p>")


def offer_lab(page: str, title: str, question: Callable[[], Question | None], values: Callable[[], Mapping[str, Any]]) -> None:
    """Things to take along from a page without parts and equations; another page's frame has its figure and dials alone."""
    take_along.hide_around()

    def made() -> Handout:
        return Handout(title=title, part="", lead=prose(f"{page}_lead"), look="", tasks=tasks(page, "", 0, question()))

    take_along.offer(page, "", made, values)
