"""Scaled dot-product attention, once for every model.

Sources: tlob-architecture section 3.2, iiga-equations section 5, vit-report section 2.2,
sequence-modelling "Atención Escalar de Producto"; Vaswani et al. 2017, equation 1.
"""

from __future__ import annotations

import math
from typing import Literal, overload

import torch
from torch import Tensor, nn
from torch.nn import functional as F

AttentionMaps = dict[str, Tensor]
"""Maps that a model returns beside its output: layer name -> weights (batch, heads, queries, keys)."""


@overload
def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, return_weights: Literal[False] = False
) -> tuple[Tensor, None]: ...
@overload
def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, return_weights: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, return_weights: bool
) -> tuple[Tensor, Tensor | None]: ...
def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, return_weights: bool = False
) -> tuple[Tensor, Tensor | None]:
    """softmax(q k^T / sqrt(d_k)) v.

    Args:
        q: (..., queries, d_k).
        k: (..., keys, d_k).
        v: (..., keys, d_v).
        mask: boolean, True where a query may look; broadcastable to (..., queries, keys).
            A forbidden score is set to -inf before the softmax (D20). A query with no key at all gets zeros on both paths.
        return_weights: compute by the explicit softmax and return the weights too; otherwise PyTorch's fused kernel computes,
            which never stores them.

    Returns:
        The output (..., queries, d_v), and the weights (..., queries, keys) or None.
    """
    if not return_weights:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), None
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., queries, d_k) x (..., d_k, keys) -> (..., queries, keys)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # changes only the NaN of a query with no key
    return weights @ v, weights


class MultiHeadAttention(nn.Module):
    """Concat(head_1 .. head_h) W_O with head_i = attention(Q W_Q^i, K W_K^i, V W_V^i).

    Args:
        width: size of the vectors that come in and go out.
        heads: number of heads.
        inner: total width of all heads together; `width` where not given. TLOB's layers use width * heads.
    """

    def __init__(self, width: int, heads: int, *, inner: int | None = None) -> None:
        super().__init__()
        inner = width if inner is None else inner
        if inner % heads:
            raise ValueError(f"the heads' total width {inner} is not divisible by {heads} heads")
        self.heads = heads
        self.q = nn.Linear(width, inner)
        self.k = nn.Linear(width, inner)
        self.v = nn.Linear(width, inner)
        self.out = nn.Linear(inner, width)

    def split_heads(self, x: Tensor) -> Tensor:
        """(batch, length, heads * d_k) -> (batch, heads, length, d_k)."""
        # (batch, length, heads * d_k) -> (batch, length, heads, d_k), d_k named since no -1 can be worked out of an empty batch
        x = x.unflatten(-1, (self.heads, x.shape[-1] // self.heads))
        return x.transpose(1, 2)  # -> (batch, heads, length, d_k)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from `query` (batch, queries, width) to `key` and `value` (batch, keys, width).

        `key` and `value` default to the query and the key: self-attention. See `scaled_dot_product_attention` for `mask`.

        Returns:
            (batch, queries, width) and the weights (batch, heads, queries, keys), or None when not asked for.
        """
        return self.mixed(*self.projected(query, key, value), mask=mask, return_attention=return_attention)

    def projected(self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Q, K and V of every head, (batch, heads, length, d_k) each; see `forward`."""
        key = query if key is None else key
        value = key if value is None else value
        return self.split_heads(self.q(query)), self.split_heads(self.k(key)), self.split_heads(self.v(value))

    def mixed(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, return_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """What `forward` returns, of the three that `projected` gives."""
        y, weights = scaled_dot_product_attention(q, k, v, mask=mask, return_weights=return_attention)
        y = y.transpose(1, 2).flatten(2)  # (batch, heads, queries, d_k) -> (batch, queries, heads * d_k)
        return self.out(y), weights
