"""Draws a part of a lesson at any state of its dials without a browser or a session, and keeps everything that it says."""

import random
import runpy
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any
from unittest.mock import patch

import streamlit as st

from core.lecture.course import LESSONS
from core.lecture.equations import equations
from core.messages import translate
from pages.learn import frame, lesson_page
from pages.learn.frame import Turned, Worked
from pages.learn.lesson_page import LessonPage, Part, PartView
from pages.shared.language import speaking
from pages.shared.navigation import ENTRIES, ROOT
from pages.shared.stat_strip import Stat

State = dict[str, Any]
"""A dial's value by its URL parameter."""

SENTENCES = ["a b a", "a", "uno dos tres cuatro cinco seis siete ocho"]
TEXTS: dict[str, list[str]] = {
    "words": SENTENCES, "typed": SENTENCES, "date": ["May 3 1979", "1", "???"],
    "target": ["", "A", "A A B"], "path": ["", "X - X"], "signed": ["1 0"], "ref": ["", "A B"], "hyp": ["", "B A"],
}  # fmt: skip
"""Other texts than those that the dials open with."""
WITHOUT_WIDGET: dict[str, dict[str, list[Any]]] = {"permutation": {"order": ["", "5,4,3,2,1", "2,1,3,4,5"]}}
"""Choices that the session keeps beside the dials, by page."""


@dataclass
class DrawnPart:
    """What a part draws at one state.

    Attributes:
        turned: the dials and their values.
        offered: by URL parameter, the ends of each dial, its opening value first.
        told: sentences, captions and values. checks: claims, and whether they hold.
    """

    view: PartView
    turned: Turned
    offered: dict[str, list[Any]]
    equations: list[Worked] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    checks: list[tuple[str, bool]] = field(default_factory=list)


@cache
def pages() -> dict[str, LessonPage]:
    """The lessons, by their pages' addresses."""
    files = {entry.url: ROOT / entry.file for entry in ENTRIES}
    found: dict[str, LessonPage] = {}
    for url in dict.fromkeys(one.url for one in LESSONS):
        made: list[LessonPage] = []
        with patch.object(lesson_page, "render", made.append):
            runpy.run_path(str(files[url]))
        found[url] = made[0]
    return found


class _Widgets:
    """Stands for the widgets of dials: each has the state's value, else the one it opens with; remembers what it offers."""

    def __init__(self, state: State) -> None:
        self.state, self.offered = state, dict[str, list[Any]]()

    def _value(self, key: str, opening: Any, others: list[Any]) -> Any:
        self.offered[key] = [opening, *(one for one in others if one != opening)]
        return self.state.get(key, opening)

    def slider(self, _label: str, low: Any, high: Any, *, key: str, default: Any, **_more: Any) -> Any:
        return min(max(type(low)(self._value(key, default, [low, high])), low), high)

    def choice(self, _widget: Any, _label: str, options: Any, *, key: str, default: str | None = None, **_more: Any) -> str:
        codes = list(options)
        chosen = self._value(key, default if default in codes else codes[0], codes)
        return str(chosen) if chosen in codes else codes[0]

    def text(self, _label: str, *, key: str, default: str, **_more: Any) -> str:
        return str(self._value(key, default, TEXTS.get(key, [])))

    def text_input(self, label: str, value: str = "", *, key: str, **more: Any) -> str:
        return self.text(label, key=key, default=value, **more)

    def toggle(self, _label: str, value: bool = False, *, key: str, **_more: Any) -> bool:
        return bool(self._value(key, value, [not value]))


def draw(part: Part, state: State | None = None, language: str = "en") -> DrawnPart:
    """The part at this state."""
    widgets, checks = _Widgets(state or {}), list[tuple[str, bool]]()
    with ExitStack() as stack:
        stack.enter_context(speaking(language))
        stack.enter_context(patch.object(st, "session_state", dict(widgets.state)))
        stack.enter_context(patch.object(st, "query_params", {}))
        for name in ("slider", "choice", "text"):
            stack.enter_context(patch.object(frame.url_state, name, getattr(widgets, name)))
        for name in ("text_input", "toggle"):
            stack.enter_context(patch.object(st, name, getattr(widgets, name)))
        for name, holds in (("success", True), ("warning", False)):
            stack.enter_context(patch.object(st, name, lambda text, holds=holds, **_more: checks.append((text, holds))))
        above = part.above()
        values: dict[str, Any] = {}
        dials = part.offered(above)
        for code, dial in dials.items():
            values[code] = dial.draw(values)
        view = next(page for page in pages().values() if part in page.parts).view(part, above | values)
        drawn = DrawnPart(
            view=view,
            turned=Turned(dials, values, part.first or next(iter(dials)), None, None),
            offered=widgets.offered,
            equations=list(view.equations()),
            checks=checks,
        )
        drawn.told += [translate(one) for one in view.notes]
        _keep_all(view, drawn, stack)
    return drawn


def _keep_all(view: PartView, drawn: DrawnPart, stack: ExitStack) -> None:
    def keep_figure(_figure: Any, **more: Any) -> None:
        drawn.told += [more["alt"]] if "alt" in more else []

    def keep_stats(strip: Any) -> None:
        drawn.told += [f"{one.name}: {one.value} {one.note or ''}" for one in strip if isinstance(one, Stat)]

    watched: list[tuple[Any, str, Callable[..., Any]]] = [
        (lesson_page, "live_plot", keep_figure), (lesson_page, "stat_strip", keep_stats),
        (st, "dataframe", lambda _data, **_more: None), (st, "caption", lambda text, **_more: drawn.told.append(text)),
        (st, "markdown", lambda text, **_more: drawn.told.append(text)), (st, "html", lambda *_given, **_more: None),
    ]  # fmt: skip
    for place, name, keeps in watched:
        stack.enter_context(patch.object(place, name, keeps))
    for item in [*view.figures(None), *view.more]:
        for one in lesson_page._flat(item):
            one()


def parts() -> Iterator[tuple[str, Part]]:
    """Every part of every such lesson, with its page's address."""
    for url, page in pages().items():
        for part in page.parts:
            yield url, part


def indexed(url: str, part: Part) -> list[State]:
    """The states in which the equation index opens the part."""
    first = pages()[url].parts[0].code
    queries = [dict(entry.query) for entry in equations() if entry.page == url and entry.query.get("part", first) == part.code]
    given = ({key: value == "true" or value for key, value in query.items() if key != "part"} for query in queries)
    return [dict(one) for one in dict.fromkeys(tuple(state.items()) for state in given)]


def states(url: str, part: Part, *, pairs: int = 12) -> Iterator[State]:
    """The opening state, the equation index's, each dial at its ends, and some pairs of them, drawn once for all."""
    offered = draw(part).offered | WITHOUT_WIDGET.get(url, {})
    yield {}
    yield from (state for state in indexed(url, part) if state)
    for key, ends in offered.items():
        for end in ends[1:]:
            yield {key: end}
    keys = [key for key, ends in offered.items() if len(ends) > 1]
    both = [
        {one: first, other: second}
        for at, one in enumerate(keys)
        for other in keys[at + 1 :]
        for first, second in product(offered[one][1:], offered[other][1:])
    ]
    yield from random.Random(part.code).sample(both, min(pairs, len(both)))
