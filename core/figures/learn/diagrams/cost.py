"""Diagram of a layer with what each step costs (iiga-equations 14.1 and 14.2)."""

from __future__ import annotations

from collections.abc import Callable

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire
from core.lecture.cost_growth import Layer
from core.messages import translate as _


def cost_diagram(layer: Layer, *, amount: Callable[[float], str], size: Callable[[float], str]) -> Diagram:
    """Multiply-adds of each step of one layer, and the memory of its maps.

    Args:
        amount: writes a count, size: bytes.
    """
    t, d, n = layer.tokens, layer.width, layer.heads
    half = layer.scores // 2
    return Diagram(
        title=_("Block diagram of what a layer costs"),
        blocks=(
            Block(code="x", label="X", at=(0, 0), note=f"{t}×{d}", part="modules", dials=("t", "d", "setup"), kind="data"),
            Block(code="qkv", label="Q, K, V, O", at=(1, 0), note="4TD²", part="growth", dials=("d", "t")),
            Block(code="scores", label="QKᵀ", at=(2, 0), note="T²D", part="growth", dials=("t", "d")),
            Block(code="maps", label=_("maps A"), at=(3, 0), note=f"{n}×{t}×{t}", part="memory", dials=("n", "t"), kind="data"),
            Block(code="mix", label="AV", at=(4, 0), note="T²D", part="growth", dials=("t", "d")),
            Block(code="ffn", label="FFN", at=(5, 0), note="8TD²", part="memory", dials=("d", "t")),
            Block(
                code="all", label=_("all layers"), at=(6, 0), note=_("all models"), part="models", dials=("setup",), kind="data"
            ),
            Block(
                code="said",
                label=_("documents"),
                at=(6, 1),
                note=_("say"),
                part="claims",
                dials=("frames", "batch"),
                kind="data",
            ),
        ),
        wires=(
            Wire(source="x", target="qkv", label=amount(layer.projections)),
            Wire(source="qkv", target="scores", label=amount(half)),
            Wire(source="scores", target="maps", label=size(layer.maps)),
            Wire(source="maps", target="mix", label=amount(layer.scores - half)),
            Wire(source="mix", target="ffn", label=amount(layer.feed_forward)),
            Wire(source="ffn", target="all", label=amount(layer.macs)),
            Wire(source="all", target="said"),
        ),
    )
