"""TLOB as live predictions run it (a breakpoint belongs here): what is constant after training is multiplied out beforehand.

- An attention layer's score of two rows is bilinear in them: (x Wq)(x Wk)^T = (x Wq Wk^T) x^T, and what the bias of the keys adds
  is the same for all keys of a query, which a softmax ignores. So the queries take one product, and the keys none.
- The weights of a row sum to one, so that value and output projections, with nothing between them but that mean, are one.
- The last layer's rows run over time, over which pooling is a weighted sum: it is folded into that layer's second product.
- In evaluation BiN's batch half is a fixed scale and shift, added to those of the window.

`core.models.tlob` says what is computed, and trains; this takes its trained weights. Logits and maps agree within 1e-5.
"""

from __future__ import annotations

import math
from typing import Literal, overload

import torch
from torch import Tensor, nn

from core.models.config import check_window
from core.models.tlob import TLOB, TLOBLayer, upside_down
from core.nn import AttentionMaps, FeedForward

CHUNK = 16
"""Windows at a time: more at once would leave the processor's cache between two operations."""


class _Affine(nn.Module):
    """x -> x weight^T + bias, of constants: weight (out, in), bias (out,), kept the way round in which a product reads them."""

    weight: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor, like: Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", weight.t().to(like).contiguous())  # (in, out)
        self.register_buffer("bias", bias.to(like).contiguous())

    def forward(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out)."""
        return torch.addmm(self.bias, x, self.weight)


def _read(linear: nn.Module, size: int) -> tuple[Tensor, Tensor]:
    """A linear layer's weight (out, in) and bias (out,) in float64; those that change nothing for `nn.Identity`."""
    if isinstance(linear, nn.Linear):
        return linear.weight.double(), linear.bias.double()
    return torch.eye(size, dtype=torch.float64), torch.zeros(size, dtype=torch.float64)


def _after(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Weight and bias of one layer that does what `first` and then `second` do."""
    return second[0] @ first[0], second[0] @ first[1] + second[1]


class _FoldedLayer(nn.Module):
    """One `TLOBLayer`, with its pooling over the last axis where it is given: (size,)."""

    def __init__(self, layer: TLOBLayer, pool: Tensor | None = None) -> None:
        super().__init__()
        attention, size = layer.attention, layer.norm.normalized_shape[0]
        heads = self.heads = attention.heads
        inner = attention.q.in_features
        project = {name: (_read(layer.qkv[name] if layer.qkv is not None else nn.Identity(), size)) for name in ("q", "k", "v")}
        (wq, bq), (wk, _), (wv, bv) = (_after(project[name], _read(getattr(attention, name), inner)) for name in ("q", "k", "v"))
        wo, bo = _after(_read(attention.out, inner), _read(layer.w0, size))
        wq, wk, wv = (w.unflatten(0, (heads, -1)) for w in (wq, wk, wv))  # (heads, d_k, size)
        scale = 1 / math.sqrt(wq.shape[1])
        query = torch.einsum("hds,hdr->hrs", wq, wk).flatten(0, 1) * scale  # (heads x size, size)
        query_bias = torch.einsum("hd,hdr->hr", bq.unflatten(0, (heads, -1)), wk).flatten() * scale  # (heads x size,)
        output = torch.einsum("shd,hdr->shr", wo.unflatten(1, (heads, -1)), wv).flatten(1)  # (size, heads x size)
        like = attention.q.weight
        self.query, self.output = _Affine(query, query_bias, like), _Affine(output, wo @ bv + bo, like)
        self.norm, self.fc1 = layer.norm, _Affine(*_read(layer.mlp.fc1, size), like)
        w2, b2 = _read(layer.mlp.fc2, size)
        self.pool: _Affine | None = None
        if pool is not None:
            pool = pool.double()[None]  # (1, size)
            self.pool, w2, b2 = _Affine(pool, torch.zeros(1), like), pool @ w2, pool @ b2
        self.fc2 = _Affine(w2, b2, like)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, n, size) -> the same shape, or (batch, n, 1) where pooled; and the weights (batch, n x heads, n)."""
        batch, n, size = x.shape
        rows = x.view(-1, size)  # two axes alone: a product of more takes more operations
        # a row's heads follow one another as rows of their own, so that nothing is copied into another order
        queries = self.query(rows).view(batch, -1, size)  # (batch x n, heads x size) -> (batch, n x heads, size)
        weights = torch.bmm(queries, x.transpose(1, 2)).softmax(dim=-1)  # (batch, n x heads, n)
        y = torch.bmm(weights, x).view(batch * n, -1)  # (batch, n x heads, size) -> (batch x n, heads x size)
        # in place: a second array of this size would be asked of the system anew each time
        y = self.fc2(torch.ops.aten.gelu_(self.fc1(self.norm(self.output(y).add_(rows)))))
        return y.add_(rows if self.pool is None else self.pool(rows)).view(batch, n, -1), weights


class FoldedTLOB(nn.Module):
    """A trained TLOB's function in evaluation, for prediction alone: no gradient reaches the weights of the original.

    Args:
        model: the network. Later changes of it are not followed.
    """

    batch_scale: Tensor
    instance_scale: Tensor
    shift: Tensor
    mirror: Tensor | None
    embedding: Tensor
    positions: Tensor
    fc2_weight: Tensor
    fc2_bias: Tensor

    @torch.no_grad()
    def __init__(self, model: TLOB) -> None:
        super().__init__()
        c, device = model.config, model.embedding.weight.device
        model = model.cpu()  # folded in float64 there, and put back
        self.config, self.layer_names = c, model.layer_names
        batch, instance = model.bin_norm.batch_norm, model.bin_norm.instance_norm
        assert batch.running_var is not None and batch.running_mean is not None
        scale = batch.weight / (batch.running_var + batch.eps).sqrt()
        self.epsilon = instance.eps
        self.register_buffer("batch_scale", 0.5 * scale)
        self.register_buffer("shift", 0.5 * (batch.bias - scale * batch.running_mean + instance.bias))
        self.register_buffer("instance_scale", 0.5 * instance.weight)
        self.register_buffer("mirror", upside_down(torch.eye(c.features).to(scale), c.directed) if c.mirrored else None)
        self.register_buffer("embedding", model.embedding.weight.t().contiguous())
        self.register_buffer("positions", model.positions(model.embedding.bias.expand(1, c.steps, c.width)).clone())
        pool = model.pool(torch.eye(c.steps, dtype=scale.dtype)[None])[0]  # (steps,) what pooling weighs each step by
        layers = [layer for layer in model.layers if isinstance(layer, TLOBLayer)]
        self.layers = nn.ModuleList(_FoldedLayer(layer, pool if layer is layers[-1] else None) for layer in layers)
        classifiers = [one for one in model.classifiers if isinstance(one, FeedForward)]
        self.activation = classifiers[0].activation
        self.fc1 = _Affine(
            torch.cat([one.fc1.weight for one in classifiers]), torch.cat([one.fc1.bias for one in classifiers]), scale
        )
        self.register_buffer("fc2_weight", torch.stack([one.fc2.weight.t() for one in classifiers]))  # (outputs, 128, 3)
        self.register_buffer("fc2_bias", torch.stack([one.fc2.bias[None] for one in classifiers]))  # (outputs, 1, 3)
        model.to(device)
        self.to(device).eval()

    @overload
    def forward(self, x: Tensor, *, return_attention: Literal[False] = False) -> Tensor: ...
    @overload
    def forward(self, x: Tensor, *, return_attention: Literal[True]) -> tuple[Tensor, AttentionMaps]: ...
    def forward(self, x: Tensor, *, return_attention: bool = False) -> Tensor | tuple[Tensor, AttentionMaps]:
        """As `TLOB.forward` in evaluation."""
        check_window(x, name="TLOB", steps=self.config.steps, features=self.config.features)
        parts = [self._chunk(part, return_attention) for part in x.split(CHUNK)]
        logits = torch.cat([logits for logits, _ in parts])
        logits = logits[:, 0] if self.config.outputs == 1 else logits  # (batch, 1, 3) -> (batch, 3)
        if not return_attention:
            return logits
        return logits, {name: torch.cat([maps[name] for _, maps in parts]) for name in self.layer_names}

    def _chunk(self, x: Tensor, return_attention: bool) -> tuple[Tensor, AttentionMaps]:
        """Logits (batch, outputs, 3), and the maps of the book as it is where asked for."""
        mapped = len(x) if return_attention else 0
        if self.mirror is None:
            return self._once(x, mapped)
        both, maps = self._once(torch.cat([x, x @ self.mirror]), mapped)
        return (both[: len(x)] + both[len(x) :].flip(-1)) / 2, maps

    def _once(self, x: Tensor, mapped: int) -> tuple[Tensor, AttentionMaps]:
        """(batch, steps, features) -> logits (batch, outputs, 3), and the first `mapped` windows' weights where there are any."""
        mean = x.mean(dim=1, keepdim=True)  # (batch, 1, features)
        variance = (x - mean).square_().mean(dim=1, keepdim=True)  # a quarter of the time that torch.var_mean takes
        scale = self.instance_scale * torch.rsqrt(variance + self.epsilon)
        x = x * (self.batch_scale + scale) + (self.shift - scale * mean)
        x = (x @ self.embedding).add_(self.positions)  # -> (batch, steps, width)
        maps: AttentionMaps = {}
        for index, (name, layer) in enumerate(zip(self.layer_names, self.layers, strict=True)):
            x, weights = layer(x.transpose(1, 2).contiguous() if index else x)  # each layer over the other axis
            if mapped:  # (batch, n x heads, n) -> (mapped, heads, n, n)
                maps[name] = weights[:mapped].unflatten(1, (weights.shape[2], -1)).transpose(1, 2)
        hidden = self.activation(self.fc1(x.squeeze(-1)))  # (batch, width, 1) -> (batch, outputs x 128)
        by_output = hidden.unflatten(1, (self.config.outputs, -1)).transpose(0, 1)  # (outputs, batch, 128)
        return torch.baddbmm(self.fc2_bias, by_output, self.fc2_weight).transpose(0, 1), maps
