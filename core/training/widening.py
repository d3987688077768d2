"""Begin a wider network with a narrower one's weights, computing the same to begin with (after Chen et al. 2016, Net2Net)."""

from __future__ import annotations

import torch
from torch import Tensor


@torch.no_grad()
def widened(weights: dict[str, Tensor], fresh: dict[str, Tensor]) -> dict[str, Tensor]:
    """A narrower network's weights in the shapes of `fresh`, a wider network of the same kind before training.

    Only the feed-forward networks may be wider: their new middle units keep the weights they were drawn with, and what they
    send on is weighted 0, so the function is the same and the new units learn from the first step on. Other tensors are
    handed on as they are; one that does not fit is left for loading to complain of.
    """
    found = dict(weights)
    for name, wide in fresh.items():
        narrow = weights.get(name)
        if narrow is None or ".feed_forward." not in name or narrow.shape == wide.shape:
            continue
        if ".fc1." in name and len(narrow) < len(wide):
            found[name] = torch.cat([narrow, wide[len(narrow) :].to(narrow)])
        elif name.endswith(".fc2.weight") and narrow.shape[1] < wide.shape[1]:
            found[name] = torch.cat([narrow, narrow.new_zeros(len(narrow), wide.shape[1] - narrow.shape[1])], dim=1)
    return found
