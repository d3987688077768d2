"""The course below the lecture: which lesson follows which, what each needs, how long it takes.

The one place that holds the order. A lesson is a page of the app, or some parts of one: Q, K and V
up to the weighted sum are one lesson of the attention page, its heads another.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """One lesson.

    Attributes:
        code: its name in texts and tests.
        url: of its page. parts: of that page which belong to it, by their codes; all of them where empty.
        minutes: for a class that answers questions, all parts together.
        needs: codes of lessons to know before.
    """

    code: str
    url: str
    parts: tuple[str, ...] = ()
    minutes: int
    needs: tuple[str, ...] = ()


LESSONS: Final = (
    Lesson(code="recurrent", url="recurrent", minutes=30),
    Lesson(
        code="attention",
        url="attention-steps",
        parts=("project", "scores", "softmax", "sum", "roles"),
        minutes=40,
        needs=("recurrent",),
    ),
    Lesson(code="heads", url="attention-steps", parts=("heads",), minutes=15, needs=("attention",)),
    Lesson(code="permutation", url="permutation", minutes=20, needs=("attention",)),
    Lesson(code="positions", url="positions", minutes=35, needs=("permutation",)),
    Lesson(code="norms", url="norms", minutes=35),
    Lesson(code="transformer", url="transformer", minutes=40, needs=("heads", "positions", "norms")),
    Lesson(code="backprop", url="backprop", minutes=45, needs=("attention", "norms")),
    Lesson(code="optimisers", url="optimisers", minutes=40, needs=("backprop",)),
    Lesson(code="cost", url="attention-steps", parts=("cost",), minutes=30, needs=("heads", "transformer")),
    Lesson(code="ctc", url="ctc", minutes=40, needs=("recurrent",)),
    Lesson(code="metrics", url="metrics", minutes=25, needs=("ctc",)),
)


def lesson(code: str) -> Lesson:
    """The lesson of this name.

    Raises:
        KeyError: where there is none.
    """
    return {one.code: one for one in LESSONS}[code]


def lesson_of(url: str, part: str) -> Lesson:
    """The lesson that this part of a page belongs to, as each does."""
    return next(one for one in LESSONS if one.url == url and (not one.parts or part in one.parts))


def number(of: Lesson) -> int:
    """Its place in the course, from 1."""
    return LESSONS.index(of) + 1


def beside(of: Lesson, steps: int) -> Lesson | None:
    """The lesson so many steps after it, before it where negative; None beyond either end."""
    at = LESSONS.index(of) + steps
    return LESSONS[at] if 0 <= at < len(LESSONS) else None


def two_before(of: Lesson) -> Lesson | None:
    """The lesson whose questions are asked again at this one's beginning, two lessons later; None for the first two."""
    return beside(of, -2)


def minutes() -> int:
    """The whole course, minutes."""
    return sum(one.minutes for one in LESSONS)
