"""Capture of the attention maps of any torch model while it runs: `nn.MultiheadAttention`, fused attention, Hugging Face's.

Everything that ends in `torch.nn.functional.scaled_dot_product_attention` or in `nn.MultiheadAttention` is caught; a model that
writes its own softmax is not.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.explain.scene import LayerMaps

_SIGNATURE: Final = inspect.signature(nn.MultiheadAttention.forward)


@contextmanager
def capture(model: nn.Module, *, kind: str = "") -> Iterator[list[LayerMaps]]:
    """The maps of every attention that runs within the block, in the order of the calls, each (heads, queries, keys).

    The first item of a batch is kept. A layer has the name of the innermost module that ran.

        with capture(model) as layers:
            model(x)

    Args:
        kind: of the stage's tokens, see `LayerMaps`.
    """
    layers: list[LayerMaps] = []
    running: list[str] = []
    plain = F.scaled_dot_product_attention
    fast = torch.backends.mha.get_fastpath_enabled()

    def keep(weights: Tensor) -> None:
        first = weights.detach()[(0,) * (weights.ndim - 3)]  # (..., heads, queries, keys) -> (heads, queries, keys)
        name = running[-1] if running and running[-1] else f"attention {len(layers) + 1}"
        layers.append(LayerMaps(name=name, weights=first.float().cpu().numpy(), kind=kind))

    def fused(query: Tensor, key: Tensor, value: Tensor, *rest: Any, **options: Any) -> Tensor:
        with torch.no_grad():
            keep(weights_of(query, key, *rest, **options))
        return plain(query, key, value, *rest, **options)

    handles = [one for name, module in model.named_modules() for one in _hooks(module, name, running, keep)]
    F.scaled_dot_product_attention = fused
    torch.backends.mha.set_fastpath_enabled(False)  # the fast path of nn.TransformerEncoder keeps no weights and runs no hooks
    try:
        yield layers
    finally:
        F.scaled_dot_product_attention = plain
        torch.backends.mha.set_fastpath_enabled(fast)
        for handle in handles:
            handle.remove()


def weights_of(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(q k^T scale + mask), as `F.scaled_dot_product_attention` has it, without dropout: (..., heads, queries, keys)."""
    del dropout_p
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(), -math.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return scores.softmax(dim=-1).nan_to_num()  # zeros for a query that may look at nothing


def _hooks(module: nn.Module, name: str, running: list[str], keep: Any) -> list[Any]:
    """Hooks that follow which module runs; `nn.MultiheadAttention` is asked for the weights of each head besides."""
    asked: list[dict[str, Any]] = []

    def enter(_module: nn.Module, given: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
        running.append(name)
        if not isinstance(module, nn.MultiheadAttention):
            return None
        bound = _SIGNATURE.bind(module, *given, **options)
        bound.apply_defaults()
        wanted = {key: value for key, value in bound.arguments.items() if key != "self"}
        asked.append(wanted)
        return (), wanted | {"need_weights": True, "average_attn_weights": False}

    def leave(_module: nn.Module, _given: Any, _options: dict[str, Any], output: Any) -> Any:
        if isinstance(module, nn.MultiheadAttention) and asked:
            wanted, weights = asked.pop(), output[1]
            keep(weights)
            mean = weights.mean(dim=-3) if wanted["average_attn_weights"] else weights
            output = (output[0], mean if wanted["need_weights"] else None)
        running.pop()
        return output

    return [
        module.register_forward_pre_hook(enter, with_kwargs=True),
        module.register_forward_hook(leave, with_kwargs=True),
    ]
