"""The block diagram of attention: X to Q, K and V, scores, weights, Z (iiga-equations 5.1 to 5.7, sequence-modelling)."""

from __future__ import annotations

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write, few, shape
from core.lecture.attention_steps import Steps
from core.messages import translate as _


def attention_diagram(steps: Steps, *, head: int, query: int, key: int, write: Write) -> Diagram:
    """One head's way from tokens to outputs.

    Args:
        head, query, key: whose numbers stand on the wires, from 0 on.
    """
    i, j = query + 1, key + 1
    q, k, v = (few(one[head, row], write) for one, row in ((steps.q, query), (steps.k, key), (steps.v, key)))
    return Diagram(
        title=_("Block diagram of attention"),
        blocks=(
            Block(code="x", label="X", at=(0, 1), note=shape(steps.x), part="project", dials=("words", "seed"), kind="data"),
            Block(code="q", label="Q = XW_Q", at=(1, 0), note=shape(steps.q[head]), part="project", dials=("seed", "q")),
            Block(code="k", label="K = XW_K", at=(1, 1), note=shape(steps.k[head]), part="project", dials=("seed",)),
            Block(code="v", label="V = XW_V", at=(1, 2), note=shape(steps.v[head]), part="project", dials=("seed",)),
            Block(
                code="scores",
                label="QKᵀ/(τ√d_k)",
                at=(2, 0.5),
                note=f"{shape(steps.scaled[head])}, τ = {write(steps.temperature)}",
                part="scores",
                dials=("t", "mask", "w", "kept"),
            ),
            Block(
                code="weights", label="A = softmax", at=(3, 0.5), note=shape(steps.weights[head]), part="softmax", dials=("t",)
            ),
            Block(code="z", label="Z = AV", at=(4, 1), note=shape(steps.mixed[head]), part="sum", dials=("q",)),
            Block(
                code="out",
                label="O = ZW_O",
                at=(5, 1),
                note=shape(steps.output),
                part="heads",
                dials=("heads", "head"),
            ),
        ),
        wires=(
            Wire(source="x", target="q", label=few(steps.x[query], write)),
            Wire(source="x", target="k", label=few(steps.x[key], write)),
            Wire(source="x", target="v"),
            Wire(source="q", target="scores", label=q),
            Wire(source="k", target="scores", label=k),
            Wire(
                source="scores", target="weights", label=f"S_{{{i},{j}}} = {few([float(steps.masked[head, query, key])], write)}"
            ),
            Wire(source="weights", target="z", label=f"A_{{{i},{j}}} = {write(float(steps.weights[head, query, key]))}"),
            Wire(source="v", target="z", label=v),
            Wire(source="z", target="out", label=few(steps.mixed[head, query], write)),
        ),
    )
