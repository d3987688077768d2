"""A printable A4 handout of one view: its numbers, its equations with blanks to fill in, and the key on page 2.

The formulas are MathML, which browsers draw and print without a script. A blank replaces a result: a number, or a row or matrix
of numbers, after an equals sign that ends its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

import numpy as np
from latex2mathml.converter import convert

NUMBER: Final = r"-?\d[\d.]*(?:\{,\}\d+)?(?:\{,\}\d+)*(?:\s*\\cdot\s*10\^\{-?\d+\})?"
MATRIX: Final = r"\\begin\{bmatrix\}(?:(?!\\begin).)*?\\end\{bmatrix\}"
ENDS: Final = r"(?=\s*(?:\\\\|\\end\{(?:aligned|gathered)\}|$|,|\\quad|\\qquad|\\;|\\approx))"
RESULT: Final = re.compile(rf"(=\s*)({NUMBER}|{MATRIX}){ENDS}", re.DOTALL)
LARGEST: Final = 11.0
SMALLEST: Final = 6.0
"""Points of a formula's letters."""
LINE: Final = 58
"""Signs of a formula that a line of the sheet takes at the largest size."""
MAX_CELLS: Final = 72
"""Numbers of a table that still fits the sheet."""

CSS: Final = """
@page { size: A4; margin: 15mm 16mm; }
* { box-sizing: border-box; }
body { font: 11pt/1.4 Georgia, "Times New Roman", serif; color: #111; background: #fff; margin: 0 auto; max-width: 178mm; }
h1 { font-size: 19pt; margin: 0 0 1mm; } h2 { font-size: 12pt; margin: 5mm 0 1.5mm; border-bottom: 0.3mm solid #999; }
p { margin: 1mm 0 2mm; } header { display: flex; gap: 6mm; justify-content: space-between; }
header img { width: 24mm !important; height: 24mm; flex: none; } .name { margin: 2mm 0; color: #444; }
math { font-size: inherit; } menclose { border: 0.3mm solid #333; padding: 0.5mm; }
.formula { margin: 2mm 0; overflow: hidden; } .note { color: #555; font-size: 9.5pt; }
table { border-collapse: collapse; font: 9pt/1.3 ui-monospace, monospace; margin: 1mm 4mm 2mm 0; }
td { border: 0.2mm solid #aaa; padding: 0.6mm 1.6mm; text-align: right; } caption { text-align: left; font-weight: bold; }
.given { display: flex; flex-wrap: wrap; align-items: flex-start; }
.blank { display: inline-block; min-width: 34mm; border-bottom: 0.3mm solid #333; }
.key { break-before: page; } .address { font: 8pt monospace; word-break: break-all; color: #444; }
@media screen { body { padding: 12mm; } .key { border-top: 1px dashed #999; margin-top: 20mm; padding-top: 8mm; } }
"""


@dataclass(frozen=True)
class Worked:
    """An equation and its calculation, LaTeX, and a note in plain words."""

    formula: str
    calculation: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Words:
    """The handout's fixed words, in the reader's language."""

    language: str
    name: str
    given: str
    fill_in: str
    by_machine: str
    key: str
    link: str
    formula: str


@dataclass(frozen=True, kw_only=True)
class Handout:
    """Content of a handout.

    Attributes:
        title, part, lead, look: of the view, plain text.
        given: the numbers to compute with, by name. asked: those on screen, by name.
        worked: the view's equations. address: of the view. qr: its QR code, HTML.
    """

    title: str
    part: str
    lead: str
    look: str
    given: Mapping[str, Any]
    asked: Mapping[str, Any]
    worked: Sequence[Worked]
    address: str
    qr: str = ""


@dataclass
class Blanked:
    """A calculation with numbered blanks, and what belongs into them, both LaTeX."""

    latex: str
    answers: list[str] = field(default_factory=list)


def blank(calculation: str, first: int = 1) -> Blanked:
    """Replace the results of a calculation by numbered boxes.

    Args:
        first: number of the first box.
    """
    blanked = Blanked("")

    def box(match: re.Match[str]) -> str:
        blanked.answers.append(match[2])
        return rf"{match[1]}\boxed{{\quad\text{{({first + len(blanked.answers) - 1})}}\quad}}"

    blanked.latex = RESULT.sub(box, calculation)
    return blanked


def mathml(latex: str, *, inline: bool = False) -> str:
    """LaTeX as MathML. Aligned lines become rows of a table, as the converter knows no others."""
    latex = re.sub(r"\((-[\d.]+(?:\{,\}\d+)?)\)", r"({\1})", latex)  # a sign before a number, not between two
    latex = re.sub(r"(?<=\d)\{,\}(?=\d)", r"\\text{,}", latex)
    latex = re.sub(r"\\begin\{aligned\}", r"\\begin{array}{rlrl}", latex).replace(r"\end{aligned}", r"\end{array}")
    latex = latex.replace(r"\begin{gathered}", r"\begin{matrix}").replace(r"\end{gathered}", r"\end{matrix}")
    latex = re.sub(r"\\\\\[\w.]+\]", r"\\\\", latex).replace(r"\!", "").replace(r"\textstyle", "")
    return str(convert(latex, display="inline" if inline else "block"))


def point_size(latex: str) -> float:
    """Size of the letters at which the longest line of a formula fits the sheet, points."""
    plain = re.sub(r"\\(?:begin|end)\{\w+\}", "", latex)
    longest = max(len(re.sub(r"\\[a-zA-Z]+|[{}&_^\s\\]", "", line)) for line in re.split(r"\\\\", plain))
    return round(min(LARGEST, max(SMALLEST, LARGEST * LINE / max(longest, 1))), 1)


def _formula(latex: str) -> str:
    return f'<div class="formula" style="font-size: {point_size(latex)}pt">{mathml(latex)}</div>'


def _shown(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.4g}"
    return escape(str(value))


def _given(name: str, value: Any) -> str:
    """A value as a table; "" for one that is too large for the sheet, which the notebook has."""
    if isinstance(value, Mapping):
        return "".join(_given(f"{name} {key}", one) for key, one in value.items())
    if isinstance(value, (str, int, float, np.generic)):
        return f"<table><caption>{escape(name)}</caption><tr><td>{_shown(value)}</td></tr></table>" if value != "" else ""
    values = np.asarray(value, dtype=object)
    if values.size == 0 or values.size > MAX_CELLS or values.ndim > 2:
        return ""
    rows = "".join("<tr>" + "".join(f"<td>{_shown(one)}</td>" for one in row) + "</tr>" for row in np.atleast_2d(values))
    return f"<table><caption>{escape(name)}</caption>{rows}</table>"


def page(handout: Handout, words: Words) -> str:
    """The handout as one HTML file, which a browser prints on two pages."""
    questions: list[str] = []
    answers: list[str] = []
    for one in handout.worked:
        blanked = blank(one.calculation, len(answers) + 1)
        answers += blanked.answers
        note = f'<p class="note">{escape(one.note)}</p>' if one.note else ""
        shown = _formula(blanked.latex) if one.calculation else ""
        questions.append(_formula(one.formula) + shown + note)
    asked = "".join(f'<p><b>{escape(name)}</b> = <span class="blank">&nbsp;</span></p>' for name in handout.asked)
    key = "".join(f"<p>({number}) {mathml(latex, inline=True)}</p>" for number, latex in enumerate(answers, 1))
    given = "".join(_given(name, value) for name, value in handout.given.items())
    part = f": {escape(handout.part)}" if handout.part else ""
    return f"""<!doctype html>
<html lang="{words.language}"><head><meta charset="utf-8"><title>{escape(handout.title)}{part}</title><style>{CSS}</style></head>
<body><main>
<header><div><h1>{escape(handout.title)}{part}</h1><p>{escape(handout.lead)}</p>
<p class="name">{escape(words.name)} <span class="blank">&nbsp;</span></p></div>{handout.qr}</header>
{f'<h2>{escape(words.given)}</h2><div class="given">{given}</div>' if given else ""}
<h2>{escape(words.fill_in)}</h2>{"".join(questions)}
{f"<h2>{escape(words.by_machine)}</h2>{asked}" if asked else ""}
</main><section class="key"><h1>{escape(words.key)}</h1>
{key}
<div class="given">{"".join(_given(name, value) for name, value in handout.asked.items())}</div>
<p>{escape(handout.look)}</p>
{f'<p class="address">{escape(words.link)} {escape(handout.address)}</p>' if handout.address else ""}</section></body></html>
"""
