"""The position-wise feed-forward network.

Sources: tlob-architecture section 5.3 (exact GELU), vit-report section 2.3 (tanh GELU), iiga-equations section 8 (ReLU);
Shazeer 2020, "GLU Variants Improve Transformer" (SwiGLU).
"""

from collections.abc import Callable
from functools import partial
from typing import Final, Literal

from torch import Tensor, nn
from torch.nn import functional as F

Activation = Literal["gelu", "gelu_tanh", "relu"]
ACTIVATIONS: Final[dict[Activation, Callable[[], nn.Module]]] = {
    "gelu": nn.GELU,
    "gelu_tanh": partial(nn.GELU, approximate="tanh"),  # x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    "relu": nn.ReLU,
}


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
        self.activation = ACTIVATIONS[activation]()
        self.dropout = nn.Dropout(dropout)
        self.fc2 = nn.Linear(hidden, width if output is None else output)

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> (..., output)."""
        return self.fc2(self.dropout(self.activation(self.fc1(x))))


class SwiGLU(nn.Module):
    """(silu(x W_gate) * x W_up) W_down, without biases.

    Args:
        width: size of the last axis that comes in and goes out. hidden: of the middle.
        linear: makes a linear layer without bias, of inputs and outputs.
    """

    def __init__(self, width: int, hidden: int, linear: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.gate_up = linear(width, 2 * hidden)
        self.down = linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> (..., width)."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        y: Tensor = self.down(F.silu(gate) * up)
        return y
