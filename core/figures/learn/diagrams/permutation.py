"""Diagram of permutation: shuffle before attention, or after it (attention-notebook, self-attention under permutation; D21)."""

from __future__ import annotations

from collections.abc import Sequence

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write, few, shape
from core.lecture.permutation import Shuffle, pooled
from core.messages import translate as _


def permutation_diagram(shuffle: Shuffle, order: Sequence[int], *, heads: int, write: Write, size: Write) -> Diagram:
    """Both ways from X, compared row by row and after pooling.

    Args:
        order: from 0 on. size: writes the deviations.
    """
    word = ",".join(str(index + 1) for index in order)
    layer = ("places", "causal", "heads", "draw")
    attention = _("Attention")
    return Diagram(
        title=_("Block diagram of a permutation before and after attention"),
        blocks=(
            Block(
                code="x", label="X", at=(0, 0.5), note=shape(shuffle.before.x), part="rows", dials=("said", "draw"), kind="data"
            ),
            Block(code="p", label="P", at=(1, 0), note=word, part="rows", dials=("order",)),
            Block(
                code="after", label=attention, at=(2, 0), note=f"A' {shape(shuffle.after.weights[0])}", part="maps", dials=layer
            ),
            Block(
                code="before", label=attention, at=(1, 1), note=f"A {shape(shuffle.before.weights[0])}", part="maps", dials=layer
            ),
            Block(code="pz", label="P", at=(2, 1), note=word, part="rows", dials=("order",)),
            Block(code="same", label="Z' = PZ?", at=(3, 0.5), note=size(shuffle.rows), part="table", dials=("places", "causal")),
            Block(code="mean", label=_("mean"), at=(4, 0), note=few(pooled(shuffle.after.joined), write), part="pool"),
            Block(code="pool", label=_("mean"), at=(4, 1), note=few(pooled(shuffle.before.joined), write), part="pool"),
            Block(code="equal", label="Z̄' = Z̄?", at=(5, 0.5), note=size(shuffle.pool), part="pool", dials=("places", "causal")),
        ),
        wires=(
            Wire(source="x", target="p", label=few(shuffle.before.x[0], write)),
            Wire(source="x", target="before", label=few(shuffle.before.x[0], write)),
            Wire(source="p", target="after", label="PX"),
            Wire(source="before", target="pz", label=few(shuffle.before.joined[0], write)),
            Wire(source="after", target="same", label="Z'"),
            Wire(source="pz", target="same", label="PZ"),
            Wire(source="same", target="mean", label=few(shuffle.after.joined[0], write)),
            Wire(source="same", target="pool", label=few(shuffle.moved[0], write)),
            Wire(source="mean", target="equal"),
            Wire(source="pool", target="equal"),
        ),
    )
