"""Diagram of an encoder layer, post-norm: where softmax, dropout, the norm and the activation stand (vit-report 2.5)."""

from __future__ import annotations

from collections.abc import Mapping

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire
from core.messages import translate as _


def norms_diagram(numbers: Mapping[str, tuple[str, str]], names: Mapping[str, str]) -> Diagram:
    """One layer.

    Args:
        numbers: for the parts whose numbers are known, what goes into the part's block and what comes out, written.
        names: of the norm, the activation and the dropout rate on display, by part.
    """

    def into(part: str) -> str:
        return numbers.get(part, ("", ""))[0]

    def out_of(part: str) -> str:
        return numbers.get(part, ("", ""))[1]

    norm, activation, rate = names.get("norms", "LayerNorm"), names.get("activations", "GELU"), names.get("dropout", "")
    return Diagram(
        title=_("Block diagram of an encoder layer"),
        blocks=(
            Block(code="x", label="x", at=(0, 0), part="norms", dials=("level", "sample", "time", "channel"), kind="data"),
            Block(code="softmax", label=_("softmax"), at=(1, 0), note="Σ = 1", part="softmax", dials=("shift",)),
            Block(code="dropout", label="dropout", at=(2, 0), note=rate, part="dropout", dials=("rate", "draw")),
            Block(code="add", label="+", at=(3, 0), part="depth", dials=("layers", "seed"), kind="sum"),
            Block(code="norm", label=norm, at=(4, 0), note="μ, σ²", part="norms", dials=("norm",)),
            Block(code="act", label=activation, at=(5, 0), note="FFN", part="activations", dials=("at", "name")),
            Block(code="out", label=_("+, LayerNorm"), at=(6, 0), note=_("next layer"), part="depth", dials=("layers", "seed")),
        ),
        wires=(
            Wire(source="x", target="softmax", label=into("softmax")),
            Wire(source="softmax", target="dropout", label=out_of("softmax") or into("dropout")),
            Wire(source="dropout", target="add", label=out_of("dropout")),
            Wire(source="add", target="norm", label=into("norms")),
            Wire(source="norm", target="act", label=out_of("norms") or into("activations")),
            Wire(source="act", target="out", label=out_of("activations") or into("depth")),
            Wire(source="x", target="add", label=_("x, unchanged"), way="over"),
            Wire(source="norm", target="out", label=out_of("depth"), way="over"),
        ),
    )
