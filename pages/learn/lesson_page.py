"""A page of the lecture as data, and the one place that shows it: order, state, undo, presentation, what is taken along.

    def dropout(rate: float, draw: int) -> PartView:        # the dials' values, by their codes
        example = norm_examples.dropout_example(rate, seed=draw)
        return PartView(
            equation=Worked(r"y = x / p", rf"1 / {tex(1 - rate)}"),
            figure=[[plot(before, "dropout_before", _("A matrix before dropout.")), plot(after, ...)]],
            notes=[frame.passage("norms", "dropout"), *told(said.dropout(example))],
            taken=lambda: {"X": example.before, **on_screen({"kept": example.kept})},
        )

    render(LessonPage("norms", _("Norms"), sources="...", parts=[
        Part("dropout", _("Dropout"), lambda: {"rate": frame.slider(...), "draw": frame.slider(...)}, dropout),
    ]))

The prose is in `assets/text/<language>/learn_<page>.md`: a section `lead`, and those that `frame.passage` names. The code to take
along is in `assets/snippets/<page>/<part>.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

from core.device import use_one_thread
from core.figures.learn.diagrams.blocks import Diagram
from core.figures.matrix import MAX_CELLS, MAX_COLUMNS, Matrix, matrix_figure, matrix_html
from core.lecture.handout import Worked
from core.lecture.moved import Moved
from core.messages import Message, translate
from pages.learn import diagram, frame, lesson, predict, projector, take_along, what_moved
from pages.learn.frame import Dial, Turned
from pages.learn.predict import Question
from pages.learn.what_moved import Followed
from pages.shared import controls, url_state
from pages.shared.language import _, number, significant
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

Show = Callable[[], object]
Item = Show | Sequence[Any] | None
"""Something to show. A sequence: its items side by side, and a sequence in it one under the other; None: an empty column."""


@dataclass(frozen=True, kw_only=True)
class PartView:
    """Everything that a part shows at one state of its dials.

    Attributes:
        equation: with this state's numbers, beside the dials; several where the part has them.
        figure: above what the last change moved and the notes; a function of that change where it is drawn, too.
        notes: what to look for: passages, and the claims that are true. more: below the notes.
        drawing: the block diagram. question: made where the reader predicts first; None where this state has none.
        covered: figure, equation and code hold the question's answer, and wait for it. spoils: the diagram does, too.
        followed: the matrix of which the last change of a dial is told and can be taken back.
        taken: values for the part's template in `assets/snippets`, made where they are asked for.
    """

    equation: Worked | Sequence[Worked] = ()
    figure: Sequence[Item] | Callable[[Moved | None], Sequence[Item]] = ()
    notes: Sequence[str | Message] = ()
    more: Sequence[Item] = ()
    drawing: Diagram | None = None
    question: Callable[[], Question | None] | None = None
    covered: bool = False
    spoils: bool = False
    followed: Followed | None = None
    taken: Callable[[], Mapping[str, Any]] = dict


@dataclass(frozen=True)
class Part:
    """A part of a page.

    Attributes:
        code: in the link, and name of its snippet; empty for the one part of a page without parts. title: translated.
        dials: by the name that `view` has for it; takes the values of `above`. view: takes those and the dials' values.
        key: URL parameter of the dial on display. first: dial on display at first, the first one where None.
        above: widgets above the dials, and their values. below: widgets below the figure, drawn before `view` is asked.
    """

    code: str
    title: str
    dials: Callable[..., Mapping[str, Dial]]
    view: Callable[..., PartView]
    key: str = "dial"
    first: str | None = None
    above: Callable[[], dict[str, Any]] = dict
    below: Callable[..., None] | None = None


@dataclass(frozen=True)
class LessonPage:
    """A page of the lecture.

    Attributes:
        name: of its text and its snippets. title, sources: translated; sources: documents, sections, decisions.
        errors: the sentence and the remedy for what `view` or a dial may raise; the error's own sentence where empty.
    """

    name: str
    title: str
    parts: Sequence[Part]
    sources: str
    errors: Mapping[type[Exception], tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Drawn:
    """A figure or a table, which a projector shows alone.

    Attributes:
        show: draws it. values: of a matrix.
    """

    show: Show
    values: Any = None

    def __call__(self) -> None:
        """Draw it here."""
        self.show()


def plot(figure: Any, key: str, alt: str, *, chooses: str = "", height: int | None = None, **more: Any) -> Drawn:
    """A figure, or a matrix: a table where its cells are few enough, else a heat map.

    Args:
        alt: one sentence on what it shows. chooses: the dial that a click on a matrix's row sets, as its key.
        height: of a heat map or figure, pixels. more: for `static_plot`.
    """
    if not isinstance(figure, Matrix):
        return Drawn(lambda: static_plot(figure, key=key, alt=alt, height=height, **more))
    if figure.values.size > MAX_CELLS or figure.values.shape[1] > MAX_COLUMNS:
        drawn = matrix_figure(figure, height=height)
        return Drawn(lambda: static_plot(drawn, key=key, alt=alt, **more), figure.values)
    words = {"png": _("Download as PNG"), "svg": _("Download as SVG"), "csv": _("Download as CSV")}
    table = matrix_html(figure, key=key, alt=alt, words=words, write=written, chooses=chooses)
    return Drawn(lambda: st.html(table), figure.values)


def written(value: float, digits: int) -> str:
    """A number as the reader's language writes it; three significant digits where `digits` is below 0, tiny ones as 4.4e-16."""
    if digits >= 0:
        return number(round(value, digits) + 0.0, digits)
    return significant(value) if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"


def check(sentence: str, holds: bool) -> Show:
    """A claim about the numbers on the page: green where it holds, else yellow."""
    return lambda: frame.check(sentence, holds=holds)


def caption(sentence: str) -> Show:
    """A line in small print."""
    return lambda: st.caption(sentence)


def markdown(text: str) -> Show:
    """A paragraph."""
    return lambda: st.markdown(text)


def stats(*strip: Stat) -> Show:
    """A row of named values."""
    return lambda: stat_strip(strip)


def table(rows: Any, filename: str = "", **more: Any) -> Drawn:
    """Rows as a table, with a download where the file has a name."""
    data = pd.DataFrame(rows)

    def show() -> None:
        if controls.presenting():
            st.html(f'<div class="stage-table">{data.to_html(index=False, border=0)}</div>')
            return
        st.dataframe(data, hide_index=True, width="stretch", **more)
        if filename:
            with frame.controls_block(f"{filename}_table"):
                key = filename.replace("-", "_")
                controls.download_table(_("Table"), lambda: data, key=key, filename=filename, formats=("csv",))

    return Drawn(show)


def render(page: LessonPage) -> None:
    """Show the page: title, lead, choice of a part, and the part."""
    use_one_thread()
    head = st.container()
    if not controls.presenting():
        with st.container(key="lesson_lead"):
            st.markdown(frame.passage(page.name, "lead"))
    code = page.parts[0].code
    if code:
        names = {one.code: one.title for one in page.parts}
        plain: dict[str, Any] = {"label_visibility": "collapsed", "width": "stretch"}
        code = url_state.choice(st.segmented_control, _("Part"), names, key="part", required=True, **plain)
    with head:
        lesson.head(page.name.replace("_", "-"), code, title=page.title)
    take_along.hide_around()
    _body(page, next(one for one in page.parts if one.code == code))


@st.fragment
def _body(page: LessonPage, part: Part) -> None:
    """Everything that changes with a dial; a fragment, which runs again on its own."""
    stage = projector.stage()
    place = diagram.place() if stage is None else stage.diagram
    try:
        with nullcontext() if stage is None else stage.hidden:
            above = part.above()
        with nullcontext() if stage is None else stage.dial:
            turned = frame.draw_dials(part.key, part.dials(**above), first=part.first)
        shown, below = st.container(gap="xsmall"), st.container()
        if part.below is not None and stage is None:
            with below:
                part.below(**above, **turned.values)
        view = part.view(**above, **turned.values)
    except tuple(page.errors) as problem:
        sentence, remedy = next(told for kind, told in page.errors.items() if isinstance(problem, kind))
        controls.error_box(sentence or str(problem), remedy=remedy)
        _foot(page, part, None)
        return
    if stage is not None:
        _project(page, part, view, turned, stage)
        return
    with shown:
        seen = view.question is None or predict.ask(view.question)
        if seen or not view.covered:
            _show(view, turned)
        else:
            st.caption(_("Figure, equation and table are shown with the answer: guess, then reveal."))
    _diagram(page, part, view, turned, place, seen)
    _foot(page, part, view if seen or not view.covered else None)


def _diagram(page: LessonPage, part: Part, view: PartView, turned: Turned, place: Any, seen: bool) -> None:
    """The block diagram in its place; not while it would give the answer away."""
    if view.drawing and (seen or not view.spoils):
        names = {one.code: one.title for one in page.parts}
        with place:
            diagram.draw(view.drawing, part=part.code, parts=names, dial=turned.on if turned.on in turned.moving else "")


def _project(page: LessonPage, part: Part, view: PartView, turned: Turned, stage: projector.Stage) -> None:
    """One figure on a projector, the question, what moved, and the link for the class."""
    with stage.strip:
        seen = view.question is None or predict.ask(view.question)
    moved = what_moved.follow(view.followed, turned.moving) if view.followed else None
    if seen or not view.covered:
        items = [*(view.figure(moved) if callable(view.figure) else view.figure), *view.more]
        figures = [one for item in items for one in _flat(item) if isinstance(one, Drawn)]
        followed = None if view.followed is None else view.followed.values
        at = next((n for n, one in enumerate(figures) if followed is not None and projector.same(one.values, followed)), 0)
        equations = [lambda one=one: frame.show_equation(one) for one in _all(view.equation)]
        stage.show([*figures, *equations], first=at, equations=len(equations))
    with stage.strip:
        if moved is not None and view.followed:
            what_moved.say(view.followed, moved)
        elif view.notes and not (view.question and predict.wanted()):
            st.markdown(_sentences(view))
        if not (seen or not view.covered):
            st.caption(_("Figure, equation and table are shown with the answer: guess, then reveal."))
    _diagram(page, part, view, turned, stage.diagram, seen)
    stage.code()


def _flat(item: Item) -> Iterator[Show]:
    if callable(item):
        yield item
    else:
        for one in item or ():
            yield from _flat(one)


def _show(view: PartView, turned: Turned) -> None:
    """Equations, figure, what moved, what to look for, and the rest."""
    with turned.place:
        for worked in _all(view.equation):
            frame.show_equation(worked)
    moved = what_moved.follow(view.followed, turned.moving) if view.followed else None
    for item in view.figure(moved) if callable(view.figure) else view.figure:
        _draw(item)
    if view.followed:
        what_moved.say(view.followed, moved)
    if view.notes:
        name = _("What to look for")  # outside of the f-string, in which it would not be extracted
        st.info(f"**{name}:** {_sentences(view)}", icon=":material/visibility:")
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


def _all(equation: Worked | Sequence[Worked]) -> Sequence[Worked]:
    return (equation,) if isinstance(equation, Worked) else equation


def _sentences(view: PartView) -> str:
    return " ".join(translate(one) for one in view.notes)


def _foot(page: LessonPage, part: Part, view: PartView | None) -> None:
    """The end of the page; without a view, which an error or the open question keeps from it, the link to it alone."""
    if view is None:
        with frame.controls_block("foot"):
            controls.link_to_view()
        return
    lesson.foot(page.name.replace("_", "-"), part.code)
    with frame.controls_block("foot"):
        lead = frame.passage(page.name, "lead")
        take_along.offer(
            take_along.Taken(page.name, page.title, part.code, part.title, _all(view.equation), lead, _sentences(view)),
            view.taken,
        )
        controls.link_to_view()
    st.caption(_("Sources: {sources}").format(sources=page.sources))
