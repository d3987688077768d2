"""The encoder layer for prediction on a processor: the same function with queries, keys and values in one product.

Their weights are joined once: joined at every call, they would cost what the one product saves.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.nn.encoder import EncoderLayer


class _JoinedEncoderLayer(nn.Module):
    """A trained post-norm `EncoderLayer`, which still answers where weights are asked for."""

    weight: Tensor
    bias: Tensor

    def __init__(self, layer: EncoderLayer) -> None:
        super().__init__()
        a = layer.attention
        self.layer, self.heads = layer, a.heads
        self.register_buffer("weight", torch.cat([a.q.weight, a.k.weight, a.v.weight]))  # (3 width, width)
        self.register_buffer("bias", torch.cat([a.q.bias, a.k.bias, a.v.bias]))

    def forward(
        self, x: Tensor, *, mask: Tensor | None = None, return_attention: bool = False, first: int | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """As `EncoderLayer.forward`."""
        if mask is not None or return_attention or first is not None or torch.is_grad_enabled():
            return cast(tuple[Tensor, Tensor | None], self.layer(x, mask=mask, return_attention=return_attention, first=first))
        out, f, n1, n2 = self.layer.attention.out, self.layer.feed_forward, self.layer.norm1, self.layer.norm2
        joined = F.linear(x, self.weight, self.bias).view(*x.shape[:2], 3, self.heads, -1)
        q, k, v = joined.permute(2, 0, 3, 1, 4).unbind()  # each (batch, heads, n, d_k)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)  # -> (batch, n, width)
        x = F.layer_norm(F.linear(y, out.weight, out.bias).add_(x), n1.normalized_shape, n1.weight, n1.bias, n1.eps)
        y = F.linear(f.activation(F.linear(x, f.fc1.weight, f.fc1.bias)), f.fc2.weight, f.fc2.bias)
        return F.layer_norm(y.add_(x), n2.normalized_shape, n2.weight, n2.bias, n2.eps), None


Network = TypeVar("Network", bound=nn.Module)


@torch.no_grad()
def with_joined_layers(model: Network) -> Network:
    """A copy in evaluation whose post-norm encoder layers are joined, for prediction alone.

    Args:
        model: the network. Later changes of it are not followed.
    """
    copied = deepcopy(model).requires_grad_(False).eval()
    for layers in [one for one in copied.modules() if isinstance(one, nn.ModuleList)]:
        for place, layer in enumerate(layers):
            if isinstance(layer, EncoderLayer) and not layer.pre_norm:
                layers[place] = _JoinedEncoderLayer(layer)
    return copied
