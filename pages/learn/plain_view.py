"""A lesson's view as plain HTML and data, for the tour: the page's own tables, drawings and equations.

Plots stay figures, JSON in an attribute, which `assets/scripts/plain_view.js` draws; everything else needs no script.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import markdown
import plotly.graph_objects as go

from core.figures import wire
from core.figures.learn.diagrams.blocks import Diagram
from core.figures.learn.diagrams.drawing import Look, svg
from core.lecture.handout import Worked, mathml
from pages.learn.tex_lines import lines

MATH: Final = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.DOTALL)
SYMBOL: Final = re.compile(r":material/\w+:\s*")
HEIGHT: Final = 320
"""Pixels of a plot that names no height of its own."""


@dataclass(frozen=True, kw_only=True)
class PlainView:
    """A view's pieces, HTML but for the names.

    Attributes:
        title, part: translated. dials: label and value of each. address: of the page, with all choices.
        body: equations, figures and notes.
    """

    title: str
    part: str
    dials: Sequence[tuple[str, str]]
    body: str
    address: str = ""

    def content(self) -> dict[str, Any]:
        """Ready for JSON."""
        named = {"title": self.title, "part": self.part, "dials": [list(one) for one in self.dials]}
        return named | {"body": self.body, "address": self.address}


def equations(worked: Sequence[Worked]) -> str:
    """Equations with their numbers, MathML, a line each."""
    parts = []
    for one in worked:
        formulas = [*lines(one.formula), *(lines(one.calculation) if one.calculation else [])]
        parts += [f'<div class="formula">{mathml(formula)}</div>' for formula in formulas]
        if one.note:
            parts.append(f'<p class="note">{escape(one.note)}</p>')
    return "".join(parts)


def drawing(diagram: Diagram, *, part: str, dial: str) -> str:
    """The block diagram, upright as on a phone; its blocks lead nowhere."""
    look = Look(part=part, dial=dial, names={}, link=lambda _code: "#")
    drawn = re.sub(r"<a [^>]*>|</a>", "", svg(diagram, look, narrow=True))
    return f'<figure class="lesson-diagram" role="img" aria-label="{escape(diagram.title)}">{drawn}</figure>'


def plot(figure: go.Figure | Mapping[str, Any], *, alt: str, height: int | None) -> str:
    """A figure as data for the browser."""
    given = figure.layout.height if isinstance(figure, go.Figure) else figure.get("layout", {}).get("height")
    parts = wire.split(figure)
    data = b'{"data":[' + b",".join(one.body for one in parts.traces) + b'],"layout":' + parts.layout.body + b"}"
    return (
        f'<figure class="plot" role="img" aria-label="{escape(alt)}" style="height:{int(height or given or HEIGHT)}px" '
        f'data-figure="{escape(data.decode())}"></figure>'
    )


def text(source: str) -> str:
    """Markdown as HTML: tags in it are text, symbols of the page's font are left out, formulas become MathML."""
    kept: list[str] = []

    def formula(match: re.Match[str]) -> str:
        kept.append(mathml(match[1] or match[2], inline=match[1] is None))
        return f"\x02{len(kept) - 1}\x03"

    safe = escape(MATH.sub(formula, SYMBOL.sub("", source)), quote=False)
    html = re.sub(r"<(?:a|img) [^>]*>|</a>", "", markdown.markdown(safe, extensions=["tables", "sane_lists"]))
    return re.sub(r"\x02(\d+)\x03", lambda match: kept[int(match[1])], html)


def row(pieces: Sequence[str]) -> str:
    """Pieces side by side where there is room."""
    return f'<div class="row">{"".join(f"<div>{one}</div>" for one in pieces)}</div>' if pieces else ""
