"""The forward pass of the ViT for one image with every intermediate result, for "Patches to tokens" on the page Garments.

Each array is what one of the model's own modules took in or gave out in that pass.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.models.vit import ViT

Array = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class ViTWalkthrough:
    """All intermediate results of one forward pass; d channels, h heads.

    Attributes:
        given, taken: what each module gave out and took in, by its name in the network ("layers.0.norm1"), without the batch.
        weight: (d, p^2) or (d, channels), bias: (d,), of the embedding.
        class_token: (d,). positions: (1 + patches, d), already scaled.
        tokens: (1 + patches, d), the class token before the embedded patches, positions added.
        temperature: divides the logits before the softmax.
    """

    given: dict[str, Array]
    taken: dict[str, Array]
    weight: Array
    bias: Array
    class_token: Array
    positions: Array
    tokens: Array
    temperature: float

    @property
    def patches(self) -> Array:
        """(patches, p^2), normalised grey levels; of a CCT (patches, channels), what its convolutions make of each."""
        return self.taken["embedding"]

    @property
    def embedded(self) -> Array:
        """(patches, d), patches weight^T + bias."""
        return self.given["embedding"]

    @property
    def logits(self) -> Array:
        """(classes,)."""
        return self.given["head"]

    @property
    def scaled(self) -> NDArray[np.float64]:
        """(classes,): exp((logits - the largest) / temperature), whose sum divides them in the softmax."""
        logits = self.logits.astype(np.float64)
        return np.asarray(np.exp((logits - logits.max()) / self.temperature))

    def content(self, token: int) -> Array:
        """(d,): a token before its position is added; token 0 is the class token."""
        return self.embedded[token - 1] if token else self.class_token

    def contribution(self, patch: int, channel: int) -> Array:
        """The term of each of a patch's numbers, (p^2,) or (channels,), in one channel of its embedding: their sum plus bias."""
        return self.patches[patch] * self.weight[channel]

    def mixed(self, token: int, layer: int, head: int, heads: int) -> Array:
        """(d / h,): the values that one head mixed for a token."""
        return self.taken[f"layers.{layer}.attention.out"][token].reshape(heads, -1)[head]

    def stations(self, token: int, layer: int) -> Array:
        """(5, d): a token that enters a layer, what attention adds, LayerNorm, what the feed-forward network adds, LayerNorm."""
        entered = self.given[f"layers.{layer - 1}.norm2"] if layer else self.tokens
        steps = [self.given[f"layers.{layer}.{name}"] for name in ("attention.out", "norm1", "feed_forward", "norm2")]
        return np.stack([one[token] for one in (entered, *steps)])


@torch.no_grad()
def walk(model: ViT, image: Tensor, *, temperature: float = 1.0) -> ViTWalkthrough:
    """Every step for one image.

    Args:
        model: in evaluation mode. image: (1, colours, side, side), in the units the model reads.
        temperature: divides the logits before the softmax.

    Raises:
        ValueError: for more than one image.
    """
    if len(image) != 1:
        raise ValueError(f"walk takes one image at a time, not {len(image)}")
    given: dict[str, Array] = {}
    taken: dict[str, Array] = {}

    def record(name: str, _module: nn.Module, inputs: tuple[Tensor, ...], output: Any) -> None:
        if isinstance(output, Tensor):
            taken[name], given[name] = _array(inputs[0]), _array(output)

    handles = [one.register_forward_hook(partial(record, name)) for name, one in model.named_modules()]
    try:
        tokens = model.tokens(image)
        encoded, _maps = model.encode(tokens)
        model.head(encoded[:, 0])
    finally:
        for handle in handles:
            handle.remove()
    return ViTWalkthrough(
        given=given,
        taken=taken,
        weight=_array(model.embedding.weight[None]),
        bias=_array(model.embedding.bias[None]),
        class_token=_array(model.class_token)[0],
        positions=_array(model.positions.encoding[None]),
        tokens=_array(tokens),
        temperature=temperature,
    )


def tiles(image: NDArray[np.uint8], patch: int) -> NDArray[np.uint8]:
    """(side, side, ...) -> (patches, patch, patch, ...): rows of patches from the top, as `ViT.patches` cuts them."""
    grid = len(image) // patch
    colours = image.shape[2:]
    cut = image.reshape(grid, patch, grid, patch, *colours)  # -> (patch row, pixel row, patch column, pixel column)
    return cut.swapaxes(1, 2).reshape(-1, patch, patch, *colours)  # -> (patches, pixel row, pixel column)


def _array(batch: Tensor) -> Array:
    """The only member of a batch of one."""
    return np.asarray(batch.detach()[0].float().cpu().numpy())
