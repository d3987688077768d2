"""Diagram of the encoder and the decoder (vit-report 2.5, 2.6 and 2.9; sequence-modelling, the figure of "Transformer")."""

from __future__ import annotations

from collections.abc import Sequence

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write
from core.messages import translate as _
from core.models.transformer import TransformerConfig


def transformer_diagram(
    config: TransformerConfig,
    *,
    text: str,
    characters: Sequence[str],
    probabilities: Sequence[float],
    step: int,
    looked: float,
    parameters: str,
    write: Write,
) -> Diagram:
    """One text on its way to the next symbol.

    Args:
        characters: the answer's symbols, with their probabilities. step: the one decoded, from 0 on.
        looked: the largest cross-attention weight of this step. parameters: how many, written.
    """
    d, s = config.width, len(text)
    so_far = "▷" + "".join(characters[:step])
    layers = f"{config.layers} ×"
    return Diagram(
        title=_("Block diagram of the encoder and the decoder"),
        blocks=(
            Block(code="text", label=_("text"), at=(0, 0), note=clipped(text), part="nonsense", kind="data"),
            Block(code="embed", label=_("embed + PE"), at=(1, 0), note=f"{s}×{d}", part="layer"),
            Block(
                code="encoder",
                label=_("{count} encoder").format(count=layers),
                at=(2, 0),
                note=_("{count} heads").format(count=config.heads),
                part="layer",
                dials=("side", "position"),
            ),
            Block(code="h", label="H", at=(3, 0), note=f"{s}×{d}", part="layer", dials=("position",), kind="data"),
            Block(
                code="answer", label=_("so far"), at=(0, 1), note=clipped(so_far), part="decode", dials=("symbol",), kind="data"
            ),
            Block(code="embed2", label=_("embed + PE"), at=(1, 1), note=f"{step + 1}×{d}", part="layer", dials=("symbol",)),
            Block(
                code="causal",
                label=_("{count} causal").format(count=layers),
                at=(2, 1),
                note=f"{step + 1}×{step + 1}",
                part="decode",
                dials=("layer", "head", "symbol"),
            ),
            Block(
                code="cross",
                label=_("cross + FFN"),
                at=(3, 1),
                note=f"{step + 1}×{s}",
                part="decode",
                dials=("layer", "head", "symbol"),
            ),
            Block(
                code="out",
                label=_("softmax"),
                at=(4, 1),
                note=_("{count} symbols").format(count=config.vocabulary),
                part="decode",
                dials=("symbol",),
            ),
            Block(code="weights", label=_("training"), at=(4, 0), note=parameters, part="card", kind="data"),
            Block(
                code="next",
                label=f"“{characters[step]}”",
                at=(5, 1),
                note=write(probabilities[step]),
                part="beam",
                dials=("symbol", "width"),
                kind="data",
            ),
        ),
        wires=(
            Wire(source="text", target="embed", label=str(s)),
            Wire(source="embed", target="encoder"),
            Wire(source="encoder", target="h", label=f"{s}×{d}"),
            Wire(source="h", target="cross", label="K, V"),
            Wire(source="answer", target="embed2", label=str(step + 1)),
            Wire(source="embed2", target="causal"),
            Wire(source="causal", target="cross", label="Q"),
            Wire(source="cross", target="out", label=_("most {weight}").format(weight=write(looked))),
            Wire(source="out", target="next", label=f"P(y) = {write(probabilities[step])}"),
            Wire(source="weights", target="out"),
            Wire(source="next", target="answer", label=_("joins the answer"), way="under"),
        ),
    )


def clipped(text: str, most: int = 11) -> str:
    """A text short enough for a block; its end counts."""
    return text if len(text) <= most else "…" + text[1 - most :]
