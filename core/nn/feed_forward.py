"""The position-wise feed-forward network.

Sources: tlob-architecture section 5.3 (exact GELU), vit-report section 2.3 (tanh GELU), iiga-equations section 8 (ReLU).
"""

from __future__ import annotations

import math
from typing import Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.nn.plain import computes_plainly

Activation = Literal["gelu", "gelu_tanh", "relu"]
_SCALE: Final = torch.tensor(2 * math.sqrt(2 / math.pi), dtype=torch.float64)


class TanhGELU(nn.Module):
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (vit-report section 2.3).

    Since (1 + tanh z)/2 is sigmoid(2z), predictions on a processor take the sigmoid, which it computes faster.
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        if torch.is_grad_enabled() or x.device.type != "cpu" or computes_plainly():
            return F.gelu(x, approximate="tanh")
        y = torch.addcmul(_SCALE, x, x, value=0.044715 * float(_SCALE))
        return y.mul_(x).sigmoid_().mul_(x)  # in place: no further copies of a large batch


def activation_layer(name: Activation) -> nn.Module:
    """The activation module of that name.

    Raises:
        ValueError: for a name that is none of `Activation`.
    """
    if name == "relu":
        return nn.ReLU()
    if name == "gelu":
        return nn.GELU()
    if name == "gelu_tanh":
        return TanhGELU()
    raise ValueError(f"unknown activation {name!r}: choose gelu, gelu_tanh or relu")


class FeedForward(nn.Module):
    """act(x W1 + b1) W2 + b2, with dropout between the two.

    Args:
        width: size of the last axis that comes in.
        hidden: size of the middle layer; the documents take 4 * width.
        output: size that comes out; `width` where not given.
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        output: int | None = None,
        *,
        activation: Activation = "gelu",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.activation = activation_layer(activation)
        self.dropout = nn.Dropout(dropout)
        self.fc2 = nn.Linear(hidden, width if output is None else output)

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> (..., output)."""
        return self.fc2(self.dropout(self.activation(self.fc1(x))))
