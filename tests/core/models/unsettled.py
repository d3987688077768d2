"""A network in use, with nothing left at a value that hides a mistake."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import nn

Network = TypeVar("Network", bound=nn.Module)


def unsettled(kind: Callable[..., Network], *given: Any, **more: Any) -> Network:
    """One whose norms, biases and running statistics are random too."""
    torch.manual_seed(4)
    model = kind(*given, **more).eval()
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if name.endswith("running_var"):
                value.uniform_(0.5, 2.0)
            elif value.is_floating_point() and value.ndim == 1:
                value.add_(torch.randn_like(value) * 0.3)
    return model
