"""Activations and their derivatives, as the documents write them (vit-report sections 2.3 and 3.3; iiga-equations 3.2 and 8.2).

Tensors of any shape in, the same shape out; written without autograd, with which the tests compare them.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

Array = NDArray[np.float64]
SLOPE: Final = math.sqrt(2 / math.pi)
CUBIC: Final = 0.044715
"""The two constants of the tanh form of GELU."""


def relu(x: Tensor) -> Tensor:
    """max(0, x) (vit-report section 3.3, iiga-equations section 8.2)."""
    return x.clamp_min(0)


def relu_derivative(x: Tensor) -> Tensor:
    """1 where x > 0, else 0 (vit-report section 3.3)."""
    return (x > 0).to(x.dtype)


def relu6(x: Tensor) -> Tensor:
    """min(max(0, x), 6) (iiga-equations section 3.2)."""
    return x.clamp(0, 6)


def relu6_derivative(x: Tensor) -> Tensor:
    """1 where 0 < x < 6, else 0."""
    return ((x > 0) & (x < 6)).to(x.dtype)


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + e^-x) (vit-report section 3.3), by e^-|x|, which does not overflow."""
    small = torch.exp(-x.abs())
    return torch.where(x >= 0, 1 / (1 + small), small / (1 + small))


def sigmoid_derivative(x: Tensor) -> Tensor:
    """sigma(x) (1 - sigma(x)) (vit-report section 3.3)."""
    y = sigmoid(x)
    return y * (1 - y)


def tanh(x: Tensor) -> Tensor:
    """(e^x - e^-x) / (e^x + e^-x) (vit-report section 3.3), both sides divided by e^|x|."""
    small = torch.exp(-2 * x.abs())
    return x.sign() * (1 - small) / (1 + small)


def tanh_derivative(x: Tensor) -> Tensor:
    """1 - tanh^2(x) (vit-report section 3.3)."""
    return 1 - tanh(x) ** 2


def normal_cdf(x: Tensor) -> Tensor:
    """Phi(x): the share of a standard normal distribution below x."""
    return 0.5 * torch.erfc(-x / math.sqrt(2))


def normal_pdf(x: Tensor) -> Tensor:
    """phi(x) = e^(-x^2/2) / sqrt(2 pi)."""
    return torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)


def gelu(x: Tensor) -> Tensor:
    """x Phi(x): the exact GELU (Hendrycks and Gimpel 2016; tlob-architecture section 5.3)."""
    return x * normal_cdf(x)


def gelu_derivative(x: Tensor) -> Tensor:
    """Phi(x) + x phi(x) (vit-report section 2.3): exact for `gelu`; the report also uses it for the tanh form."""
    return normal_cdf(x) + x * normal_pdf(x)


def gelu_tanh(x: Tensor) -> Tensor:
    """0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (vit-report sections 2.3 and 3.3)."""
    return 0.5 * x * (1 + torch.tanh(SLOPE * (x + CUBIC * x**3)))


def gelu_tanh_derivative(x: Tensor) -> Tensor:
    """The true derivative of `gelu_tanh`: 0.5 (1 + t) + 0.5 x (1 - t^2) sqrt(2/pi) (1 + 3 * 0.044715 x^2), t its tanh."""
    t = torch.tanh(SLOPE * (x + CUBIC * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * SLOPE * (1 + 3 * CUBIC * x**2)


def softmax(x: Tensor) -> Tensor:
    """e^(x_i - max x) / sum_j e^(x_j - max x), over the last axis (vit-report section 3.3, iiga-equations section 16.1).

    Without the maximum, e^x overflows from x = 89 on in float32.
    """
    powers = torch.exp(x - x.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


def softmax_without_maximum(x: Tensor) -> Tensor:
    """Softmax without subtracting the maximum, which overflows (iiga-equations sections 5.4 and 16.1)."""
    powers = torch.exp(x)
    return powers / powers.sum(dim=-1, keepdim=True)


ACTIVATIONS: Final[dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]]] = {
    "relu": (relu, relu_derivative),
    "relu6": (relu6, relu6_derivative),
    "gelu": (gelu, gelu_derivative),
    "gelu_tanh": (gelu_tanh, gelu_tanh_derivative),
    "sigmoid": (sigmoid, sigmoid_derivative),
    "tanh": (tanh, tanh_derivative),
}
"""Activation and derivative by name."""


def compared(name: str, x: float) -> dict[str, float]:
    """An activation at a point: "value" and "derivative" as written here, "torch" and "autograd" for comparison."""
    value, derivative = ACTIVATIONS[name]
    theirs: dict[str, Callable[[Tensor], Tensor]] = {
        "relu": F.relu,
        "relu6": F.relu6,
        "gelu": F.gelu,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "gelu_tanh": lambda at: F.gelu(at, approximate="tanh"),
    }
    at = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    y = theirs[name](at)
    slope = torch.autograd.grad(y, at)[0]
    plain = at.detach()
    written = {"value": float(value(plain)), "derivative": float(derivative(plain))}
    return written | {"torch": float(y.detach()), "autograd": float(slope)}


def curves() -> tuple[Array, dict[str, tuple[Array, Array]]]:
    """An axis (n,) from -4 to 8, and every activation with its derivative over it."""
    x = torch.linspace(-4, 8, 241, dtype=torch.float64)
    return x.numpy(), {name: (value(x).numpy(), derivative(x).numpy()) for name, (value, derivative) in ACTIVATIONS.items()}
