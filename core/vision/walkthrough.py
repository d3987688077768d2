"""The forward pass of the ViT for one image with every intermediate result, for the page "Patches to tokens".

Each array comes from the model's own modules, called one after the other as vit-report section 1 lists them, so that the last
one is what the model's forward pass returns (a test holds the two equal).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.models.vit import ViT
from core.nn import EncoderLayer

Array = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerWalk:
    """One encoder layer; n tokens, d channels, h heads of d_k channels.

    Attributes:
        entered: (n, d). heads: (h, n, d_k), attention weights times values. attended: (n, d), the heads through W_O.
        normed: (n, d), LayerNorm(entered + attended). forwarded: (n, d), FFN(normed).
        left: (n, d), LayerNorm(normed + forwarded).
    """

    entered: Array
    heads: Array
    attended: Array
    normed: Array
    forwarded: Array
    left: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class ViTWalkthrough:
    """All intermediate results of one forward pass.

    Attributes:
        patches: (patches, p^2), normalised grey levels; of a CCT (patches, channels), what its convolutions make of each.
        weight: (d, p^2) or (d, channels), bias: (d,), of the embedding. embedded: (patches, d), patches weight^T + bias.
        convolutional: whether the patches' numbers come from convolutions.
        class_token: (d,). positions: (1 + patches, d), already scaled.
        tokens: (1 + patches, d), the class token before the embedded patches, positions added.
        layers: one entry per layer.
        logits: (classes,). probabilities: (classes,), softmax of logits / temperature. temperature: the calibration's.
    """

    patches: Array
    weight: Array
    bias: Array
    embedded: Array
    convolutional: bool
    class_token: Array
    positions: Array
    tokens: Array
    layers: tuple[LayerWalk, ...]
    logits: Array
    probabilities: Array
    temperature: float

    def content(self, token: int) -> Array:
        """(d,): a token before its position is added; token 0 is the class token."""
        return self.embedded[token - 1] if token else self.class_token

    def contribution(self, patch: int, channel: int) -> Array:
        """The term of each of a patch's numbers, (p^2,) or (channels,), in one channel of its embedding: their sum plus bias."""
        return self.patches[patch] * self.weight[channel]

    def stations(self, token: int, layer: int) -> dict[str, Array]:
        """A token's vectors through one layer, in order, by the names of `LayerWalk`, each (d,)."""
        one = self.layers[layer]
        names = ("entered", "attended", "normed", "forwarded", "left")
        return {name: getattr(one, name)[token] for name in names}


@torch.no_grad()
def walk(model: ViT, image: Tensor, *, temperature: float = 1.0) -> ViTWalkthrough:
    """Every step for one image.

    Args:
        model: in evaluation mode.
        image: (1, colours, side, side), in the units the model reads.
        temperature: divides the logits before the softmax.

    Raises:
        ValueError: for more than one image.
    """
    if len(image) != 1:
        raise ValueError(f"walk takes one image at a time, not {len(image)}")
    patches = model.patches(image)
    embedded = model.embedding(patches)
    together = torch.cat([model.class_token, embedded], dim=1)
    tokens = model.positions(together)
    layers: list[LayerWalk] = []
    x = tokens
    for layer in model.layers:
        assert isinstance(layer, EncoderLayer)
        x, kept = _layer(layer, x)
        layers.append(kept)
    logits = model.head(x[:, 0])
    return ViTWalkthrough(
        patches=_array(patches),
        weight=_array(model.embedding.weight[None]),
        bias=_array(model.embedding.bias[None]),
        embedded=_array(embedded),
        convolutional=model.convolutional,
        class_token=_array(model.class_token)[0],
        positions=_array(model.positions.encoding[None]),
        tokens=_array(tokens),
        layers=tuple(layers),
        logits=_array(logits),
        probabilities=_array((logits.double() / temperature).softmax(dim=-1)),
        temperature=temperature,
    )


def tiles(image: NDArray[np.uint8], patch: int) -> NDArray[np.uint8]:
    """(side, side, ...) -> (patches, patch, patch, ...): rows of patches from the top, as `ViT.patches` cuts them."""
    grid = len(image) // patch
    colours = image.shape[2:]
    cut = image.reshape(grid, patch, grid, patch, *colours)  # -> (patch row, pixel row, patch column, pixel column)
    return cut.swapaxes(1, 2).reshape(-1, patch, patch, *colours)  # -> (patches, pixel row, pixel column)


def softmax_table(scores: Array) -> tuple[Array, Array, float]:
    """A softmax in its three steps: (n,) -> exp(score - largest), the weights, and the sum that divides."""
    powers = np.exp(scores.astype(np.float64) - float(scores.max()))
    total = float(powers.sum())
    return powers.astype(np.float32), (powers / total).astype(np.float32), total


def _layer(layer: EncoderLayer, x: Tensor) -> tuple[Tensor, LayerWalk]:
    attention = layer.attention
    q, k, v = (attention.split_heads(linear(x)) for linear in (attention.q, attention.k, attention.v))
    heads = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v
    attended = attention.out(heads.transpose(1, 2).flatten(2))  # (1, h, n, d_k) -> (1, n, h, d_k) -> (1, n, d)
    normed = layer.norm1(x + attended)
    forwarded = layer.feed_forward(normed)
    left = layer.norm2(normed + forwarded)
    steps = {
        "entered": x, "heads": heads, "attended": attended, "normed": normed, "forwarded": forwarded, "left": left,
    }  # fmt: skip
    return left, LayerWalk(**{name: _array(step) for name, step in steps.items()})


def _array(batch: Tensor) -> Array:
    """The only member of a batch of one."""
    single = batch.reshape(batch.shape[1:])
    return np.asarray(single.detach().float().cpu().numpy())
