"""Queries and keys of every attention of a model, taken while it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.nn import AttentionMaps, MultiHeadAttention


@contextmanager
def captured(model: nn.Module) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """While it is open, every pass through `model` adds each attention's queries and keys, (batch, heads, n, d_k), in order."""
    vectors: list[tuple[Tensor, Tensor]] = []

    def keep(attention: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        assert isinstance(attention, MultiHeadAttention)
        query = given[0] if given else named["query"]
        key = given[1] if len(given) > 1 else named.get("key")
        vectors.append(
            (
                attention.split_heads(attention.q(query)),
                attention.split_heads(attention.k(query if key is None else key)),
            )
        )

    handles = [
        module.register_forward_pre_hook(keep, with_kwargs=True)
        for module in model.modules()
        if isinstance(module, MultiHeadAttention)
    ]
    try:
        yield vectors
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def queries_and_keys(
    model: nn.Module, run: Callable[[], AttentionMaps]
) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Queries and keys by the name of their map, (batch, heads, n, d_k) each.

    Args:
        run: passes a batch through the model once and returns its maps.

    Raises:
        ValueError: where the pass has other attentions than maps.
    """
    with captured(model) as vectors:
        maps = run()
    if len(vectors) != len(maps):
        raise ValueError(f"{len(vectors)} attentions gave {len(maps)} maps: one for each is needed")
    return {  # a mirrored model reads a book and its mirror image in one batch, whose first half has the maps
        name: (q[: len(weights)].float().cpu().numpy(), k[: len(weights)].float().cpu().numpy())
        for (name, weights), (q, k) in zip(maps.items(), vectors, strict=True)
    }
