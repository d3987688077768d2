"""Diagram of a layer with its chain forward and backward (vit-report 2.5 and 4; D14)."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write
from core.lecture.backprop import Example
from core.messages import translate as _

FIRST_INPUT: Final = {"softmax": "S", "attention": "Q", "layer": "x"}


def backprop_diagram(part: str, example: Example, name: str, *, write: Write) -> Diagram:
    """The chain; the part on display has its numbers, the entry in row 1 and column 1 of each.

    Args:
        name: of the gradient on display.
    """
    value = next(iter(example.inputs.values()))
    forward = {part: (write(float(value[0, 0])), write(float(example.output[0, 0])))}
    back = {part: (f"∇{plain(name)} {write(float(example.written[name][0, 0]))}", write(float(example.inputs["upstream"][0, 0])))}
    chain = (
        ("x", "x", (0, 0), "layer", "data"),
        ("multi_head", _("Heads"), (1, 0), "multi_head", "step"),
        ("attention", "AV", (2, 0), "attention", "step"),
        ("softmax", _("softmax"), (2, 1), "softmax", "step"),
        ("norm", "LayerNorm", (3, 0), "layer_norm", "step"),
        ("ffn", "FFN", (4, 0), "ffn", "step"),
        ("linear", "xW + b", (4, 1), "linear", "step"),
        ("gelu", "GELU", (5, 1), "gelu", "step"),
        ("loss", "ℒ", (5, 0), "layer", "data"),
    )
    blocks = tuple(
        Block(
            code=code,
            label=label,
            at=at,
            part=opened,
            dials=("first", "seed", "rows", "of") if opened == part else (),
            kind="data" if kind == "data" else "step",
        )
        for code, label, at, opened, kind in chain
    )
    row = ("x", "multi_head", "attention", "norm", "ffn", "loss")
    opened = {code: of for code, _label, _at, of, _kind in chain}
    wires: list[Wire] = []
    for a, b in pairwise(row):
        ahead = forward.get(opened[b], ("", ""))[0] if b != "loss" else ""
        ahead = ahead or (
            forward.get(opened[a], ("", ""))[1] if a != "x" else forward.get("layer", ("", ""))[0] if a == "x" else ""
        )
        behind = back.get(opened[b], ("", ""))[0] if b != "loss" else back.get("layer", ("", ""))[1]
        behind = behind or (back.get(opened[a], ("", ""))[1] if a != "x" else back.get("layer", ("", ""))[0])
        wires += [Wire(source=a, target=b, label=ahead), Wire(source=b, target=a, label=behind, way="back")]
    wires += [
        Wire(
            source="softmax",
            target="attention",
            label=forward.get("softmax", ("", ""))[1] and f"A_{{11}} = {forward['softmax'][1]}",
        ),
        Wire(source="linear", target="ffn", label=forward.get("linear", ("", ""))[1]),
        Wire(source="linear", target="gelu", label=forward.get("gelu", ("", ""))[0]),
        Wire(source="gelu", target="linear", label=back.get("gelu", ("", ""))[0], way="back"),
    ]
    return Diagram(title=_("Block diagram of a layer, forward and backward"), blocks=blocks, wires=tuple(wires))


def plain(name: str) -> str:
    """A gradient's name for a wire: w_q becomes W_q, gamma the Greek letter."""
    greek = {"gamma": "γ", "beta": "β"}
    first, mark, index = name.partition("_")
    return greek.get(first, first.upper() if len(first) == 1 and first != "x" and first != "b" else first) + mark + index
