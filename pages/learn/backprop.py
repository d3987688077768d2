"""Backpropagation through every part of a Transformer layer: the written gradient beside autograd's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final

import streamlit as st

from core.figures.matrix import Matrix, largest_size
from core.lecture import backprop
from core.lecture.backprop import Example, Part
from core.lecture.notebooks import on_screen
from core.lecture.shown_digits import digits_needed, dot, flat
from pages.learn import frame, lesson_page
from pages.learn.frame import Dial, Worked, choice, passage, slider, tex
from pages.learn.lesson_page import Item, LessonPage, PartView, caption, check, plot, render, written
from pages.shared import url_state
from pages.shared.language import N_, _, number, percent, significant

FORMULAS: Final[dict[str, str]] = {
    "softmax": r"\begin{gathered} A = \mathrm{softmax}(S) \\ \frac{\partial \mathcal{L}}{\partial S_{ij}} = A_{ij}\left("
    r"\frac{\partial \mathcal{L}}{\partial A_{ij}} - \sum_k \frac{\partial \mathcal{L}}{\partial A_{ik}} A_{ik}\right)"
    r" \end{gathered}",
    "linear": r"\begin{gathered} y = xW + b \\ \nabla x = \nabla y\,W^{\top},\quad \nabla W = x^{\top}\nabla y,\quad"
    r"\nabla b = \textstyle\sum_i \nabla y_i \end{gathered}",
    "layer_norm": r"\begin{gathered} y = \gamma \odot \hat x + \beta,\quad \nabla\hat x = \gamma \odot \nabla y \\"
    r"\nabla x = \frac{\nabla\hat x - \overline{\nabla\hat x} - \hat x\,\overline{\nabla\hat x \odot \hat x}}"
    r"{\sqrt{\sigma^2 + \varepsilon}} \\"
    r"\nabla\gamma = \textstyle\sum \nabla y \odot \hat x,\quad \nabla\beta = \sum \nabla y \end{gathered}",
    "gelu": r"\begin{gathered} f(x) = \tfrac12 x (1 + u),\quad u = \tanh\!\left[\sqrt{\tfrac2\pi}(x + 0.044715x^3)\right] \\"
    r"f'(x) = \tfrac12 (1 + u) + \tfrac12 x (1 - u^2)\sqrt{\tfrac2\pi}(1 + 0.134145x^2) \\"
    r"\text{report: } f'(x) \approx \Phi(x) + x\,\phi(x) \end{gathered}",
    "attention": r"\begin{gathered} A = \mathrm{softmax}\!\left(QK^{\top}/\sqrt{d_k}\right),\quad Z = AV \\"
    r"\nabla V = A^{\top}\nabla Z,\quad \nabla A = \nabla Z\,V^{\top} \\"
    r"\nabla Q = \tfrac{1}{\sqrt{d_k}}\nabla S\,K,\quad \nabla K = \tfrac{1}{\sqrt{d_k}}\nabla S^{\top} Q \end{gathered}",
    "multi_head": r"\begin{gathered} Z = \mathrm{Concat}(Z_1, Z_2),\quad O = Z W_O + b_O \\"
    r"\nabla Z = \nabla O\,W_O^{\top},\quad \nabla W_O = Z^{\top}\nabla O \\"
    r"\nabla W_Q = x^{\top}\nabla Q,\quad \nabla x = \nabla Q W_Q^{\top} + \nabla K W_K^{\top} + \nabla V W_V^{\top}"
    r"\end{gathered}",
    "ffn": r"\begin{gathered} F_1 = xW_1 + b_1,\quad F = \mathrm{GELU}(F_1) W_2 + b_2 \\"
    r"\nabla W_2 = \mathrm{GELU}(F_1)^{\top}\nabla F,\quad \nabla F_1 = \nabla F\,W_2^{\top} \odot \mathrm{GELU}'(F_1) \\"
    r"\nabla W_1 = x^{\top}\nabla F_1,\quad \nabla x = \nabla F_1 W_1^{\top} \end{gathered}",
    "layer": r"\begin{gathered} X_1 = x + O,\quad N_1 = \mathrm{LayerNorm}(X_1) \\"
    r"X_2 = N_1 + F,\quad N_2 = \mathrm{LayerNorm}(X_2) \\"
    r"\nabla N_1 = \nabla X_2 + \nabla_F(\nabla X_2),\quad \nabla x = \nabla X_1 + \nabla_O(\nabla X_1) \end{gathered}",
}
"""The forward and backward equations of each part."""

SUMMED: Final[dict[str, dict[str, str]]] = {
    "multi_head": {"dx_Q": "Q", "dx_K": "K", "dx_V": "V"},
    "layer": {"dX1": "x", "dO": "O"},
}
"""Ways by which the gradient by x comes in, where there are several: intermediate value, and the path's name."""
OUTPUTS: Final[Mapping[Part, str]] = {
    "attention": "Z",
    "softmax": "A",
    "multi_head": "O",
    "ffn": "F",
    "linear": "y",
    "gelu": "y",
    "layer_norm": "y",
    "layer": "N_2",
}
"""Name of each operation's output, as its formula has it."""
OPERATIONS: Final[Mapping[Part, Mapping[str, str]]] = {
    "attention": {"attention": N_("Attention"), "softmax": "Softmax", "multi_head": N_("Heads")},
    "ffn": {"ffn": "FFN", "linear": N_("Linear"), "gelu": "GELU", "layer_norm": "LayerNorm"},
}
"""The operations of a part, by their names on the page; the first is the whole of it."""
ON_A_LINE: Final = 2
"""Products of a sum on one line of its equation, so that the column holds it."""
SEED: Final = 1
"""Of all numbers but the input's first one."""


def latex_name(name: str) -> str:
    """A gradient's name for LaTeX: w_q becomes W_Q, gamma the Greek letter."""
    first, _mark, index = name.partition("_")
    if first in ("gamma", "beta"):
        return rf"\{first}" + (f"^{{({index})}}" if index else "")
    return f"{'W' if first == 'w' else first}_{{{index.upper()}}}" if index else name


def plain(name: str) -> str:
    """A gradient's name in words: w_q becomes W_q, gamma the Greek letter."""
    greek = {"gamma": "γ", "beta": "β"}
    first, mark, index = name.partition("_")
    return greek.get(first, first.upper() if len(first) == 1 and first != "x" and first != "b" else first) + mark + index


_example = st.cache_data(show_spinner=False, max_entries=256)(backprop.example)


def operation_dial(whole: Part) -> Dial | None:
    """The operation, each of which has gradients of its own, where the part has several."""
    offered = OPERATIONS.get(whole)
    return replace(choice(_("Operation"), offered, key=f"bp_{whole}"), elsewhere=None) if offered else None


def gradient_dial(whole: Part) -> Dial:
    """The gradient that is read."""

    def gradient(values: Mapping[str, Any]) -> str:
        operation = values.get("operation", whole)
        written = _example(operation, rows=4, seed=SEED, first=0.5, causal=False).written
        names = {name: plain(name) for name in written}
        return url_state.choice(st.pills, _("Gradient by"), names, key=f"bp_of_{operation}")

    return Dial(_("Gradient by"), gradient, lambda name, _values: plain(name))


def mask_dial(whole: Part) -> Dial | None:
    """The mask, where the part attends."""
    return frame.switch(_("Causal mask"), key="bp_causal") if whole != "ffn" else None


def matrices(example: Example) -> None:
    """All inputs and intermediate values, in a box."""
    with st.expander(_("All inputs and intermediate values"), icon=":material/data_array:"):
        values = example.inputs | {"output": example.output} | example.inner
        top = largest_size(list(values.values()))
        columns = st.columns(3)
        for number, (key, one) in enumerate(values.items()):
            with columns[number % 3]:
                plot(Matrix(values=one, name=key, top=top), f"bp_matrix_{key}", _("The matrix {name}.").format(name=key))()


def report_form(example: Example) -> Item:
    """Tells how far the report's derivative of GELU is off, where the part has one."""
    if "report_gradient" not in example.inner:
        return None
    gap, share = backprop.report_gap(example)
    off = _(
        "With the report's Φ(x) + x φ(x), which belongs to the exact GELU, ∇x would be off by {gap}, {share} of its "
        "largest entry."
    )
    return caption(off.format(gap=significant(gap, 2), share=percent(share, 2)))


def view(
    whole: Part,
    name: Annotated[str, gradient_dial],
    first: Annotated[float, slider(_("Input, top left"), -3.0, 3.0, key="bp_first", default=0.5, step=0.1)],
    rows: Annotated[int, slider(_("Tokens"), 2, 6, key="bp_rows", default=4)],
    causal: Annotated[bool, mask_dial] = False,
    operation: Annotated[Part | None, operation_dial] = None,
) -> PartView:
    """An input and its output, the output's gradient and the input's, one entry of which is calculated."""
    part = operation or whole
    given: dict[str, Any] = {"rows": rows, "seed": SEED, "first": first, "causal": causal}
    example, out = _example(part, **given), OUTPUTS[part]
    one, upstream, gradient = example.inputs[name], example.inputs["upstream"], example.written[name]
    ahead, back, at = largest_size([one, example.output]), largest_size([upstream, gradient]), ((0, 0, 0, 0),)
    of = example.inputs | {"∇y": upstream}
    drawn = {
        "bp_input": Matrix(values=one, name=plain(name), top=ahead, outlined=at),
        "bp_output": Matrix(values=example.output, name=_("{name}, the output").format(name=out), top=ahead),
        "bp_upstream": Matrix(values=upstream, name=_("∇{name}, given").format(name=out), top=back),
        f"bp_{part}_{name}": Matrix(
            values=gradient, name=_("∇{name}, computed").format(name=plain(name)), top=back, outlined=at, of=of
        ),
    }
    alt = _("The matrix {name}.")
    gap = max(example.gap(each) for each in example.written)
    differ = _("Formulas and autograd differ by {gap} at most in what this part has of gradients, {count} (float64).")
    entry = Worked(FORMULAS[part], _calculation(part, example, name), _("one entry, the outlined one: row 1, column 1"))
    return PartView(
        equation=(entry, under_a_loss(example)) if part == "softmax" and not causal else entry,
        figure=[[plot(matrix, key, alt.format(name=matrix.name)) for key, matrix in drawn.items()]],
        notes=[passage("backprop", part)],
        more=[
            check(differ.format(gap=written(gap, -1), count=number(len(example.written))), gap < 1e-10),
            report_form(example),
            lambda: matrices(example),
        ],
        asked=lambda: (_("the outlined entry of ∇{name}").format(name=plain(name)), float(gradient[0, 0])),
        notebook_values=(lambda: _taken(part, example, name) | ({"CAUSAL": causal} if part != "ffn" else {}))
        if part == whole
        else None,
    )


def under_a_loss(example: Example) -> Worked:
    """The last softmax of a classifier, whose gradient cross-entropy makes simple: the same scores as logits."""
    weight, by = float(example.inner["A"][0, 0]), example.inner["by_logits"]
    rows, classes = by.shape
    wanted = 1 - backprop.SMOOTHING + backprop.SMOOTHING / classes
    digits = digits_needed(lambda one: (one - wanted) / rows, weight, result=4)
    return Worked(
        r"\nabla z = \frac{\hat y - y}{n},\quad \hat y = \mathrm{softmax}(z)",
        rf"(\nabla z)_{{11}} = \frac{{{tex(weight, digits)} - {tex(wanted, 3)}}}{{{rows}}} = {tex(float(by[0, 0]), 4)}",
        _(
            "under a cross-entropy, as after a classifier's last layer: the same scores as logits of {n} samples of class 1, the "
            "label smoothed by {smoothing}"
        ).format(n=number(rows), smoothing=number(backprop.SMOOTHING, 1)),
    )


def _taken(part: Part, example: Example, name: str) -> dict[str, Any]:
    """Values for a part's notebook: its inputs, the gradient by the output, and the gradient on screen."""
    given = {key: value for key, value in example.inputs.items() if key != "upstream"}
    inputs = given if part == "attention" else {"INPUTS": given}
    return {**inputs, "UPSTREAM": example.inputs["upstream"], **on_screen({name: example.written[name]}, 4)}


def _calculation(part: Part, example: Example, name: str) -> str:
    """One entry of the gradient with this page's numbers, for LaTeX."""
    up = example.inputs["upstream"]
    entry = tex(float(example.written[name][0, 0]), 4)
    target = rf"\nabla {latex_name(name)}_{{11}}" if "_" not in latex_name(name) else rf"(\nabla {latex_name(name)})_{{11}}"
    if part == "softmax":
        row = example.inner["A"][0]
        row_sum = dot(*up[0], *row)
        of_sum = digits_needed(backprop.softmax_entry, row[0], up[0, 0], row_sum, result=4)
        digits = digits_needed(dot, *flat(up[0], row), result=of_sum)
        terms = " + ".join(rf"({tex(float(u), 2)})({tex(float(a), digits)})" for u, a in zip(up[0], row, strict=True))
        return (
            rf"\begin{{gathered}} \textstyle\sum_k = {terms} = {tex(row_sum, of_sum)} \\"
            rf"{target} = {tex(float(row[0]), of_sum)}\,({tex(float(up[0, 0]), 2)} - ({tex(row_sum, of_sum)})) = {entry}"
            rf"\end{{gathered}}"
        )
    if part == "linear" and name in ("x", "W"):
        left, right = (up[0], example.inputs["W"][0]) if name == "x" else (example.inputs["x"][:, 0], up[:, 0])
        return _product(target, left, right, entry)
    if part == "gelu":
        x, slope = float(example.inputs["x"][0, 0]), float(example.inner["derivative"][0, 0])
        report = float(example.inner["report"][0, 0])
        return (
            rf"\begin{{gathered}} f'({tex(x, 2)}) = {tex(slope, 6)},\quad \text{{report: }} {tex(report, 6)} \\"
            rf"{target} = {tex(float(up[0, 0]), 2)} \cdot {tex(slope, 6)} = {entry} \end{{gathered}}"
        )
    if part == "layer_norm" and name == "x":
        parts = backprop.layer_norm_numbers(example)
        digits = digits_needed(backprop.layer_norm_entry, *parts.values(), result=4)
        g, mean, xhat, along, root = (tex(value, digits) for value in parts.values())
        return (
            rf"\begin{{gathered}} {target} = \frac{{{g} - ({mean}) - ({xhat})({along})}}{{{root}}} \\"
            rf"= {entry} \end{{gathered}}"
        )
    if part == "layer_norm" and name == "gamma":
        return _product(target, up[:, 0], example.inner["xhat"][:, 0], entry)
    if part == "attention":
        scores, d_k = example.inner["dS"], example.inputs["Q"].shape[1]
        left, right = {
            "Q": (scores[0], example.inputs["K"][:, 0]),
            "K": (scores[:, 0], example.inputs["Q"][:, 0]),
            "V": (example.inner["A"][:, 0], up[:, 0]),
        }[name]
        return _product(target, left, right, entry, key_width=None if name == "V" else d_k)
    if name == "x" and part == "ffn":
        return _product(target, example.inner["dZ1"][0], example.inputs["w_1"][0], entry)
    if name == "x" and part in SUMMED:
        ways = [(way, float(example.inner[key][0, 0])) for key, way in SUMMED[part].items()]
        digits = digits_needed(lambda *given: sum(given), *(value for _way, value in ways), result=4)
        paths = (rf"\underset{{\text{{{way}}}}}{{({tex(value, digits)})}}" for way, value in ways)
        return rf"{target} = {' + '.join(paths)} = {entry}"
    return rf"{target} = {entry}"


def _product(target: str, left: Any, right: Any, entry: str, *, key_width: int | None = None) -> str:
    """A sum of products with all its terms, in as many decimals as reproduce the entry."""
    factor = 1.0 if key_width is None else key_width**-0.5
    digits = digits_needed(partial(dot, scale=factor), *flat(left, right), result=4)
    pairs = zip(left, right, strict=True)
    products = [rf"({tex(float(a), digits)})({tex(float(b), digits)})" for a, b in pairs]
    terms = r" \\ + ".join(" + ".join(products[at : at + ON_A_LINE]) for at in range(0, len(products), ON_A_LINE))
    inside = terms if key_width is None else rf"\tfrac{{1}}{{\sqrt{{{key_width}}}}}\bigl[{terms}\bigr]"
    return rf"\begin{{gathered}} {target} = {inside} \\ = {entry} \end{{gathered}}"


def part(code: Part, title: str) -> lesson_page.Part:
    """One part of the page."""
    dials = ("operation", "name", "first", "rows", "causal")
    return lesson_page.Part(code, title, view, "bp_dial", "first", dials, above=lambda: {"whole": code})


render(
    LessonPage(
        "backprop",
        _("Backpropagation"),
        [
            part("attention", _("Attention")),
            part("ffn", _("Feed-forward network and norm")),
            part("layer", _("Whole layer")),
        ],
        "vit-report 2.2–2.5, 4; D14, D20",
        moved={one: f"part={whole}&bp_{whole}={one}" for whole, of in OPERATIONS.items() for one in of if one != whole},
    )
)
