"""The operations under all layers: sums and products, statistics and norms, shapes, on matrices small enough to check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.figures.learn.attention_steps import grouped_bars
from core.figures.matrix import Matrix
from core.lecture import matrices
from core.lecture.matrices import MATRIX_OPERATIONS
from core.lecture.notebooks import on_screen
from core.lecture.worked import Worked
from pages.learn.frame import choice, passage, slider, tex
from pages.learn.lesson_page import Item, LessonPage, Part, PartView, caption, plot, render
from pages.shared.language import _

FORMULAS: Final = {
    "sum": r"C_{ij} = A_{ij} + B_{ij}",
    "row": r"C_{ij} = A_{ij} + b_j",
    "difference": r"C_{ij} = A_{ij} - B_{ij}",
    "product": r"C_{ij} = \sum_k A_{ik} B_{kj}",
    "scaled": r"C_{ij} = b\,A_{ij}",
}
SHAPES: Final = {
    "transpose": r"A^\top_{ji} = A_{ij}",
    "reshape": r"(3, 4) \to (2, 6)",
    "slice": r"A_{2:3,\ 2:3}",
    "concatenate": r"[A \mid A]",
    "eye": r"I A = A",
}


def matrix(values: Any, name: str, key: str, cell: tuple[int, int] | None = None, of: Mapping[str, Any] | None = None) -> Item:
    """One matrix with its numbers, and what they come from; the cell is outlined."""
    outlined = () if cell is None else ((cell[0], cell[0], cell[1], cell[1]),)
    drawn = Matrix(values=values, name=name, x_title=_("Column"), y_title=_("Row"), outlined=outlined, of=of or {})
    return plot(drawn, key, _("The matrix {name}.").format(name=name))


def sums(op: matrices.Operation, first: float, row: int, column: int, draw: int) -> PartView:
    """A sum, a difference, a product: one entry read."""
    a, b = matrices.operands(op, first=first, seed=draw)
    c, i, j = matrices.compute(op, a, b), row - 1, column - 1
    left, other = tex(a[i, j], 1), b[i % len(b), j % b.shape[1]]
    pairs = zip(a[i], b[:, min(j, b.shape[1] - 1)], strict=False)
    calculation = {
        "product": " + ".join(rf"({tex(x, 1)})({tex(y, 1)})" for x, y in pairs),
        "sum": rf"{left} + ({tex(other, 1)})",
        "row": rf"{left} + ({tex(b[0, j % b.shape[1]], 1)})",
        "difference": rf"{left} - ({tex(other, 1)})",
        "scaled": rf"{tex(b[0, 0], 1)} \cdot ({left})",
    }[op]

    def one(name: str, values: Any, key: str = "") -> Item:
        of, cell = ({"a": a, "b": b}, (i, j)) if key else (None, None)
        return matrix(values, f"{name} ({values.shape[0]} × {values.shape[1]})", f"op_{key or name.lower()}", cell, of)

    entry = rf"\begin{{aligned}} C_{{{i + 1}{j + 1}}} &= {calculation} \\ &= {tex(c[i, j], 2)} \end{{aligned}}"
    return PartView(
        equation=Worked(FORMULAS[op], entry, _("the outlined entry")),
        figure=[[one("A", a), one("B" if b.size > 1 else "b", b), one("C", c, f"c_{op}")]],
        notes=[passage("matrices", "sums")],
        taken=lambda: {"A": a, "B": b, "OPERATION": op, "ENTRY": [i, j], **on_screen({"entry": c[i, j], "C": c})},
    )


def over_names() -> dict[str, str]:
    """Names of the axes that may be standardised."""
    return {"rows": _("each row: layer_norm"), "columns": _("each column"), "whole": _("the whole matrix: normalize")}


def statistics(over: matrices.Statistic, level: float, draw: int) -> PartView:
    """A matrix standardised by rows (LayerNorm), by columns, or as a whole."""
    x = matrices.example(level=level, seed=draw)
    y = matrices.standardised(x, over)
    numbers = x[0] if over == "rows" else x[:, 0] if over == "columns" else x.ravel()

    def along(axis: int, title: str) -> Item:
        bars = {_("mean before"): x.mean(axis=axis), _("mean afterwards"): y.mean(axis=axis)}
        drawn = grouped_bars(bars | {_("std afterwards"): y.std(axis=axis)}, x_title=title, y_title=_("Mean, standard deviation"))
        return plot(drawn, f"stat_axis_{axis}", _("Mean and standard deviation along one axis, before and afterwards."))

    whole = matrices.summary(x)
    line = " · ".join(f"{name} {tex(float(value), 2).replace('{,}', ',')}" for name, value in whole.items())
    shown = {"top left": y[0, 0], "largest": y.max(), "mean of the rows": y.mean(axis=1)} | whole
    return PartView(
        equation=Worked(
            r"\hat x_{ij} = \frac{x_{ij} - \mu}{\sqrt{\sigma^2 + \varepsilon}}",
            rf"\begin{{aligned}} \mu &= {tex(float(numbers.mean()))} \\ \sigma &= {tex(float(numbers.std()))} \\ "
            rf"\hat x_{{11}} &= {tex(float(y[0, 0]))} \end{{aligned}}",
            _("of the {count} numbers that share them with the top left one").format(count=numbers.size),
        ),
        figure=[
            [
                matrix(x, _("before"), "stat_before"),
                matrix(y, _("afterwards: {name}").format(name=over_names()[over]), "stat_after"),
            ],
            [along(1, _("Row")), along(0, _("Column"))],
        ],
        notes=[passage("matrices", "statistics")],
        more=[caption(line)],
        taken=lambda: {"X": x, "OVER": over, **on_screen(shown)},
    )


def shape_names() -> dict[str, str]:
    """Each other shape, by its name on the page."""
    return {
        "transpose": _("transposed"), "reshape": _("reshaped"), "slice": _("a slice"), "concatenate": _("joined"),
        "eye": _("times the identity"),
    }  # fmt: skip


def shapes(shape: matrices.Shape, draw: int) -> PartView:
    """The same numbers in another shape."""
    a, _b = matrices.operands("sum", first=1.0, seed=draw)
    made = matrices.reshaped(shape, a)

    def operations() -> None:
        rows = {_("In the report"): list(MATRIX_OPERATIONS), _("Here"): list(MATRIX_OPERATIONS.values())}
        with st.expander(_("Every operation of the report's class, and what does it here"), icon=":material/table:"):
            st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")

    return PartView(
        equation=Worked(
            SHAPES[shape],
            rf"({a.shape[0]}, {a.shape[1]}) \to ({made.shape[0]}, {made.shape[1]}), \quad {a.size} \to {made.size}",
            _("rows and columns; numbers"),
        ),
        figure=[[matrix(a, "A", "shape_a"), matrix(made, shape_names()[shape], "shape_made")]],
        notes=[passage("matrices", "shapes")],
        more=[operations],
        taken=lambda: {"A": a, "SHAPE": shape, **on_screen({"made": made, "size": made.size})},
    )


def operation_names() -> dict[str, str]:
    """Each operation, by its name on the page."""
    return {"product": _("A B"), "sum": "A + B", "row": _("A + a row"), "difference": "A − B", "scaled": _("a number times A")}


render(
    LessonPage(
        "matrices",
        _("Matrix operations"),
        [
            Part("sums", _("Sums and products"), lambda: {
                "op": choice(_("Operation"), operation_names(), key="op"),
                "first": slider(_("A, top left"), -3.0, 3.0, key="op_first", default=1.0, step=0.1),
                "row": slider(_("Row read"), 1, 3, key="op_row", default=1),
                "column": slider(_("Column read"), 1, 3, key="op_column", default=2),
                "draw": slider(_("Other numbers"), 0, 20, key="op_draw", default=0),
            }, sums, "op_dial"),
            Part("statistics", _("Statistics and norms"), lambda: {
                "over": choice(_("Standardise"), over_names(), key="stat"),
                "level": slider(_("Distance of the rows' levels"), 0.0, 10.0, key="stat_level", default=3.0, step=0.5),
                "draw": slider(_("Other numbers"), 0, 20, key="stat_draw", default=0),
            }, statistics, "stat_dial"),
            Part("shapes", _("Shapes"), lambda: {
                "shape": choice(_("Shape"), shape_names(), key="shape"),
                "draw": slider(_("Numbers"), 0, 20, key="shape_draw", default=0),
            }, shapes, "shape_dial"),
        ],
        _("vit-report sections 3.1, 3.2, 3.4, 3.6 and 3.7; activations and dropout are on the page of norms"),
    )
)  # fmt: skip
