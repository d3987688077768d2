"""Every part of the lessons, at the ends of its dials (D34): equations, checks and sentences are of that state."""

import re
from functools import cache

import numpy as np
import pytest

from tests.pages.learn.drawn_part import DrawnPart, State, draw, indexed, parts, states
from tests.pages.learn.printed_lines import equal_sides, evaluated, holds

PARTS = {f"{url}-{part.code}": (url, part) for url, part in parts()}
EVERY = pytest.mark.parametrize("name", list(PARTS))
MOST = 16
"""States of a part with many dials and stops."""
SLOW = {"norms-depth": 4}


@cache
def drawn(name: str) -> list[tuple[State, DrawnPart]]:
    """The part at each of its states."""
    url, part = PARTS[name]
    every = [*states(url, part)][: SLOW.get(name, MOST)]
    return [(state, draw(part, state)) for state in every]


def test_the_evaluator_knows_right_from_wrong() -> None:
    for text, value in (
        (r"\frac{1.5 - (-0.5)}{2 \cdot \sqrt{4}}", 0.5), (r"(0.5)(-2) + 3^{2}", 8), (r"\tanh(0.0 + (0.0))", 0),
        (r"2 \cdot \begin{bmatrix}1 & 2\end{bmatrix}", [[2, 4]]), (r"\tfrac12 \cdot 3", 1.5), (r"\sin 0.00", 0),
        (r"\begin{bmatrix}0 & 1 \\ -1 & 0\end{bmatrix} \begin{bmatrix}2 \\ 3\end{bmatrix}", [[3], [-2]]), (r"-2 + 1", -1),
    ):  # fmt: skip
        np.testing.assert_allclose(evaluated(text), value)
    sides = [*equal_sides(r"\begin{aligned} a &= 1.5 \cdot 2 = 3.00 \\ b &= 2 \\ &= 2.1 \end{aligned}")]
    assert [(one[1], one[3], holds(one[1], one[3], one[2])) for one in sides] == [(3.0, 3.0, True), (2.0, 2.1, False)]
    assert holds(0.12349, 0.123, "0.123") and not holds(0.1236, 0.123, "0.123")


@EVERY
def test_printed_numbers_give_what_is_printed_after_them(name: str) -> None:
    for state, it in drawn(name):
        for equation in it.equations:
            for left, first, right, second in equal_sides(equation.calculation):
                assert holds(first, second, right), (state, left, right)


def test_many_lines_are_evaluated() -> None:
    lessons = "attention-steps-scores attention-steps-cost positions-rotation positions-matrix norms-norms backprop-ffn"
    for name in (*lessons.split(), "recurrent-rnn", "recurrent-lstm"):
        lines = [one for _state, it in drawn(name) for equation in it.equations for one in equal_sides(equation.calculation)]
        assert len(lines) > len(drawn(name)) / 2, name


@EVERY
def test_the_equation_index_opens_a_part_where_it_says(name: str) -> None:
    found = {repr(state): it for state, it in drawn(name)}
    for state in indexed(*PARTS[name]):
        it = found[repr(state)]
        assert it.equations and all(value in it.offered[key] for key, value in state.items()), state


@EVERY
def test_no_dial_of_another_part_has_a_say(name: str) -> None:
    url, part = PARTS[name]
    opened = drawn(name)[0][1]
    others = {key: ends[-1] for other, one in PARTS.values() if other == url for key, ends in draw(one).offered.items()}
    foreign = {key: value for key, value in others.items() if key not in opened.offered}
    again = draw(part, foreign | {f"{key}:kept": value for key, value in foreign.items()})
    assert again.equations == opened.equations and again.told == opened.told and again.checks == opened.checks


@EVERY
def test_one_is_one(name: str) -> None:
    """A count of one takes a singular, and nothing on the page is no number, in both languages."""
    plurals = {
        language: re.compile(rf"(?<![\w.,·/×−-])1 (?:{names})\b")
        for language, names in (
            ("en", "channels|words|rows|columns|keys|heads|steps|layers|tokens|gradients|frames|labels"),
            ("es", "canales|palabras|filas|columnas|claves|cabezas|pasos|capas|tokens|gradientes|fotogramas|etiquetas"),
        )
    }
    for state, it in drawn(name):
        for language, found in (("en", it), ("es", draw(PARTS[name][1], state, "es"))):
            texts = [*found.told, *(one.note for one in found.equations), *(text for text, _holds in found.checks)]
            for text in texts:
                assert not plurals[language].search(text), (state, text)
                assert not re.search(r"\bnan\b|\bNone\b|\{\w+\}", text), (state, text)
