"""Figures of the lesson on backpropagation: GELU's derivatives, and a layer's chain forward and backward.

Sources: vit-report 2.5 and 4; D14.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write
from core.figures.style import BLUE, GREY, ORANGE
from core.figures.traces import chart, line, marks
from core.lecture.backprop import Example
from core.messages import translate as _

PART_OF: Final = {"softmax": "attention", "multi_head": "attention", "linear": "ffn", "gelu": "ffn", "layer_norm": "ffn"}
"""The lesson's part that has an operation, where they differ."""


def slopes_figure(
    x: NDArray[np.floating], true: NDArray[np.floating], report: NDArray[np.floating], points: NDArray[np.floating]
) -> go.Figure:
    """Both derivatives of GELU and, below on a scale of its own, their difference; the page's inputs are marked.

    Args:
        x: (n,). true: (n,) derivative of the tanh form. report: (n,) the vit-report's. points: (k,) the page's inputs.
    """
    traces = [
        line(x, true, _("derivative of the tanh form"), BLUE, width=3, hover="%{x:.2f}: %{y:.5f}<extra></extra>"),
        line(x, report, _("the report's Φ(x) + x φ(x)"), ORANGE, width=1.5, dash="dash",
             hover="%{x:.2f}: %{y:.5f}<extra></extra>"),
        line(x, report - true, _("difference"), GREY, width=2, hover="%{x:.2f}: %{y:.2~e}<extra></extra>", yaxis="y2"),
        marks(points, np.zeros(len(points)), _("inputs on this page"), BLUE, symbol="line-ns-open", size=10,
              hover="%{x:.2f}<extra></extra>", yaxis="y2"),
    ]  # fmt: skip
    return chart(
        traces,
        keep="slopes",
        height=420,
        xaxis={"title": {"text": "x"}, "anchor": "y2"},
        yaxis={"title": {"text": _("Derivative")}, "domain": [0.45, 1]},
        yaxis2={"title": {"text": _("Difference")}, "domain": [0, 0.36], "exponentformat": "power", "zeroline": True},
    )


def backprop_diagram(part: str, example: Example, name: str, *, write: Write) -> Diagram:
    """The chain; the part on display has its numbers, the entry in row 1 and column 1 of each.

    Args:
        name: of the gradient on display.
    """
    value = next(iter(example.inputs.values()))
    ahead, behind = (defaultdict[str, tuple[str, str]](lambda: ("", "")) for _way in range(2))
    ahead[part] = (write(float(value[0, 0])), write(float(example.output[0, 0])))
    gradient, upstream = (write(float(one[0, 0])) for one in (example.written[name], example.inputs["upstream"]))
    behind[part] = (f"∇{plain(name)} {gradient}", upstream)
    chain = (
        ("x", "x", (0, 0), "layer"),
        ("multi_head", _("Heads"), (1, 0), "multi_head"),
        ("attention", "AV", (2, 0), "attention"),
        ("softmax", _("softmax"), (2, 1), "softmax"),
        ("norm", "LayerNorm", (3, 0), "layer_norm"),
        ("ffn", "FFN", (4, 0), "ffn"),
        ("linear", "xW + b", (4, 1), "linear"),
        ("gelu", "GELU", (5, 1), "gelu"),
        ("last", "LayerNorm", (5, 0), ""),
        ("loss", "ℒ", (6, 0), "layer"),
    )
    blocks = tuple(
        Block(code, label, at, part=PART_OF.get(of, of), kind="data" if code in ("x", "loss") else "step")
        for code, label, at, of in chain
    )
    opened = {code: of for code, _label, _at, of in chain}
    wires: list[Wire] = []
    for a, b in pairwise(("x", "multi_head", "attention", "norm", "ffn", "last", "loss")):
        side = 0 if a == "x" else 1  # of what goes into the whole layer, or comes out of a part
        into, by = ("", behind["layer"][1]) if b == "loss" else (ahead[opened[b]][0], behind[opened[b]][0])
        wires += [Wire(a, b, into or ahead[opened[a]][side]), Wire(b, a, by or behind[opened[a]][side], "back")]
    share = ahead["softmax"][1]
    wires += [
        Wire("x", "norm", _("x, unchanged"), "over"),
        Wire("norm", "last", _("N_1, unchanged"), "over"),
        Wire("softmax", "attention", share and f"A_{{11}} = {share}"),
        Wire("linear", "ffn", ahead["linear"][1]),
        Wire("linear", "gelu", ahead["gelu"][0]),
        Wire("gelu", "linear", behind["gelu"][0], "back"),
    ]
    return Diagram(title=_("Block diagram of a layer, forward and backward"), blocks=blocks, wires=tuple(wires))


def plain(name: str) -> str:
    """A gradient's name for a wire: w_q becomes W_q, gamma the Greek letter."""
    greek = {"gamma": "γ", "beta": "β"}
    first, mark, index = name.partition("_")
    return greek.get(first, first.upper() if len(first) == 1 and first != "x" and first != "b" else first) + mark + index
