"""Calculations printed on the lecture's pages: their printed numbers give the printed result."""

from __future__ import annotations

import math
import re

import pytest

from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page

NUMBER = r"(-?[\d,{}]*\d\.\d+|-?\d+)"


def latex(page: str, **query: str) -> str:
    """All equations of a page, without LaTeX's grouping of a thousands mark."""
    return " ".join(one.value for one in open_page(ROOT / "pages" / "learn" / f"{page}.py", **query).latex).replace("{,}", "")


def numbers(pattern: str, text: str) -> list[float]:
    """The numbers that a pattern with `#` for each of them finds in the text."""
    parts = [re.escape(part) for part in pattern.split("#")]
    match = re.search(NUMBER.join(parts), text)
    assert match, f"{pattern} is not in {text}"
    return [float(one) for one in match.groups()]


def decimals(value: float, digits: int) -> str:
    return f"{value + 0.0:.{digits}f}"


@pytest.mark.parametrize("first", [0.5, -1.5, 2.1, 0.0, 3.0, -3.0])
def test_layer_norms_gradient(first: float) -> None:
    shown = latex("backprop", part="layer_norm", bp_first=str(first))
    g, mean, xhat, slope, root, entry = numbers(r"\frac{# - (#) - (#)(#)}{#} \\= #", shown)
    assert decimals((g - mean - xhat * slope) / root, 4) == decimals(entry, 4)


@pytest.mark.parametrize(("part", "of"), [("linear", "W"), ("attention", "V"), ("attention", "Q")])
def test_sums_of_products(part: str, of: str) -> None:
    shown = latex("backprop", part=part, **{f"bp_of_{part}": of})
    line = re.search(r"\\begin\{gathered\} \S*nabla[^=]*_\{11\}\)? = (.*?) \\\\ = (\S+) \\end", shown)
    assert line and "cdots" not in line[1]
    terms = re.findall(rf"\({NUMBER}\)\({NUMBER}\)", line[1])
    scale = 0.5 if "sqrt" in line[1] else 1.0
    assert len(terms) >= 4
    assert decimals(scale * sum(float(a) * float(b) for a, b in terms), 4) == decimals(float(line[2]), 4)


def test_softmaxs_gradient() -> None:
    for first in ("0.5", "-3", "2.4"):
        shown = latex("backprop", part="softmax", bp_first=first)
        weight, upstream, total, entry = numbers(r"_{11} = #\,(# - (#)) = #", shown)
        assert decimals(weight * (upstream - total), 4) == decimals(entry, 4)
        weight, wanted, rows, entry = numbers(r"(\nabla z)_{11} = \frac{# - #}{#} = #", shown)
        assert wanted == 0.925 and decimals((weight - wanted) / rows, 4) == decimals(entry, 4)


def test_an_adam_step() -> None:
    for step, whose, decay in (("60", "adam", 0.0), ("7", "adamw", 0.1), ("300", "adam_plain", 0.0)):
        shown = latex("optimisers", part="surface", walk_step=step, whose=whose)

        def row(name: str, shown: str = shown) -> tuple[float, float]:
            match = re.search(rf"{re.escape(name)} &= \\begin{{bmatrix}}{NUMBER} & {NUMBER}\\end", shown)
            assert match, name
            return float(match[1]), float(match[2])

        before, after = row(rf"\theta_{{{int(step) - 1}}}"), row(rf"\theta_{{{step}}}")
        for theta, m, v, result in zip(before, row(rf"\hat m_{{{step}}}"), row(rf"\hat v_{{{step}}}"), after, strict=True):
            assert decimals(theta - 0.03 * (m / (math.sqrt(v) + 1e-8) + decay * theta), 4) == decimals(result, 4)
