"""Attention masks: True where a query may look at a key; the other scores become -inf before the softmax (D20)."""

import torch
from torch import Tensor


def causal_mask(length: int, *, device: torch.device | None = None) -> Tensor:
    """(length, length): query i sees keys 0..i. Source: vit-report section 2.2, step 4."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def window_mask(length: int, window: int, *, device: torch.device | None = None) -> Tensor:
    """(length, length): query i sees keys with |i - j| <= window. Source: iiga-equations section 9.2.

    Raises:
        ValueError: for a negative window, under which a query could see nothing.
    """
    if window < 0:
        raise ValueError(f"a window of {window} leaves a query nothing to look at: it must be 0 or more")
    position = torch.arange(length, device=device)
    return (position[:, None] - position[None, :]).abs() <= window  # (length, 1) - (1, length) -> (length, length)


def padding_mask(lengths: Tensor, length: int) -> Tensor:
    """(batch, 1, 1, length): keys before each sequence's end; broadcasts over heads and queries."""
    before_end = torch.arange(length, device=lengths.device)[None, :] < lengths[:, None]  # (1, length) < (batch, 1)
    return before_end[:, None, None, :]  # (batch, length) -> (batch, 1, 1, length)
