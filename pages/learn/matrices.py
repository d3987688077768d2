"""The operations under all layers: sums and products, statistics and norms, shapes, on matrices small enough to check."""

from __future__ import annotations

from typing import Any, Final, cast

import pandas as pd
import streamlit as st

from core.figures.learn.attention_steps import grouped_bars
from core.figures.matrix import Matrix, matrix_figure
from core.lecture import matrix_examples, notebooks
from core.lecture.matrices import MATRIX_OPERATIONS
from pages.learn import frame
from pages.shared.language import _
from pages.shared.live_plot import static_plot

PAGE: Final = "matrices"
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


def _show(values: Any, name: str, key: str, cell: tuple[int, int] | None = None) -> None:
    outlined = () if cell is None else ((cell[0], cell[0], cell[1], cell[1]),)
    drawn = Matrix(values=values, name=name, x_title=_("Column"), y_title=_("Row"), outlined=outlined)
    static_plot(matrix_figure(drawn, form=".2f"), key=key, alt=_("The matrix {name}.").format(name=name))


def sums() -> dict[str, Any]:
    """A sum, a difference, a product: one entry read."""
    names = {"product": _("A B"), "sum": "A + B", "row": _("A + a row"), "difference": "A − B", "scaled": _("a number times A")}
    chosen = frame.dials(
        "op_dial",
        {
            "op": frame.choice(_("Operation"), names, key="op"),
            "first": frame.slider(_("A, top left"), -3.0, 3.0, key="op_first", default=1.0, step=0.1),
            "row": frame.slider(_("Row read"), 1, 3, key="op_row", default=1),
            "column": frame.slider(_("Column read"), 1, 3, key="op_column", default=2),
            "draw": frame.slider(_("Other numbers"), 0, 20, key="op_draw", default=0),
        },
    )
    operation = cast(matrix_examples.Operation, chosen["op"])
    a, b = matrix_examples.operands(operation, first=chosen["first"], seed=chosen["draw"])
    c = matrix_examples.compute(operation, a, b)
    i, j = chosen["row"] - 1, chosen["column"] - 1
    left = frame.tex(a[i, j], 1)
    terms = " + ".join(
        rf"({frame.tex(x, 1)})({frame.tex(y, 1)})" for x, y in zip(a[i], b[:, min(j, b.shape[1] - 1)], strict=False)
    )
    shown = {
        "product": terms, "sum": rf"{left} + ({frame.tex(b[i % len(b), j % b.shape[1]], 1)})",
        "row": rf"{left} + ({frame.tex(b[0, j % b.shape[1]], 1)})",
        "difference": rf"{left} - ({frame.tex(b[i % len(b), j % b.shape[1]], 1)})",
        "scaled": rf"{frame.tex(b[0, 0], 1)} \cdot ({left})",
    }[operation]  # fmt: skip
    entry = rf"\begin{{aligned}} C_{{{i + 1}{j + 1}}} &= {shown} \\ &= {frame.tex(c[i, j], 2)} \end{{aligned}}"
    frame.equation(FORMULAS[operation], entry, note=_("the outlined entry"))
    for column, (name, values, cell) in zip(
        st.columns(3), (("A", a, None), ("B" if b.size > 1 else "b", b, None), ("C", c, (i, j))), strict=True
    ):
        with column:
            _show(values, f"{name} ({values.shape[0]} × {values.shape[1]})", f"op_{name.lower()}", cell)
    frame.look_for(frame.passage(PAGE, "sums"))
    return {"A": a, "B": b, "OPERATION": operation, "ENTRY": [i, j], **notebooks.on_screen({"entry": c[i, j], "C": c})}


def statistics() -> dict[str, Any]:
    """A matrix standardised by rows (LayerNorm), by columns, or as a whole."""
    names = {"rows": _("each row: layer_norm"), "columns": _("each column"), "whole": _("the whole matrix: normalize")}
    chosen = frame.dials(
        "stat_dial",
        {
            "over": frame.choice(_("Standardise"), names, key="stat"),
            "level": frame.slider(_("Distance of the rows' levels"), 0.0, 10.0, key="stat_level", default=3.0, step=0.5),
            "draw": frame.slider(_("Other numbers"), 0, 20, key="stat_draw", default=0),
        },
    )
    over = cast(matrix_examples.Statistic, chosen["over"])
    x = matrix_examples.example(level=chosen["level"], seed=chosen["draw"])
    y = matrix_examples.standardised(x, over)
    numbers = x[0] if over == "rows" else x[:, 0] if over == "columns" else x.ravel()
    frame.equation(
        r"\hat x_{ij} = \frac{x_{ij} - \mu}{\sqrt{\sigma^2 + \varepsilon}}",
        rf"\begin{{aligned}} \mu &= {frame.tex(float(numbers.mean()))} \\ \sigma &= {frame.tex(float(numbers.std()))} \\ "
        rf"\hat x_{{11}} &= {frame.tex(float(y[0, 0]))} \end{{aligned}}",
        note=_("of the {count} numbers that share them with the top left one").format(count=numbers.size),
    )
    left, right = st.columns(2)
    with left:
        _show(x, _("before"), "stat_before")
    with right:
        _show(y, _("afterwards: {name}").format(name=names[over]), "stat_after")
    for column, (axis, title) in zip(st.columns(2), ((1, _("Row")), (0, _("Column"))), strict=True):
        with column:
            means = {
                _("mean before"): x.mean(axis=axis),
                _("mean afterwards"): y.mean(axis=axis),
                _("std afterwards"): y.std(axis=axis),
            }
            static_plot(
                grouped_bars(means, x_title=title, y_title=_("Mean, standard deviation")), key=f"stat_axis_{axis}",
                alt=_("Mean and standard deviation along one axis, before and afterwards."),
            )  # fmt: skip
    frame.look_for(frame.passage(PAGE, "statistics"))
    whole = matrix_examples.summary(x)
    st.caption(" · ".join(f"{name} {frame.tex(float(value), 2).replace('{,}', ',')}" for name, value in whole.items()))
    shown = {"top left": y[0, 0], "largest": y.max(), "mean of the rows": y.mean(axis=1)} | whole
    return {"X": x, "OVER": over, **notebooks.on_screen(shown)}


def shapes() -> dict[str, Any]:
    """The same numbers in another shape."""
    names = {
        "transpose": _("transposed"), "reshape": _("reshaped"), "slice": _("a slice"), "concatenate": _("joined"),
        "eye": _("times the identity"),
    }  # fmt: skip
    chosen = frame.dials(
        "shape_dial",
        {
            "shape": frame.choice(_("Shape"), names, key="shape"),
            "draw": frame.slider(_("Numbers"), 0, 20, key="shape_draw", default=0),
        },
    )
    shape = cast(matrix_examples.Shape, chosen["shape"])
    a, _b = matrix_examples.operands("sum", first=1.0, seed=chosen["draw"])
    made = matrix_examples.reshaped(shape, a)
    frame.equation(
        SHAPES[shape],
        rf"({a.shape[0]}, {a.shape[1]}) \to ({made.shape[0]}, {made.shape[1]}), \quad {a.size} \to {made.size}",
        note=_("rows and columns; numbers"),
    )
    left, right = st.columns(2)
    with left:
        _show(a, "A", "shape_a")
    with right:
        _show(made, names[shape], "shape_made")
    frame.look_for(frame.passage(PAGE, "shapes"))
    with st.expander(_("Every operation of the report's class, and what does it here"), icon=":material/table:"):
        st.dataframe(
            pd.DataFrame({_("In the report"): list(MATRIX_OPERATIONS), _("Here"): list(MATRIX_OPERATIONS.values())}),
            hide_index=True,
            width="stretch",
        )
    return {"A": a, "SHAPE": shape, **notebooks.on_screen({"made": made, "size": made.size})}


part = frame.open_page(
    PAGE,
    _("Matrix operations"),
    parts={"sums": _("Sums and products"), "statistics": _("Statistics and norms"), "shapes": _("Shapes")},
)
taken = {"sums": sums, "statistics": statistics, "shapes": shapes}[part]()
frame.close_page(
    PAGE,
    sources=_("vit-report sections 3.1, 3.2, 3.4, 3.6 and 3.7; activations and dropout are on the page of norms"),
    values=taken,
)
