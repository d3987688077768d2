"""A page of the lecture as data, and the one place that shows it: order, state, what is taken along.

    def dropout(
        rate: Annotated[float, slider(_("Dropout rate"), 0.0, 0.9, key="drop_rate", default=0.3, step=0.05)],
        draw: Annotated[int, slider(_("Draw"), 1, 20, key="drop_draw", default=1)],
    ) -> PartView:
        example = norms.dropout_example(rate, seed=draw)
        return PartView(
            equation=Worked(r"y = x / p", rf"1 / {tex(1 - rate)}"),
            figure=[[plot(before, "dropout_before", _("A matrix before dropout.")), plot(after, ...)]],
            notebook_values=lambda: {"X": example.before, **on_screen({"kept": example.kept})},
        )

    render(LessonPage("norms", _("Norms"), [Part("dropout", _("Dropout"), dropout)], sources="..."))

The prose is in `assets/text/<language>/learn_<page>.md`: a section `lead`, and one for each part, by its code. The code to take
along is in `assets/snippets/<page>/<part>.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pandas as pd
import streamlit as st

from core.device import use_one_thread
from core.figures.matrix import MAX_CELLS, MAX_COLUMNS, Matrix, matrix_figure, matrix_html
from core.lecture import origins
from core.lecture.course import lesson_of
from core.lecture.moved import Moved, compare
from core.messages import Message, translate
from pages.learn import diagram, frame, lesson, predict, take_along, what_moved
from pages.learn.frame import Dial, Turned, Worked
from pages.learn.predict import Change, Question
from pages.learn.what_moved import Followed
from pages.shared import assets, controls, url_state
from pages.shared.language import _, compact, current, number
from pages.shared.live_plot import live_plot
from pages.shared.navigation import entry_of
from pages.shared.stat_strip import Stat, stat_strip

Show = Callable[[], object]


@dataclass(frozen=True)
class Drawn:
    """A figure or a table, which stands above the dials."""

    show: Show

    def __call__(self) -> None:
        """Draw it here."""
        self.show()


Item = Show | Sequence[Any] | None
"""Something to show. A sequence: its items side by side, and a sequence in it one under the other; None: an empty column."""


@dataclass(frozen=True, kw_only=True)
class PartView:
    """Everything that a part shows at one state of its dials.

    Attributes:
        equation: with this state's numbers, beside the dials; several where the part has them.
        figure: above what the last change moved and the notes; a function of that change where it is drawn, too.
        notes: what to look for: passages, and the claims that are true; the part's passage where None. more: below the notes.
        asked: name and value of the number whose change a reader is asked to predict.
        followed: the matrix of which the last change of a dial is told.
        notebook_values: for the part's template in `assets/snippets`, made where they are asked for; None where it has none.
    """

    equation: Worked | Sequence[Worked] = ()
    figure: Sequence[Item] | Callable[[Moved | None], Sequence[Item]] = ()
    notes: Sequence[str | Message] | None = None
    more: Sequence[Item] = ()
    asked: Callable[[], tuple[str, float]] | None = None
    followed: Followed | None = None
    notebook_values: Callable[[], Mapping[str, Any]] | None = None

    def figures(self, moved: Moved | None) -> Sequence[Item]:
        """The figure as it is drawn after this change."""
        return self.figure(moved) if callable(self.figure) else self.figure

    def equations(self) -> Sequence[Worked]:
        """All of them."""
        return (self.equation,) if isinstance(self.equation, Worked) else self.equation


@dataclass(frozen=True)
class Part:
    """A part of a page.

    Attributes:
        code: in the link, and name of its passage and its snippet.
        title: translated. view: takes the values of dials and `above`; its annotations are the dials (`frame.dials_of`).
        key: URL parameter of the dial on display. first: dial on display at first, the first one where None.
        dials: names of those that the part has, in this order; all where empty.
        above: widgets above the dials, and their values. below: widgets below the figure, drawn before `view` is asked.
    """

    code: str
    title: str
    view: Callable[..., PartView]
    key: str = "dial"
    first: str | None = None
    dials: Sequence[str] = ()
    above: Callable[[], dict[str, Any]] = dict
    below: Callable[..., None] | None = None

    def offered(self, above: Mapping[str, Any]) -> dict[str, Dial]:
        """The dials beside these choices above them."""
        every = frame.dials_of(self.view, above)
        return {name: every[name] for name in self.dials or every if name in every}


@dataclass(frozen=True)
class LessonPage:
    """A page of the lecture.

    Attributes:
        name: of its text and its snippets. title: translated. sources: documents with sections, and decisions, in no language.
        errors: the sentence and the remedy for what `view` or a dial may raise; the error's own sentence where empty.
        moved: for the code of a part that is gone, the query of the view that has it now, of another page behind its address.
    """

    name: str
    title: str
    parts: Sequence[Part]
    sources: str
    errors: Mapping[type[Exception], tuple[str, str]] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Its address, by which the course knows it."""
        return self.name.replace("_", "-")

    def part(self, code: str) -> Part:
        """The part of this code."""
        return next(one for one in self.parts if one.code == code)

    def view(self, part: Part, values: Mapping[str, Any]) -> PartView:
        """Everything that the part shows at these values."""
        view: PartView = frame.call(part.view, values)
        return view if view.notes is not None else replace(view, notes=[frame.passage(self.name, part.code)])


def plot(figure: Any, key: str, alt: str, *, chooses: str = "", height: int | None = None, **more: Any) -> Drawn:
    """A figure, or a matrix: a table where its cells are few enough or its numbers are asked for, else a heat map.

    Args:
        alt: one sentence on what it shows. chooses: the dial that a click on a row's name sets, as its key.
        height: of a heat map or figure, pixels. more: for `live_plot`.
    """
    if not isinstance(figure, Matrix):
        return Drawn(lambda: live_plot(figure, key=key, alt=alt, height=height, **more))
    if not figure.numbers and (figure.values.size > MAX_CELLS or figure.values.shape[1] > MAX_COLUMNS):
        drawn = matrix_figure(figure, height=height)
        return Drawn(lambda: live_plot(drawn, key=key, alt=alt, **more))
    origin = follow(key, figure)
    csv = _("Download as {format}").format(format="CSV")
    table = matrix_html(figure, key=key, alt=alt, csv=csv, write=written, chooses=chooses, origin=origin)
    return Drawn(lambda: st.html(table))


def word_matrix(
    values: Any, name: str, key: str, rows: Sequence[str], columns: Sequence[str] | None = None, *, chooses: str = "", **more: Any
) -> Drawn:
    """A matrix with a row for each word: of queries by keys where its columns are words too, else of channels.

    Args:
        more: for the `Matrix`.
    """
    titles = {"x_title": _("Channel"), "y_title": _("Token")} if columns is None else {"x_title": _("Key"), "y_title": _("Query")}
    drawn = Matrix(values=values, name=name, rows=rows, columns=columns, **(titles | more))
    return plot(drawn, key, _("{what}, a matrix with one row per token.").format(what=name), chooses=chooses)


def follow(key: str, matrix: Matrix) -> str:
    """JSON of where a matrix's numbers come from, for matrix.js; empty where that is not known."""
    origin = origins.origin_for_page(key, matrix.of, current())
    if origin is None:
        return ""
    words = {"code": _("In the code"), "test": _("Held by the test"), "against": _("against"), "close": _("Close")}
    query = {"find": origin.pop("id")} | ({"lang": str(st.query_params["lang"])} if "lang" in st.query_params else {})
    origin |= {"words": words, "link": f"equations?{urlencode(query)}", "katex": assets.KATEX}
    return json.dumps(origin, ensure_ascii=False, separators=(",", ":"))


def written(value: float, digits: int) -> str:
    """A number as the reader's language writes it; three significant digits where `digits` is below 0, tiny ones as 4.4e-16."""
    if digits >= 0:
        return number(round(value, digits) + 0.0, digits)
    return compact(value)


def check(sentence: str, holds: bool) -> Show:
    """A claim about the numbers on the page, with the measured deviation: green where it holds, else yellow."""
    box, icon = (st.success, "check_circle") if holds else (st.warning, "error")
    return lambda: box(sentence, icon=f":material/{icon}:")


def caption(sentence: str) -> Show:
    """A line in small print."""
    return lambda: st.caption(sentence)


def markdown(text: str) -> Show:
    """A paragraph."""
    return lambda: st.markdown(text)


def stats(*strip: Stat) -> Show:
    """A row of named values."""
    return lambda: stat_strip(strip)


def table(rows: Any, **more: Any) -> Drawn:
    """Rows as a table, whose corner gives it as CSV."""
    return Drawn(lambda: st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", **more))


def render(page: LessonPage) -> None:
    """Show a page: title, lead, choice of a part, and the part."""
    use_one_thread()
    _lead_on(page.moved.get(st.query_params.get("part", ""), ""))
    head = st.container()
    with st.container(key="lesson_lead"):
        st.markdown(frame.passage(page.name, "lead"))
    names = {one.code: one.title for one in page.parts}
    plain: dict[str, Any] = {"label_visibility": "collapsed", "width": "content"}
    code = url_state.choice(st.segmented_control, _("Part"), names, key="part", **plain)
    with head:
        lesson.head(lesson_of(page.url, code), page.title)
    _body(page, page.part(code))


def _lead_on(address: str) -> None:
    """Go to where a part that is gone stands now, with the link's other choices."""
    url, _mark, query = address.rpartition("?")
    chosen = dict(parse_qsl(query))
    if url:
        st.switch_page(entry_of(url).file, query_params=st.query_params.to_dict() | chosen)
    st.query_params.update(chosen)


@st.fragment
def _body(page: LessonPage, part: Part) -> None:
    """Everything that changes with a dial; a fragment, which runs again on its own."""
    try:
        _drawn(page, part)
    except tuple(page.errors) as problem:
        sentence, remedy = next(words for kind, words in page.errors.items() if isinstance(problem, kind))
        controls.error_box(sentence or str(problem), remedy=remedy)
        _foot(page, part, None)


def _drawn(page: LessonPage, part: Part) -> None:
    """The figure above the dials, what is said of it and the diagram below."""
    picture = st.container(key="lesson_figure")
    above = part.above()
    turned = frame.draw_dials(part.key, part.offered(above), first=part.first)
    shown, below = st.container(gap="xsmall"), st.container()
    with st.container():
        diagram.draw(page.name, part.code, [one.code for one in page.parts])
    if part.below is not None:
        with below:
            frame.call(part.below, above | turned.values)
    view = page.view(part, above | turned.values)
    with turned.below:
        seen = predict.ask(lambda: _questions(page, part, above, turned, view))
    with shown:
        moved = what_moved.follow(view.followed, turned.moving) if view.followed else None
        _show(view, turned, moved, picture, seen=seen)
    _foot(page, part, view)


def _questions(page: LessonPage, part: Part, above: dict[str, Any], turned: Turned, view: PartView) -> list[Question]:
    """Questions about the dial on display as it goes elsewhere; none where it cannot."""
    code = turned.asked
    dial = turned.dials[code] if code is not None else None
    if code is None or dial is None or dial.elsewhere is None or view.asked is None:
        return []
    elsewhere = dial.elsewhere(turned.values[code])
    values = turned.values | {code: elsewhere.value}
    with suppress(*page.errors):
        there = page.view(part, above | values)
        if there.asked is not None:
            (name, before), (_name, after) = view.asked(), there.asked()
            sentence = _("“{dial}” goes from {now} to {then}.").format(
                dial=dial.label,
                now=frame.value_text(dial, code, turned.values),
                then=frame.value_text(dial, code, values),
            )
            now, then = view.followed, there.followed
            alike = now and then and now.values.shape == then.values.shape and list(now.rows) == list(then.rows)
            moved = compare(now.values, then.values) if now and then and alike else None
            key = repr((page.name, part.code, code, elsewhere.value, before, after))
            return predict.questions(key, sentence, elsewhere.kept, Change(name, before, after, moved), now)
    return []


def _flat(item: Item) -> Iterator[Show]:
    if callable(item):
        yield item
    else:
        for one in item or ():
            yield from _flat(one)


def _stacked(items: Sequence[Item]) -> int:
    """Number of figures one under the other, in the column that has most."""
    return sum(
        int(isinstance(item, Drawn))
        if callable(item)
        else max((_stacked(one if isinstance(one, Sequence) else [one]) for one in item or ()), default=0)
        for item in items
    )


def _show(view: PartView, turned: Turned, moved: Moved | None, pictured: Any, *, seen: bool) -> None:
    """Equations beside the dials, the figure above them; below, sentences on it, what moved, what to look for, and the rest.

    Args:
        pictured: the container above the dials.
        seen: whether the question is answered, which what to look for may tell.
    """
    with turned.place:
        for worked in view.equations():
            frame.show_equation(worked)
    above: list[Item] = []
    below: list[Item] = []
    for item in view.figures(moved):
        (above if any(isinstance(one, Drawn) for one in _flat(item)) else below).append(item)
    with pictured, st.container(key="lesson_one_row") if _stacked(above) == 1 else nullcontext():
        for item in above:
            _draw(item)
    for item in below:
        _draw(item)
    if view.followed:
        what_moved.say(view.followed, moved)
    if view.notes and seen:
        name = _("What to look for")  # outside of the f-string, in which it would not be extracted
        st.info(f"**{name}:** {' '.join(map(translate, view.notes))}", icon=":material/visibility:")
    for item in view.more:
        _draw(item)


def _draw(item: Item) -> None:
    if callable(item):
        item()
    elif item:
        for column, inside in zip(st.columns(len(item)), item, strict=True):
            with column:
                for one in inside if isinstance(inside, Sequence) else (inside,):
                    _draw(one)


def _foot(page: LessonPage, part: Part, view: PartView | None) -> None:
    """The end of the page; without a view, which an error or the open question keeps from it, the link to it alone."""
    if view is not None:
        lesson.foot(lesson_of(page.url, part.code), part.code)
    take_along.offer(page.name, part.code, f"{page.title}: {part.title}", None if view is None else view.notebook_values)
    if view is not None:
        st.caption(_("Sources: {sources}").format(sources=page.sources))
