"""Diagram of positional encoding: a position's angles, their sines and cosines, added to the content (vit-report 2.1)."""

from __future__ import annotations

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write
from core.lecture.positions import EncodingEntry
from core.messages import translate as _


def positions_diagram(
    entry: EncodingEntry | None,
    *,
    pos: int,
    pair: int,
    size: tuple[int, int],
    scale: float,
    shift: int,
    other: int,
    product: float,
    write: Write,
) -> Diagram:
    """From a position to X + s PE.

    Args:
        entry: the chosen pair's numbers; None for positions that were learned.
        size: positions and channels. shift: k of the rotation.
        other, product: the position that this one is compared with, and the dot product of both.
    """
    shown = "×".join(map(str, size))
    first = (
        (
            Block(code="pos", label="pos", at=(0, 1), note=str(pos), part="matrix", dials=("pos", "n"), kind="data"),
            Block(
                code="omega",
                label="ω_i = base^{−2i/D}" if entry is None else "ω_i",
                at=(1, 1),
                note="" if entry is None else write(entry.frequency),
                part="exponent",
                dials=("base", "d", "i"),
            ),
            Block(code="waves", label="sin, cos", at=(2, 1), note=f"i = {pair}", part="waves", dials=("i",)),
        )
        if entry is not None
        else (
            Block(code="pos", label="pos", at=(0, 1), note=str(pos), part="matrix", dials=("pos",), kind="data"),
            Block(code="waves", label=_("learned"), at=(2, 1), note=shown, part="waves", dials=("i",)),
        )
    )
    start = (
        (
            Wire(source="pos", target="omega", label=str(pos)),
            Wire(source="omega", target="waves", label=f"pos·ω_i = {write(entry.angle)}"),
            Wire(source="waves", target="pe", label=f"{write(entry.sine)}\u00a0\u00a0{write(entry.cosine)}"),
        )
        if entry is not None
        else (Wire(source="pos", target="waves", label=str(pos)), Wire(source="waves", target="pe", label=shown))
    )
    return Diagram(
        title=_("Block diagram of positions added to embeddings"),
        blocks=(
            *first,
            Block(code="pe", label="PE", at=(3, 1), note=shown, part="matrix", dials=("n", "d", "base", "pos"), kind="data"),
            Block(code="scale", label="s · PE", at=(4, 1), note=f"s = {write(scale)}", part="scale", dials=("s",)),
            Block(code="x", label="X", at=(4, 0), note=_("content"), part="without", dials=("of",), kind="data"),
            Block(code="sum", label="+", at=(5, 0.5), part="scale", dials=("positions",), kind="sum"),
            Block(
                code="out", label="X + s PE", at=(6, 0.5), note=_("to attention"), part="without", dials=("s", "of"), kind="data"
            ),
            Block(
                code="dot",
                label=f"PE_{{{pos}}} · PE_{{{other}}}",
                at=(4, 2),
                note=write(product),
                part="similarity",
                dials=("pos",),
            ),
            Block(code="turn", label="M_k PE_{pos}", at=(5, 2), note=f"k = {shift}", part="rotation", dials=("k", "i")),
        ),
        wires=(
            *start,
            Wire(source="pe", target="scale"),
            Wire(source="scale", target="sum"),
            Wire(source="x", target="sum"),
            Wire(source="sum", target="out"),
            Wire(source="pe", target="dot"),
            Wire(source="dot", target="turn"),
        ),
    )
