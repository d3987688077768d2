"""Pieces of lecture pages: dials, equations with numbers, passages of their text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from inspect import signature
from typing import Annotated, Any, get_args, get_origin

import streamlit as st

from core.lecture.tokens import split_words
from pages.shared import url_state
from pages.shared.language import _, number, prose_section, significant
from pages.shared.url_state import Number


@dataclass(frozen=True)
class Worked:
    """An equation with the numbers of its view: it and its calculation, LaTeX, and a note in plain words."""

    formula: str
    calculation: str = ""
    note: str = ""


@dataclass(frozen=True)
class Elsewhere:
    """Another place of a dial: its value, and what the session then keeps."""

    value: Any
    kept: Mapping[str, Any]


@dataclass(frozen=True)
class Dial:
    """A value that the reader can change.

    Attributes:
        label: translated, short: it is a button among the other dials.
        draw: draws the widget, which keeps its value in the URL, and returns the value; takes those of the dials before it.
        shown: text of a value, given all values, for the line that lists the dials not on display; `value_text` where None.
        reads: it chooses which numbers are read, and moves none.
        elsewhere: takes a value to another one, which a reader can be asked about.
    """

    label: str
    draw: Callable[[Mapping[str, Any]], Any]
    shown: Callable[[Any, Mapping[str, Any]], str] | None = None
    reads: bool = False
    elsewhere: Callable[[Any], Elsewhere] | None = None


def dials_of(view: Callable[..., Any], above: Mapping[str, Any]) -> dict[str, Dial]:
    """The dials by the names of the view's parameters, each of which is annotated with its own; of a dataclass its fields'.

        def dropout(rate: Annotated[float, slider(_("Dropout rate"), 0.0, 0.9, key="drop_rate", default=0.3)]) -> PartView:

    Annotations are evaluated here, so that a label is in the reader's language. Instead of a dial an annotation may have a
    function of what is chosen above the dials, which returns one, or None where there is none then.
    """
    found: dict[str, Dial | None] = {}
    for name, kind in _parameters(view).items():
        fields = _parameters(kind, view.__globals__) if is_dataclass(kind) else {name: kind}
        given = {field: get_args(of)[1] for field, of in fields.items() if get_origin(of) is Annotated}
        found |= {field: one if isinstance(one, Dial) or one is None else one(**above) for field, one in given.items()}
    return {name: dial for name, dial in found.items() if dial is not None}


def _parameters(takes: Any, names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Each parameter's annotation, evaluated among the names of a page's file, which is no module."""
    known = dict(takes.__globals__ if names is None else names)
    return {name: one.annotation for name, one in signature(takes, globals=known, eval_str=True).parameters.items()}


def call(view: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Calls the view with the values that it takes; for a parameter that is a dataclass, one of the values of its fields."""
    taken: dict[str, Any] = {}
    for name, kind in _parameters(view).items():
        if is_dataclass(kind) and isinstance(kind, type):
            taken[name] = kind(**{field: values[field] for field in signature(kind).parameters if field in values})
        elif name in values:
            taken[name] = values[name]
    return view(**taken)


def slider(
    label: str,
    low: Number,
    high: Number | Callable[[Mapping[str, Any]], Number],
    *,
    key: str,
    default: Number,
    short: str = "",
    reads: bool = False,
    **more: Any,
) -> Dial:
    """A dial for a number; see `url_state.slider`.

    Args:
        high: the other end, also of the values of the dials before it; without a widget where there is one number alone.
        default: its number at first, or the end where that is nearer. short: name among the other dials; the label where empty.
        reads: see `Dial`. more: for the widget, such as `step`.
    """

    def draw(values: Mapping[str, Any]) -> Number:
        end = high(values) if callable(high) else high
        return url_state.slider(label, low, end, key=key, default=min(default, end), **more) if low < end else low

    def farther_end(now: Number) -> Elsewhere:
        assert not callable(high)
        end = high if high - now >= now - low else low
        return Elsewhere(end, {key: end})

    return Dial(short or label, draw, reads=reads, elsewhere=None if reads or callable(high) else farther_end)


def choice(
    label: str,
    options: Mapping[str, str],
    *,
    key: str,
    default: str | None = None,
    widget: Callable[..., Any] = st.segmented_control,
    value: Callable[[str], Any] = str,
    short: str = "",
) -> Dial:
    """A dial for one of several codes; see `url_state.choice`.

    Args:
        options: label by code, as it is or to be translated (`N_`).
        widget: st.segmented_control, st.pills, st.selectbox, st.select_slider or st.radio.
        value: turns a code into the dial's value.
        short: name among the other dials; the label where empty.
    """
    texts = {code: _(text) for code, text in options.items()}
    labels = {value(code): text for code, text in texts.items()}

    def next_one(now: Any) -> Elsewhere:
        codes = [*options, next(iter(options))]
        code = codes[1 + next(place for place, one in enumerate(codes) if value(one) == now)]
        return Elsewhere(value(code), {key: code})

    return Dial(
        short or label,
        lambda _values: value(url_state.choice(widget, label, texts, key=key, default=default)),
        lambda chosen, _values: labels.get(chosen, str(chosen)),
        elsewhere=next_one,
    )


def whole_numbers(*values: int) -> dict[str, str]:
    """Options for a `choice` of whole numbers, written as the reader's language does."""
    return {str(value): number(value) for value in values}


def stops(label: str, values: Iterable[Number], *, key: str, default: Number, short: str = "") -> Dial:
    """A dial that stops at some numbers, all of the default's kind."""
    whole = isinstance(default, int)
    options = {f"{value:.10g}": number(value) if whole else significant(value) for value in values}
    return choice(label, options, key=key, default=f"{default:.10g}", widget=st.select_slider, value=type(default), short=short)


def words(label: str, sentence: str, *, key: str, short: str) -> Dial:
    """A dial for a sentence, with blanks between its words."""

    def draw(_values: Mapping[str, Any]) -> str:
        written = st.text_input(label, sentence, key=key, bind="query-params", max_chars=120)
        split_words(written)
        return written

    return Dial(short, draw)


def switch(label: str, *, key: str, short: str = "") -> Dial:
    """A dial that is on or off."""
    return Dial(
        short or label,
        lambda _values: st.toggle(label, key=key, bind="query-params"),
        elsewhere=lambda on: Elsewhere(not on, {key: not on}),
    )


def passage(page: str, section: str) -> str:
    """A section of the page's text in the reader's language, Markdown.

    Raises:
        KeyError: where the text has no such section (a test compares both languages).
    """
    return prose_section(f"learn_{page}", section)


@dataclass(frozen=True)
class Turned:
    """The dials of a view as the reader has set them.

    Attributes:
        dials, values: by code. on: code of the dial on display.
        place, below: the containers beside them, for the equations, and under them, for the question.
    """

    dials: Mapping[str, Dial]
    values: dict[str, Any]
    on: str
    place: Any
    below: Any

    @property
    def moving(self) -> dict[str, tuple[str, Any]]:
        """Label and value of each dial that can move a number, by code."""
        return {code: (dial.label, self.values[code]) for code, dial in self.dials.items() if not dial.reads}

    @property
    def asked(self) -> str | None:
        """Code of the dial that a question is about: the one on display, else the first that can be asked about."""
        codes = [code for code, dial in self.dials.items() if dial.elsewhere is not None]
        return self.on if self.on in codes else next(iter(codes), None)


def draw_dials(key: str, offered: Mapping[str, Dial], *, first: str | None = None) -> Turned:
    """The dials' names and the widget of the chosen dial; the equations' place is beside them, the question's below.

    The widgets of the other dials are drawn but hidden, so that each keeps its value and its URL parameter.

    Args:
        key: of the choice of a dial, and its URL parameter. offered: dial by code.
        first: code of the dial on display where the URL names none; the first one where None.
    """
    values: dict[str, Any] = {}
    on = next(iter(offered))
    left, right = st.columns(2, gap="large")
    with left, st.container(key=f"lesson_dials_{key}"):
        if len(offered) > 1:
            with st.container(key=f"dial_names_{key}"):
                names = {code: dial.label for code, dial in offered.items()}
                on = url_state.choice(st.pills, _("Change one thing"), names, key=key, default=first)
        displayed = "on_named" if len(offered) > 1 else "on"
        for code, dial in offered.items():
            with st.container(key=f"dial_{displayed if code == on else 'off'}_{key}_{code}"):
                values[code] = dial.draw(values)
        rest = [f"{dial.label}: {value_text(dial, code, values)}" for code, dial in offered.items() if code != on]
        if rest:
            with st.container(key=f"dial_rest_{key}"):
                st.caption(" · ".join(rest))
        below = st.container()
    with right:
        place = st.container(key=f"lesson_equation_{key}")
    return Turned(offered, values, on, place, below)


def value_text(dial: Dial, code: str, values: Mapping[str, Any]) -> str:
    """A dial's value as the reader sees it."""
    value = values[code]
    if dial.shown is not None:
        return dial.shown(value, values)
    if isinstance(value, bool):
        return _("on") if value else _("off")
    if isinstance(value, int):
        return number(value)
    return significant(value, 6) if isinstance(value, float) else str(value)


def show_equation(worked: Worked) -> None:
    """An equation and its calculation."""
    st.latex(worked.formula)
    if worked.calculation:
        _calculation(worked.calculation, worked.note)


def equation_here(formula: str, calculation: str, *, note: str = "") -> None:
    """The equation, and beside it the same with this page's numbers, where it is called: for a page that is no lesson."""
    left, right = st.columns(2, gap="medium")
    with left:
        st.latex(formula)
    with right:
        _calculation(calculation, note)


def _calculation(calculation: str, note: str) -> None:
    st.caption(_("With the numbers on this page"))
    st.latex(calculation)
    if note:
        st.caption(note)


def tex(value: float, digits: int = 3) -> str:
    """A number for LaTeX as the reader's language writes it: 0.125 or 0{,}125."""
    if value != value or value in (float("inf"), float("-inf")):
        return r"-\infty" if value < 0 else r"\infty" if value > 0 else r"\text{–}"
    return number(round(value, digits) + 0.0, digits).replace(",", "{,}")  # + 0.0 makes a zero of -0.0


def tex_significant(value: float, digits: int = 3) -> str:
    """A number for LaTeX by its significant digits: 0.0411 or 0{,}0411."""
    return significant(value, digits).replace(",", "{,}")


def aligned(*lines: str) -> str:
    """Lines of LaTeX one under the other, each with an & where they meet."""
    return r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}"


def tex_row(values: Iterable[float], digits: int = 2, *, most: int = 6) -> str:
    """A row vector in brackets; of one longer than `most`, the first entries, dots and the last."""
    return rf"\begin{{bmatrix}}{_row(list(values), digits, most)}\end{{bmatrix}}"


def tex_matrix(rows: Iterable[Iterable[float]], digits: int = 2, *, most: int = 6) -> str:
    """A matrix in brackets; of more than `most` rows or columns, the first ones, dots and the last."""
    lines = [_row(list(row), digits, most) for row in rows]
    if len(lines) > most:
        dots = " & ".join([r"\vdots"] * (lines[0].count("&") + 1))
        lines = [*lines[: most - 1], dots, lines[-1]]
    return r"\begin{bmatrix}" + r" \\ ".join(lines) + r"\end{bmatrix}"


def _row(values: list[float], digits: int, most: int) -> str:
    cells = [tex(float(value), digits) for value in values]
    if len(cells) > most:
        cells = [*cells[: most - 1], r"\cdots", cells[-1]]
    return " & ".join(cells)
