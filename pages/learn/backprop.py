"""Backpropagation through every part of a Transformer layer: the written gradient beside autograd's."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, cast

import streamlit as st

from core.figures.learn import backprop as figures
from core.figures.learn.diagrams.backprop import backprop_diagram
from core.figures.matrix import Matrix, largest_size, matrix_figure
from core.lecture import backprop, claims, notebooks
from core.lecture.backprop import Example, Part
from core.lecture.claims import backprop as said
from core.lecture.shown_digits import digits_needed, dot, flat
from pages.learn import diagram, frame, predict, questions
from pages.shared.language import _, number, percent, significant
from pages.shared.live_plot import static_plot

PAGE: Final = "backprop"
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
    "layer": r"\begin{gathered} X_1 = x + O,\quad N_1 = \mathrm{LayerNorm}(X_1),\quad "
    r"X_2 = N_1 + F,\quad N_2 = \mathrm{LayerNorm}(X_2) \\"
    r"\nabla N_1 = \nabla X_2 + \nabla_F(\nabla X_2),\quad \nabla x = \nabla X_1 + \nabla_O(\nabla X_1) \end{gathered}",
}
"""The forward and backward equations of each part."""

ATTENTION_PARTS: Final = ("attention", "multi_head", "layer")


def latex_name(name: str) -> str:
    """A gradient's name for LaTeX: w_q becomes W_Q, gamma the Greek letter."""
    if name.startswith("w_"):
        return f"W_{{{name[2:].upper() if name[2:].isalpha() else name[2:]}}}"
    if name.startswith("b_"):
        return f"b_{{{name[2:].upper() if name[2:].isalpha() else name[2:]}}}"
    if name.startswith(("gamma", "beta")):
        greek, _mark, index = name.partition("_")
        return rf"\{greek}" + (f"^{{({index})}}" if index else "")
    return name


@st.cache_data(show_spinner=False, max_entries=256)
def _example(part: Part, rows: int, seed: int, first: float, causal: bool) -> Example:
    return backprop.example(part, rows=rows, seed=seed, first=first, causal=causal)


def show(part: Part) -> dict[str, Any]:
    """Show one part; returns the values for the snippet."""
    dials = {
        "first": frame.slider(_("Input, top left"), -3.0, 3.0, key="bp_first", default=0.5, step=0.1),
        "seed": frame.slider(_("Other numbers"), 1, 20, key="bp_seed", default=1),
        "rows": frame.slider(_("Tokens"), 2, 6, key="bp_rows", default=4),
    }
    if part in ATTENTION_PARTS:
        dials["causal"] = frame.switch(_("Causal mask"), key="bp_causal")
    names = list(_example(part, 4, 1, 0.5, False).written)
    if len(names) > 1:
        options = {name: name for name in names}
        dials["of"] = frame.choice(_("Gradient by"), options, key=f"bp_of_{part}", widget=st.pills)
    chosen = frame.dials("bp_dial", dials)
    rows, seed, first = int(chosen["rows"]), int(chosen["seed"]), float(chosen["first"])
    example = _example(part, rows, seed, first, bool(chosen.get("causal", False)))
    name, causal = str(chosen.get("of", names[0])), bool(chosen.get("causal", False))
    predict.ask(lambda: questions.gradient(part, name, rows=rows, seed=seed, first=first, causal=causal))
    diagram.show(backprop_diagram(part, example, name, write=diagram.write), dial="bp_dial")
    written, autograd = example.written[name], example.autograd[name]
    if part == "gelu":
        x, true, report = backprop.gelu_slopes()
        static_plot(
            figures.slopes_figure(x, true, report, example.inputs["x"].ravel()), key="bp_slopes",
            alt=_("GELU's derivative, the report's form of it, and the difference."),
        )  # fmt: skip
    three = figures.compared_figures(written, autograd, name=f"∇{name}", entry=(0, 0))
    alts = (_("The gradient by the written formulas."), _("The gradient by autograd."), _("Their difference."))
    for place, column in enumerate(st.columns(3)):
        with column:
            static_plot(three[place], key=f"bp_compared_{place}", alt=alts[place])
    frame.look_for(frame.passage(PAGE, part), *claims.told(said.CLAIMS.get(part, ()), example))
    frame.equation(FORMULAS[part], _calculation(part, example, name), note=_("one entry, the outlined one: row 1, column 1"))
    if part == "softmax":
        _under_a_loss(example)
    frame.check(
        _("The formulas and autograd differ by {gap} at most over all {count} gradients of this part (float64).").format(
            gap=f"{max(example.gap(each) for each in example.written):.0e}", count=len(example.written)
        ),
        holds=all(example.gap(each) < 1e-10 for each in example.written),
    )
    if "report_gradient" in example.inner:
        gap, share = backprop.report_gap(example)
        st.caption(
            _(
                "With the report's Φ(x) + x φ(x), which belongs to the exact GELU, ∇x would be off by {gap}, {share} of its "
                "largest entry."
            ).format(gap=significant(gap, 2), share=percent(share, 2))
        )
    with st.expander(_("All inputs and intermediate values"), icon=":material/data_array:"):
        matrices = example.inputs | {"output": example.output} | example.inner
        top = largest_size(list(matrices.values()))
        columns = st.columns(3)
        for place, (key, matrix) in enumerate(matrices.items()):
            with columns[place % 3]:
                static_plot(
                    matrix_figure(
                        Matrix(values=matrix, name=key, top=top), numbers=True, height=90 + 40 * len(matrix), keep="inputs"
                    ),
                    key=f"bp_matrix_{key}",
                    alt=_("The matrix {name}.").format(name=key),
                )  # fmt: skip
    return _taken(part, example, name) | ({"CAUSAL": bool(chosen["causal"])} if part in ATTENTION_PARTS else {})


def _under_a_loss(example: Example) -> None:
    """The last softmax of a classifier, whose gradient cross-entropy makes simple: the same scores as logits."""
    weight, by = float(example.inner["A"][0, 0]), example.inner["by_logits"]
    rows, classes = by.shape
    wanted = 1 - backprop.SMOOTHING + backprop.SMOOTHING / classes
    digits = digits_needed(lambda one: (one - wanted) / rows, weight, result=4)
    tex = frame.tex
    frame.equation(
        r"\nabla z = \frac{\hat y - y}{n},\quad \hat y = \mathrm{softmax}(z)",
        rf"(\nabla z)_{{11}} = \frac{{{tex(weight, digits)} - {tex(wanted, 3)}}}{{{rows}}} = {tex(float(by[0, 0]), 4)}",
        note=_(
            "under a cross-entropy, as after a classifier's last layer: the same scores as logits of {n} samples of class 1, the "
            "label smoothed by {smoothing}"
        ).format(n=number(rows), smoothing=number(backprop.SMOOTHING, 1)),
    )


def _taken(part: Part, example: Example, name: str) -> dict[str, Any]:
    """Values for a part's notebook: its inputs, the gradient by the output, and the gradient on screen."""
    shown: dict[str, Any] = {name: example.written[name]}
    if part == "gelu":
        shown["report's form is off by"] = backprop.report_gap(example)[0]
    given = {key: value for key, value in example.inputs.items() if key != "upstream"}
    named = {"b": "B"} | {key: key.upper() for key in given}
    inputs = {"INPUTS": given} if part in ("multi_head", "ffn", "layer") else {named[key]: value for key, value in given.items()}
    return {**inputs, "UPSTREAM": example.inputs["upstream"], **notebooks.on_screen(shown, 4)}


def _calculation(part: Part, example: Example, name: str) -> str:
    """One entry of the gradient with this page's numbers, for LaTeX."""
    tex, up = frame.tex, example.inputs["upstream"]
    entry = tex(float(example.written[name][0, 0]), 4)
    target = rf"\nabla {latex_name(name)}_{{11}}" if "_" not in latex_name(name) else rf"(\nabla {latex_name(name)})_{{11}}"
    if part == "softmax":
        row = example.inner["A"][0]
        row_sum = backprop.dot(up[0], row)
        digits = max(
            digits_needed(dot, *flat(up[0], row), result=4),
            digits_needed(backprop.softmax_entry, row[0], up[0, 0], row_sum, result=4),
        )
        terms = " + ".join(rf"({tex(float(u), 2)})({tex(float(a), digits)})" for u, a in zip(up[0], row, strict=True))
        return (
            rf"\begin{{gathered}} \textstyle\sum_k = {terms} = {tex(row_sum, digits)} \\"
            rf"{target} = {tex(float(row[0]), digits)}\,({tex(float(up[0, 0]), 2)} - ({tex(row_sum, digits)})) = {entry}"
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
    return rf"{target} = {entry}"


def _product(target: str, left: Any, right: Any, entry: str, *, key_width: int | None = None) -> str:
    """A sum of products with all its terms, in as many decimals as reproduce the entry."""
    factor = 1.0 if key_width is None else key_width**-0.5
    digits = digits_needed(partial(dot, scale=factor), *flat(left, right), result=4)
    pairs = zip(left, right, strict=True)
    terms = " + ".join(rf"({frame.tex(float(a), digits)})({frame.tex(float(b), digits)})" for a, b in pairs)
    inside = terms if key_width is None else rf"\tfrac{{1}}{{\sqrt{{{key_width}}}}}\left[{terms}\right]"
    return rf"\begin{{gathered}} {target} = {inside} \\ = {entry} \end{{gathered}}"


part = cast(
    Part,
    frame.open_page(
        PAGE,
        _("Backpropagation"),
        parts={
            "softmax": "Softmax",
            "linear": _("Linear"),
            "layer_norm": "LayerNorm",
            "gelu": "GELU",
            "attention": _("Attention"),
            "multi_head": _("Heads"),
            "ffn": "FFN",
            "layer": _("Whole layer"),
        },
    ),
)
diagram.slot()
values = show(part)
frame.close_page(
    PAGE,
    sources=_("vit-report sections 2.2 to 2.5 and 4 (listings 4 and 5); D14, D20"),
    values=values,
)
