"""A printable A4 handout of one view, for two people and ten minutes: its numbers, what to do with them, and the key on page 2.

The two compute (odd blanks the one, even blanks the other), predict, and explain to each other; all of it is made from the view's
own state. The formulas are MathML, which browsers draw and print without a script. A blank replaces a result: a number, or a row
or matrix of numbers, after an equals sign that ends its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

import numpy as np
from latex2mathml.converter import convert

from core.messages import translate as _

NUMBER: Final = r"-?\d[\d.]*(?:\{,\}\d+)?(?:\{,\}\d+)*(?:\s*\\cdot\s*10\^\{-?\d+\})?"
Write = Callable[[float], str]
MATRIX: Final = r"\\begin\{bmatrix\}(?:(?!\\begin).)*?\\end\{bmatrix\}"
ENDS: Final = r"(?=\s*(?:\\\\|\\end\{(?:aligned|gathered)\}|$|,|\\quad|\\qquad|\\;|\\approx))"
RESULT: Final = re.compile(rf"(=\s*)({NUMBER}|{MATRIX}){ENDS}", re.DOTALL)
TINY: Final = 1e-12
"""Sizes below are rounding, and written as 0."""
LARGEST: Final = 10.0
SMALLEST: Final = 6.0
"""Points of a formula's letters."""
LINE: Final = 58
"""Signs of a formula that a line of the sheet takes at the largest size."""
MAX_CELLS: Final = 72
MAX_GIVEN: Final = 110
"""Numbers of a table, and of all tables, that still fit the sheet."""
ACROSS: Final = 10
"""Numbers of a vector on one line."""

CSS: Final = """
@page { size: A4; margin: 15mm 16mm; }
* { box-sizing: border-box; }
body { font: 10pt/1.3 Georgia, "Times New Roman", serif; color: #111; background: #fff; margin: 0 auto; max-width: 178mm; }
h1 { font-size: 17pt; margin: 0 0 1mm; } h2 { font-size: 11pt; margin: 3mm 0 1mm; border-bottom: 0.3mm solid #999; }
p { margin: 0.8mm 0 1.2mm; } pre { font: 8pt/1.3 monospace; white-space: pre-wrap; margin: 1mm 0; }
header { display: flex; gap: 6mm; justify-content: space-between; }
header img { width: 24mm !important; height: 24mm; flex: none; } .name { margin: 1.5mm 0; color: #444; }
math { font-size: inherit; } menclose { border: 0.3mm solid #333; padding: 0.5mm; }
.formula { margin: 1mm 0; overflow: hidden; } .note { color: #555; font-size: 9.5pt; }
table { border-collapse: collapse; font: 8pt/1.2 ui-monospace, monospace; margin: 0.5mm 0 1mm; }
td { border: 0.2mm solid #aaa; padding: 0.3mm 1.3mm; text-align: right; }
caption { text-align: left; font-weight: bold; white-space: nowrap; }
.given { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 0 5mm; }
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
class Exercise:
    """A task beside the calculation.

    Attributes:
        name: its heading. asked, key: HTML, for page 1 and for page 2.
    """

    name: str
    asked: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Handout:
    """Content of a handout.

    Attributes:
        title, part, lead, look, dials: of the view, plain text.
        given: the numbers to compute with, by name. asked: those on screen, by name, where the equations have no blank.
        worked: the view's equations. tasks: what follows. address: of the view. qr: its QR code, HTML.
    """

    title: str
    part: str
    lead: str
    look: str
    dials: str = ""
    worked: Sequence[Worked] = ()
    tasks: Sequence[Exercise] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""
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


def _shown(value: Any, write: Write) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (float, np.floating)):
        return write(0.0 if abs(float(value)) < TINY else float(value))
    return escape(str(value))


def _tables(given: Mapping[str, Any], write: Write) -> str:
    """Values as tables, in their order, without those that are too large for the sheet or its rest: the notebook has them."""
    made, most = "", MAX_GIVEN
    for name, value in _flat(given):
        values = np.asarray(value, dtype=object)
        if values.ndim > 2 or not 0 < values.size <= min(MAX_CELLS, most) or not str(value):
            continue
        most -= values.size
        rows = np.atleast_2d(values).tolist()
        if 1 in np.atleast_2d(values).shape and values.size > 4:  # a vector, line by line
            line = values.reshape(-1).tolist()
            rows = [line[at : at + ACROSS] for at in range(0, len(line), ACROSS)]
        body = "".join("<tr>" + "".join(f"<td>{_shown(one, write)}</td>" for one in row) + "</tr>" for row in rows)
        made += f"<table><caption>{escape(name)}</caption>{body}</table>"
    return made


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat({f"{name} {key}": one for key, one in value.items()})
        else:
            yield name, value


def page(handout: Handout, language: str, write: Write) -> str:
    """The handout as one HTML file, which a browser prints on two pages, in the language of the moment.

    Args:
        language: its code. write: a number as this language writes it.
    """
    questions: list[str] = []
    answers: list[str] = []
    for one in handout.worked:
        blanked = blank(one.calculation, len(answers) + 1)
        answers += blanked.answers
        note = f'<p class="note">{escape(one.note)}</p>' if one.note else ""
        shown = _formula(blanked.latex) if one.calculation else ""
        questions.append(_formula(one.formula) + shown + note)
    asked = {} if answers else handout.asked
    questions += [f'<p><b>{escape(name)}</b> = <span class="blank">&nbsp;</span></p>' for name in asked]
    key = " ".join(f"<span>({number}) {mathml(latex, inline=True)}</span>" for number, latex in enumerate(answers, 1))
    listed = {
        name: value for name, value in handout.given.items() if not handout.dials or np.ndim(value) or isinstance(value, Mapping)
    }
    part = f": {escape(handout.part)}" if handout.part else ""
    names = "".join(f'{one}: <span class="blank">&nbsp;</span> ' for one in "AB")
    two, given, solved, view = _("For two, ten minutes."), _("The numbers of this view"), _("Key"), _("This view:")
    fill_in = _("Compute: A the odd boxes, B the even ones; then check (4 minutes)")
    steps = [(fill_in, "".join(questions)), *((one.name, one.asked) for one in handout.tasks)]
    keys = [(fill_in, f'<div class="given">{key}{_tables(asked, write)}</div>'), *((one.name, one.key) for one in handout.tasks)]
    link = f'<p class="address">{escape(view)} {escape(handout.address)}</p>' if handout.address else ""
    return f"""<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><title>{escape(handout.title)}{part}</title><style>{CSS}</style></head>
<body><main>
<header><div><h1>{escape(handout.title)}{part}</h1><p>{escape(handout.lead)}</p>
<p class="name">{escape(two)} {names}</p></div>{handout.qr}</header>
<h2>{escape(given)}</h2>
<p class="note">{escape(handout.dials)}</p><div class="given">{_tables(listed, write)}</div>
{_sections(steps)}
</main><section class="key"><h1>{escape(solved)}</h1>{_sections(keys)}
<p>{escape(handout.look)}</p>
{link}</section></body></html>
"""


def _sections(told: Sequence[tuple[str, str]]) -> str:
    return "".join(f"<h2>{number} · {escape(name)}</h2>{content}" for number, (name, content) in enumerate(told, 1) if content)
