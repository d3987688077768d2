"""Starts a wider network from a narrower one's weights with the same function (after Chen et al. 2016, Net2Net)."""

from __future__ import annotations

import torch
from torch import Tensor


@torch.no_grad()
def widened(weights: dict[str, Tensor], fresh: dict[str, Tensor]) -> dict[str, Tensor]:
    """A narrower network's weights in the shapes of `fresh`, a wider network of the same kind before training.

    Only the feed-forward networks may be wider. Their new middle units keep their random incoming weights and get outgoing
    weights of 0, so the function stays the same and the units learn from the first step on. Other tensors stay as they are; one
    that does not fit is refused when the weights are loaded.
    """
    result = dict(weights)
    for name, wide in fresh.items():
        narrow = weights.get(name)
        if narrow is None or ".feed_forward." not in name or narrow.shape == wide.shape:
            continue
        if ".fc1." in name and len(narrow) < len(wide):
            result[name] = torch.cat([narrow, wide[len(narrow) :].to(narrow)])
        elif name.endswith(".fc2.weight") and narrow.shape[1] < wide.shape[1]:
            result[name] = torch.cat([narrow, narrow.new_zeros(len(narrow), wide.shape[1] - narrow.shape[1])], dim=1)
    return result
