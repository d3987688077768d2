"""Cost of a model, from its configuration alone: parameters, multiply-adds and attention weights, module by module.

Closed formulas, for one sample (a window, an image, a clip, a date). `core.lecture.cost_count` counts the built model beside
them. A MAC is one multiplication and one addition of a matrix product or a convolution; PyTorch's counter calls it two FLOPs.
Sources: iiga-equations section 14, tlob-architecture sections 6.1 to 6.3 (D4, D7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from core.models.config import AttentionConfig
from core.models.iiga import IIGAConfig
from core.models.mobilenet import BLOCKS, STEM_CHANNELS, divisible
from core.models.tlob import TLOBConfig
from core.models.transformer import DATE_SYMBOLS, TransformerConfig
from core.models.vit import ViTConfig

Kind = Literal["convolution", "embedding", "positions", "norm", "attention", "feed_forward", "head"]
KINDS: Final[tuple[Kind, ...]] = ("convolution", "embedding", "positions", "norm", "attention", "feed_forward", "head")
BYTES: Final = 4
"""Of a float32."""


@dataclass(frozen=True, kw_only=True)
class CostPart:
    """One module's cost for one sample.

    Attributes:
        module: its name in the built model, or that of a parameter which the model itself holds.
        parameters: numbers that training changes. macs: multiply-adds of one forward pass.
        maps: attention weights, numbers. widest: numbers in the largest tensor it makes besides them.
    """

    module: str
    kind: Kind
    parameters: int
    macs: int = 0
    maps: int = 0
    widest: int = 0


def linear_parameters(inputs: int, outputs: int) -> int:
    """in * out + out: weight and bias."""
    return inputs * outputs + outputs


def attention_parameters(width: int, *, inner: int | None = None) -> int:
    """Four projections; 4 D^2 + 4 D where the heads together are as wide as the layer (iiga-equations 5.1 and 5.7)."""
    inside = width if inner is None else inner
    return 3 * linear_parameters(width, inside) + linear_parameters(inside, width)


def projection_macs(queries: int, keys: int, width: int, *, inner: int | None = None) -> int:
    """Q, K, V and O; 4 T D^2 for self-attention (iiga-equations 14.1)."""
    inside = width if inner is None else inner
    return 2 * (queries + keys) * width * inside


def score_macs(queries: int, keys: int, width: int) -> int:
    """Q K^T and A V; 2 T^2 D for self-attention, whatever the number of heads (iiga-equations 14.1)."""
    return 2 * queries * keys * width


def map_numbers(queries: int, keys: int, heads: int) -> int:
    """N T^2 attention weights (iiga-equations 14.1)."""
    return heads * queries * keys


def feed_forward_parameters(width: int, hidden: int, output: int | None = None) -> int:
    """2 D D_ff + D_ff + D (iiga-equations 8.1)."""
    return linear_parameters(width, hidden) + linear_parameters(hidden, width if output is None else output)


def feed_forward_macs(tokens: int, width: int, hidden: int, output: int | None = None) -> int:
    """2 T D D_ff, which is 8 T D^2 where D_ff = 4 D (iiga-equations 14.2)."""
    return tokens * hidden * (width + (width if output is None else output))


def crossing_attention(width: int) -> int:
    """The T from which scores cost more than projections: 2 T^2 D = 4 T D^2 at T = 2 D."""
    return 2 * width


def crossing_layer(width: int) -> int:
    """The T from which scores cost more than the rest of a layer: 2 T^2 D = 12 T D^2 at T = 6 D."""
    return 6 * width


def crossing_memory(width: int, heads: int) -> float:
    """The T from which attention's maps are larger than the feed-forward middle: N T^2 = 4 T D at T = 4 D / N."""
    return 4 * width / heads


def attention(
    module: str, queries: int, width: int, heads: int, *, keys: int | None = None, inner: int | None = None
) -> CostPart:
    """A `MultiHeadAttention` from `queries` to `keys` (the queries where None)."""
    seen, inside = queries if keys is None else keys, width if inner is None else inner
    return CostPart(
        module=module,
        kind="attention",
        parameters=attention_parameters(width, inner=inside),
        macs=projection_macs(queries, seen, width, inner=inside) + score_macs(queries, seen, inside),
        maps=map_numbers(queries, seen, heads),
        widest=max(queries, seen) * max(inside, width),
    )


def linear(module: str, kind: Kind, tokens: int, inputs: int, outputs: int, *, count: int = 1) -> CostPart:
    """`count` linear maps side by side."""
    return CostPart(
        module=module,
        kind=kind,
        parameters=count * linear_parameters(inputs, outputs),
        macs=count * tokens * inputs * outputs,
        widest=tokens * outputs,
    )


def feed_forward(
    module: str, tokens: int, width: int, hidden: int, output: int | None = None, *, kind: Kind = "feed_forward"
) -> CostPart:
    """A `FeedForward`."""
    return CostPart(
        module=module,
        kind=kind,
        parameters=feed_forward_parameters(width, hidden, output),
        macs=feed_forward_macs(tokens, width, hidden, output),
        widest=tokens * max(hidden, output or width),
    )


def norm(module: str, tokens: int, width: int, *, numbers: int = 2) -> CostPart:
    """A scale and a shift a channel, `numbers` in all; no matrix product."""
    return CostPart(module=module, kind="norm", parameters=numbers * width, widest=tokens * width)


def tlob_parts(c: TLOBConfig) -> list[CostPart]:
    """A `TLOB`, one window; a mirrored one puts its mirror image through as well."""
    steps, width = c.steps, c.width
    parts = [
        norm("bin_norm", steps, c.features, numbers=4),
        linear("embedding", "embedding", steps, c.features, width),
        CostPart(
            module="positions", kind="positions", parameters=steps * width * (c.positions == "learned"), widest=steps * width
        ),
    ]
    for index in range(2 * c.pairs):
        tokens, size = (steps, width) if index % 2 == 0 else (width, steps)
        inner, name = size * c.heads, f"layers.{index}"
        if c.qkv == "double":
            parts += [
                linear(f"{name}.qkv", "attention", tokens, size, inner, count=3),
                attention(f"{name}.attention", tokens, inner, c.heads),
                linear(f"{name}.w0", "attention", tokens, inner, size),
            ]
        else:
            parts.append(attention(f"{name}.attention", tokens, size, c.heads, inner=inner))
        parts += [norm(f"{name}.norm", tokens, size), feed_forward(f"{name}.mlp", tokens, size, 4 * size)]
    if c.pooling == "learned":
        parts.append(CostPart(module="pool_logits", kind="head", parameters=steps, macs=steps * width, widest=width))
    parts += [feed_forward(f"classifiers.{one}", 1, width, 128, 3, kind="head") for one in range(c.outputs)]
    passes = 2 if c.mirrored else 1
    return [replace(part, macs=passes * part.macs) for part in parts]


def vit_parts(c: ViTConfig) -> list[CostPart]:
    """A `ViT`, one image."""
    tokens = 1 + c.patches
    parts = [
        linear("embedding", "embedding", c.patches, c.patch**2, c.width),
        CostPart(module="class_token", kind="embedding", parameters=c.width, widest=tokens * c.width),
    ]
    for index in range(c.layers):
        parts += _encoder_layer(f"layers.{index}", tokens, c.width, c.heads, c.hidden)
    return [*parts, linear("head", "head", 1, c.width, c.classes)]


def _encoder_layer(name: str, tokens: int, width: int, heads: int, hidden: int, *, ffn: str = "feed_forward") -> list[CostPart]:
    return [
        attention(f"{name}.attention", tokens, width, heads),
        norm(f"{name}.norm1", tokens, width),
        feed_forward(f"{name}.{ffn}", tokens, width, hidden),
        norm(f"{name}.norm2", tokens, width),
    ]


def transformer_parts(c: TransformerConfig, source: int, target: int = DATE_SYMBOLS) -> list[CostPart]:
    """A `Transformer` that reads `source` symbols and has written `target` (begin sign included), in one pass."""
    parts = [
        CostPart(module="embedding", kind="embedding", parameters=c.vocabulary * c.width, widest=max(source, target) * c.width)
    ]
    for index in range(c.layers):
        parts += _encoder_layer(f"encoder.{index}", source, c.width, c.heads, c.hidden)
    for index in range(c.layers):
        name = f"decoder.{index}"
        parts += [
            attention(f"{name}.self_attention", target, c.width, c.heads),
            norm(f"{name}.norm1", target, c.width),
            attention(f"{name}.cross_attention", target, c.width, c.heads, keys=source),
            norm(f"{name}.norm2", target, c.width),
            feed_forward(f"{name}.feed_forward", target, c.width, c.hidden),
            norm(f"{name}.norm3", target, c.width),
        ]
    return [*parts, linear("out", "head", target, c.width, c.vocabulary)]


def iiga_parts(c: IIGAConfig, frames: int) -> list[CostPart]:
    """An `IIGA`, one clip of `frames` frames."""
    parts: list[CostPart] = []
    if c.front == "frames":
        parts += mobilenet_parts(c, frames)
        if c.image_channels != c.width:
            parts.append(linear("front.project", "embedding", frames, c.image_channels, c.width))
    else:
        for index in range(c.track_convolutions):
            inputs = c.track_features if index == 0 else c.width
            weights = c.track_kernel * inputs * c.width
            parts += [
                CostPart(
                    module=f"front.convolutions.{index}",
                    kind="convolution",
                    parameters=weights + c.width,
                    macs=frames * weights,
                    widest=frames * c.width,
                ),
                norm(f"front.norms.{index}", frames, c.width),
            ]
    for index in range(2 * c.layers):
        parts += _encoder_layer(f"layers.{index}", frames, c.width, c.heads, c.expansion * c.width, ffn="ffn")
    return [*parts, linear("decoder", "head", frames, c.width, c.vocabulary)]


def mobilenet_parts(c: IIGAConfig, frames: int) -> list[CostPart]:
    """MobileNetV2's convolutions, a part a block (iiga-equations section 3); each convolution is followed by a batch norm."""

    def convolution(inputs: int, outputs: int, side: int, *, kernel: int = 1, groups: int = 1) -> tuple[int, int, int]:
        weights = outputs * (inputs // groups) * kernel**2
        return weights + 2 * outputs, frames * side**2 * weights, frames * side**2 * outputs

    def part(index: int, stage: Sequence[tuple[int, int, int]]) -> CostPart:
        parameters, macs, widest = zip(*stage, strict=True)
        return CostPart(
            module=f"front.cnn.features.{index}",
            kind="convolution",
            parameters=sum(parameters),
            macs=sum(macs),
            widest=max(widest),
        )

    channels = divisible(STEM_CHANNELS * c.width_multiplier)
    side = _halved(c.image_size, c.stem_stride)
    parts = [part(0, [convolution(3, channels, side, kernel=3)])]
    for expansion, base, repeats, stride in BLOCKS:
        outputs = divisible(base * c.width_multiplier)
        for repeat in range(repeats):
            hidden = channels * expansion
            stage = [convolution(channels, hidden, side)] if expansion != 1 else []
            side = _halved(side, stride if repeat == 0 else 1)
            stage += [convolution(hidden, hidden, side, kernel=3, groups=hidden), convolution(hidden, outputs, side)]
            parts.append(part(len(parts), stage))
            channels = outputs
    return [*parts, part(len(parts), [convolution(channels, c.image_channels, side)])]


def _halved(side: int, stride: int) -> int:
    return (side - 1) // stride + 1


def parts(config: AttentionConfig, tokens: int) -> list[CostPart]:
    """Every part of a model.

    Args:
        tokens: frames of IIGA, source symbols of the Transformer; TLOB and ViT have theirs in the configuration.
    """
    return FORMULAS[config.model](config, tokens)


FORMULAS: dict[str, Callable[[Any, int], list[CostPart]]] = {
    "tlob": lambda config, tokens: tlob_parts(config),
    "vit": lambda config, tokens: vit_parts(config),
    "iiga": iiga_parts,
    "transformer": transformer_parts,
}
"""The formulas of each model by its name in `core.models.MODELS`."""


def tokens_of(config: AttentionConfig, tokens: int) -> int:
    """T: rows that attention compares; the configuration's own where it fixes them, else `tokens`."""
    return tokens if config.sequence_length is None else config.sequence_length


@dataclass(frozen=True, kw_only=True)
class Total:
    """Sums over parts: parameters, MACs and attention weights; `widest` is the largest tensor besides maps. Bytes in float32."""

    parameters: int
    macs: int
    maps: int
    widest: int

    @property
    def weight_bytes(self) -> int:
        """Of the parameters."""
        return BYTES * self.parameters

    @property
    def map_bytes(self) -> int:
        """Of every layer's attention weights together, as a page that shows them holds them."""
        return BYTES * self.maps


def total(listed: Sequence[CostPart]) -> Total:
    """The sums."""
    return Total(
        parameters=sum(part.parameters for part in listed),
        macs=sum(part.macs for part in listed),
        maps=sum(part.maps for part in listed),
        widest=max(part.widest for part in listed),
    )


def macs_by_kind(listed: Sequence[CostPart]) -> dict[Kind, int]:
    """MACs of each kind of part, in the order of KINDS; kinds without any are left out."""
    sums = {kind: sum(part.macs for part in listed if part.kind == kind) for kind in KINDS}
    return {kind: macs for kind, macs in sums.items() if macs}


def tlob_score_product(c: TLOBConfig, batch: int) -> int:
    """MACs of Q K^T alone over all layers, for a batch: the "109 M FLOPs" of tlob-architecture section 6.3 (D7)."""
    return batch * c.pairs * (c.steps**2 * c.width + c.width**2 * c.steps)


def iiga_split(c: IIGAConfig, frames: int, batch: int = 1) -> dict[str, int]:
    """MACs of the convolutions, of the attention layers and of the decoder, for a batch (iiga-equations section 14.3)."""
    listed = iiga_parts(c, frames)
    front = sum(part.macs for part in listed if part.module.startswith("front"))
    decoder = sum(part.macs for part in listed if part.module == "decoder")
    whole = sum(part.macs for part in listed)
    return {"cnn": batch * front, "transformer": batch * (whole - front - decoder), "decoder": batch * decoder}


def iiga_orders(frames: int, side: int, width: int, attentions: int, batch: int) -> dict[str, int]:
    """Section 14.3's two orders of growth, read as counts: B T H W C, and L (T^2 D + T D^2)."""
    return {"cnn": batch * frames * side**2 * 3, "transformer": attentions * (frames**2 * width + frames * width**2)}
