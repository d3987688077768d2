"""Scaled dot-product attention, once for every model.

Sources: tlob-architecture section 3.2, iiga-equations section 5, vit-report section 2.2,
sequence-modelling "Atención Escalar de Producto"; Vaswani et al. 2017, equation 1.
"""

import math
from collections.abc import Callable
from typing import Literal, overload

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.nn.positions import rotated

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
        k: (..., keys, d_k), of as many heads as q, or of fewer (batch, key heads, keys, d_k): each is then read by as many
            neighbouring heads of q as share it (Ainslie et al. 2023, grouped-query attention).
        v: (..., keys, d_v), as k.
        mask: boolean, True where a query may look; broadcastable to (..., queries, keys).
            A forbidden score is set to -inf before the softmax (D20). A query with no key at all gets zeros on both paths.
        return_weights: compute by the explicit softmax and return the weights too; otherwise PyTorch's fused kernel computes,
            which never stores them.

    Returns:
        The output (..., queries, d_v), and the weights (..., queries, keys) or None.
    """
    grouped = q.ndim > 3 and k.shape[-3] < q.shape[-3]
    if not return_weights:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=grouped), None
    rows = q.reshape(*k.shape[:-2], -1, q.shape[-1]) if grouped else q  # queries that share keys stand below each other
    scores = rows @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., queries, d_k) x (..., d_k, keys) -> (..., queries, keys)
    if grouped:
        scores = scores.view(*q.shape[:-1], -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # changes only the NaN of a query with no key
    if grouped:
        return (weights.view(*rows.shape[:-1], -1) @ v).view(*q.shape[:-1], -1), weights
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
        """Result of `forward`, of the three that `projected` gives."""
        y, weights = scaled_dot_product_attention(q, k, v, mask=mask, return_weights=return_attention)
        y = y.transpose(1, 2).flatten(2)  # (batch, heads, queries, d_k) -> (batch, queries, heads * d_k)
        return self.out(y), weights


class KeyValueCache:
    """Keys and values of the positions that an attention has seen, (batch, key heads, positions, d_k) each."""

    keys: Tensor | None = None
    values: Tensor | None = None

    def extended(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, those of further positions at their end."""
        if self.keys is not None and self.values is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values


class GroupedAttention(nn.Module):
    """Causal self-attention whose heads share fewer key heads, with rotary positions and without biases (Ainslie et al. 2023).

    Args:
        width: size of the vectors that come in and go out; the heads' total width.
        heads: number of heads. key_heads: of keys and values; divides `heads`.
        linear: makes a linear layer without bias, of inputs and outputs.
    """

    def __init__(self, width: int, heads: int, key_heads: int, linear: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.heads, self.key_heads = heads, key_heads
        self.head_width = width // heads
        # one product is quicker than three, for one position twice as quick
        self.qkv = linear(width, self.head_width * (heads + 2 * key_heads))
        self.out = linear(width, width)

    def forward(
        self,
        x: Tensor,
        turns: Tensor,
        *,
        mask: Tensor | None = None,
        kept: Tensor | None = None,
        cache: KeyValueCache | None = None,
        return_attention: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from x (batch, n, width) to itself and to what the cache holds, which is extended by it.

        Args:
            turns: of queries and keys at these n positions, see `rotary_turns`.
            mask: see `scaled_dot_product_attention`.
            kept: factor of each head's output, (batch, heads) or (1, heads): 0 switches a head off.

        Returns:
            (batch, n, width) and the weights (batch, heads, n, keys), or None when not asked for.
        """
        whole = self.qkv(x).unflatten(-1, (-1, self.head_width)).transpose(1, 2)  # -> (batch, all heads, n, d_k)
        both, v = whole.split([self.heads + self.key_heads, self.key_heads], dim=1)
        q, k = rotated(both, turns).split([self.heads, self.key_heads], dim=1)
        if cache is not None:
            k, v = cache.extended(k, v)
        y, weights = scaled_dot_product_attention(q, k, v, mask=mask, return_weights=return_attention)
        if kept is not None:
            y = y * kept[:, :, None, None]
        return self.out(y.transpose(1, 2).flatten(2)), weights  # (batch, heads, n, d_k) -> (batch, n, heads * d_k)
