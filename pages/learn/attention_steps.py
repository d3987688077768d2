"""Attention step by step: words to Q, K, V, to scores, to weights, to a mixture, to heads side by side, all with numbers."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.figures.learn.attention_steps import row_bars
from core.figures.learn.matrix import matrix_figure
from core.lecture import attention_steps
from core.lecture.attention_steps import Steps
from core.lecture.shown_digits import digits_needed, dot, flat
from core.lecture.tokens import MOST, TokenError
from pages.learn import attention_dials, frame
from pages.learn.attention_dials import AttentionChoices
from pages.learn.frame import tex
from pages.shared import controls
from pages.shared.language import _, number, significant
from pages.shared.live_plot import Point, live_plot, static_plot
from pages.shared.stat_strip import Stat, stat_strip

PAGE = "attention_steps"


def plain(
    values: Any,
    asked: AttentionChoices,
    name: str,
    key: str,
    *,
    keys: bool = False,
    signed: bool = True,
    framed: bool = True,
    rows: Any = None,
) -> None:
    """One matrix with its numbers; resting on a row, or clicking it, reads that query.

    Args:
        keys: columns are tokens, else channels. framed: outline the query's row.
    """
    down = asked.names if rows is None else rows
    across = asked.names if keys else [str(index + 1) for index in range(values.shape[1])]
    figure = matrix_figure(
        values,
        rows=down,
        columns=across,
        name=name,
        x_title=_("Key") if keys else _("Channel"),
        y_title=_("Query") if keys else _("Token"),
        signed=signed,
        top=None if signed else 1.0,
        row=asked.query if framed else None,
        write=attention_dials.write,
    )

    def read(point: Point) -> None:
        if point.y is not None and framed:
            attention_dials.read_query(int(float(point.y)))

    alt = _("{what}, a matrix with a row a token.").format(what=name)
    live_plot(figure, key=key, height=int(figure.layout.height), alt=alt, on_hover=read if framed else None)


def project(asked: AttentionChoices, found: Steps) -> None:
    """X, the three matrices, and what comes of them."""
    i = asked.query
    frame.equation(
        r"Q = XW_Q, \qquad K = XW_K, \qquad V = XW_V",
        rf"\begin{{aligned}} x_{{{i + 1}}} &= {frame.tex_row(asked.x[i])} \\ q_{{{i + 1}}} = x_{{{i + 1}}} W_Q &= "
        rf"{frame.tex_row(attention_steps.concatenate_heads(found.q)[i])} \end{{aligned}}",
        words=_("Query {number}: {word}.").format(number=i + 1, word=asked.names[i]),
    )
    joined = [attention_steps.concatenate_heads(one) for one in (found.q, found.k, found.v)]
    for column, name, values in zip(st.columns(4), ("X", "Q", "K", "V"), (asked.x, *joined), strict=True):
        with column:
            plain(values, asked, name, f"steps_{name}")


def scores(asked: AttentionChoices, found: Steps) -> None:
    """Q K^T and its scale."""
    i, head = asked.query, asked.head
    j = asked.strongest(found)
    raw = found.raw[head, i, j]
    digits = max(
        digits_needed(dot, *flat(found.q[head, i], found.k[head, j])),
        digits_needed(attention_steps.scaled_score, raw, asked.temperature, found.key_width),
    )
    pairs = " + ".join(rf"({tex(a, digits)})({tex(b, digits)})" for a, b in zip(found.q[head, i], found.k[head, j], strict=True))
    frame.equation(
        r"S = \frac{QK^\top}{\tau\sqrt{d_k}}, \qquad S_{ij} = \frac{q_i \cdot k_j}{\tau\sqrt{d_k}}",
        rf"\begin{{aligned}} q_{{{i + 1}}} \cdot k_{{{j + 1}}} &= {pairs} = {tex(raw, digits)} \\ "
        rf"S_{{{i + 1},{j + 1}}} &= \frac{{{tex(raw, digits)}}}{{{tex(asked.temperature, 2)} \cdot "
        rf"\sqrt{{{found.key_width}}}}} = {tex(found.scaled[head, i, j])} \end{{aligned}}",
        words=_("Query {query} and the key it looks at most, {key}.").format(query=asked.names[i], key=asked.names[j]),
    )
    for column, (name, key, values) in zip(
        st.columns(3),
        (
            (_("QKᵀ"), "raw", found.raw[head]),
            (_("QKᵀ / (τ √d_k)"), "scaled", found.scaled[head]),
            (_("masked"), "masked", found.masked[head]),
        ),
        strict=True,
    ):
        with column:
            plain(values, asked, name, f"steps_{key}", keys=True)


def softmax(asked: AttentionChoices, found: Steps) -> None:
    """The weights of all queries, of one query, and how spread they are."""
    i, head = asked.query, asked.head
    row, weights = found.masked[head, i], found.weights[head, i]
    frame.equation(
        r"A_{ij} = \frac{e^{S_{ij}}}{\sum_{j'} e^{S_{ij'}}}, \qquad H_i = -\sum_j A_{ij} \ln A_{ij}",
        rf"\begin{{aligned}} S_{{{i + 1}}} &= {frame.tex_row(row, 4)} \\ A_{{{i + 1}}} &= {frame.tex_row(weights, 4)} \\ "
        rf"H_{{{i + 1}}} &= {tex(found.entropy[head, i])} \end{{aligned}}",
        words=_("In nats; looking at all {count} keys alike would be {entropy}.").format(
            count=asked.count, entropy=number(asked.even_entropy, 3)
        ),
    )
    left, right = st.columns(2)
    with left:
        plain(found.weights[head], asked, _("A, the attention weights"), "steps_weights", keys=True, signed=False)
    with right:
        static_plot(
            row_bars(weights, asked.names, y_title=_("Weight"), even=1 / asked.count),
            key="steps_row",
            alt=_("Weights of the chosen query, a bar a key."),
        )
        static_plot(
            row_bars(found.entropy[head], asked.names, y_title=_("Entropy, nats"), even=asked.even_entropy, mark=i),
            key="steps_entropy",
            alt=_("Entropy of each query's weights; the chosen query is orange."),
        )


def weighted(asked: AttentionChoices, found: Steps) -> None:
    """One query's output as a sum over the value rows."""
    i, head = asked.query, asked.head
    terms = [rf"{tex(weight, 2)}\,v_{{{j + 1}}}" for j, weight in enumerate(found.weights[head, i]) if found.mask[i, j]]
    frame.equation(
        r"Z = AV, \qquad z_i = \sum_j A_{ij} v_j",
        rf"\begin{{aligned}} z_{{{i + 1}}} &= {' + '.join(terms) or '0'} \\ "
        rf"&= {frame.tex_row(found.mixed[head, i])} \end{{aligned}}",
    )
    first, second, third = st.columns([2, 2, 2])
    with first:
        static_plot(
            row_bars(found.weights[head, i], asked.names, y_title=_("Weight"), even=1 / asked.count),
            key="steps_sum_row",
            alt=_("Weights of the chosen query, a bar a key."),
        )
    with second:
        plain(found.parts(head, i), asked, _("A_ij v_j of this query"), "steps_parts", framed=False)
    with third:
        plain(found.mixed[head], asked, _("Z, a row a query"), "steps_mixed")


def heads(asked: AttentionChoices, found: Steps) -> None:
    """Each head's map, their outputs side by side, and W_O; PyTorch's layer as witness."""
    i, count = asked.query, len(found.q)
    frame.equation(
        r"\mathrm{MultiHead} = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O",
        rf"\begin{{aligned}} \mathrm{{Concat}}_{{{i + 1}}} &= {frame.tex_row(found.joined[i])} \\ "
        rf"\mathrm{{out}}_{{{i + 1}}} &= {frame.tex_row(found.output[i])} \end{{aligned}}",
        words=_("{heads} × d_k = {heads} × {width} = {total} columns.").format(
            heads=count, width=found.key_width, total=found.joined.shape[1]
        ),
    )
    for head, column in enumerate(st.columns(max(count, 2))[:count]):
        with column:
            name = _("A of head {number}").format(number=head + 1)
            plain(found.weights[head], asked, name, f"steps_head_{head}", keys=True, signed=False)
    left, right = st.columns(2)
    with left:
        plain(found.joined, asked, _("Concat: the heads side by side"), "steps_joined")
    with right:
        plain(found.output, asked, _("Output: Concat W_O"), "steps_output")
    off = attention_steps.deviation_from_torch(found, asked.weights)
    frame.check(
        _("Largest difference from torch.nn.MultiheadAttention with these weights: {value}.").format(value=f"{off:.1e}"),
        holds=off < 1e-9,
    )


part = frame.open_page(
    PAGE,
    _("Attention step by step"),
    parts={
        "project": _("1 · Q, K, V"),
        "scores": _("2 · Scores"),
        "softmax": _("3 · Softmax"),
        "sum": _("4 · Weighted sum"),
        "heads": _("5 · Heads"),
    },
)


@st.fragment
def body(which: str) -> None:
    """Everything that changes with a dial or a row that is rested on; runs by itself."""
    try:
        asked = attention_dials.ask(which)
    except TokenError:
        controls.error_box(_("Write 1 to {most} words, with blanks between.").format(most=MOST))
        return
    if which == "project":
        attention_dials.editors(asked)
        asked = attention_dials.with_edits(asked)
    found = attention_steps.steps(asked.x, asked.weights, heads=asked.heads, mask=asked.mask, temperature=asked.temperature)
    {"project": project, "scores": scores, "softmax": softmax, "sum": weighted, "heads": heads}[which](asked, found)
    if which != "project":
        _summary(asked, found)
    frame.look_for(frame.passage(PAGE, which))
    frame.close_page(
        PAGE,
        sources=_(
            "iiga-equations 5.1 to 5.7, vit-report 2.2 and 4, sequence-modelling (dot-product and multi-head attention), "
            "attention-notebook (self-attention); masks by D20. The temperature is ours: the documents have 1."
        ),
        values=asked.snippet(),
    )


def _summary(asked: AttentionChoices, found: Steps) -> None:
    head = asked.head
    stat_strip(
        [
            Stat(name=_("Query"), value=asked.names[asked.query]),
            Stat(name=_("Looks most at"), value=asked.names[asked.strongest(found)]),
            Stat(name=_("Entropy"), value=_("{value} nats").format(value=significant(found.entropy[head, asked.query]))),
            Stat(name=_("Head"), value=f"{head + 1} / {asked.heads}"),
        ]
    )


body(part)
