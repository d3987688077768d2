"""Initial weights by Xavier, He and the vit-report, and the size of a signal through many layers under each.

Sources: iiga-equations section 16.2, vit-report sections 2.2, 2.3 and 4 (listing 1); Glorot and Bengio 2010, He et al. 2015.
"""

import math
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.lecture.activations import ACTIVATIONS

Scheme = Literal["xavier", "he", "report_qkv", "report_out", "report_second", "normal"]
SCHEMES: Final[tuple[Scheme, ...]] = ("xavier", "he", "report_qkv", "report_out", "report_second", "normal")


def xavier_bound(fan_in: int, fan_out: int) -> float:
    """sqrt(6 / (fan_in + fan_out)): W is uniform within plus and minus it, biases are 0 (iiga-equations section 16.2)."""
    return math.sqrt(6 / (fan_in + fan_out))


def he_std(fan_in: int) -> float:
    """sqrt(2 / fan_in): the standard deviation for a layer before a ReLU (vit-report sections 2.2, 2.3 and 4)."""
    return math.sqrt(2 / fan_in)


def report_qkv_bound(width: int) -> float:
    """0.5 sqrt(2 / d_model): W_Q, W_K and W_V are uniform within it (vit-report section 4, listing 1)."""
    return 0.5 * he_std(width)


def report_out_bound(width: int) -> float:
    """0.8 sqrt(2 / d_model): W_O is uniform within it (vit-report section 4, listing 1)."""
    return 0.8 * he_std(width)


def report_second_scale(hidden: int) -> float:
    """0.5 sqrt(1 / d_ff): the scale of W_2 (vit-report section 2.3); b_1 starts at 0.01 and b_2 at 0."""
    return 0.5 * math.sqrt(1 / hidden)


def weight_std(scheme: Scheme, fan_in: int, fan_out: int) -> float:
    """Standard deviation of a weight; that of a uniform distribution on (-a, a) is a / sqrt(3)."""
    return {
        "xavier": xavier_bound(fan_in, fan_out) / math.sqrt(3),
        "he": he_std(fan_in),
        "report_qkv": report_qkv_bound(fan_in) / math.sqrt(3),
        "report_out": report_out_bound(fan_in) / math.sqrt(3),
        "report_second": report_second_scale(fan_in),
        "normal": 1.0,
    }[scheme]


def initial_weights(scheme: Scheme, fan_in: int, fan_out: int, generator: torch.Generator) -> Tensor:
    """(fan_in, fan_out) random weights, float64; uniform where the document says so, else normal."""
    std = weight_std(scheme, fan_in, fan_out)
    if scheme in ("xavier", "report_qkv", "report_out"):
        bound = std * math.sqrt(3)
        return (torch.rand(fan_in, fan_out, generator=generator, dtype=torch.float64) * 2 - 1) * bound
    return torch.randn(fan_in, fan_out, generator=generator, dtype=torch.float64) * std


APART: Final = 1e-3
"""Distance of the two close inputs that are sent along with the others."""


def signal(scheme: Scheme, activation: str, *, layers: int = 12, width: int = 128) -> tuple[NDArray[np.float64], float]:
    """Root mean square (layers + 1,) of 64 random inputs and of each layer, and what becomes of a small difference.

    That is the distance of the outputs of two inputs that are `APART` apart.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, width, generator=generator, dtype=torch.float64)
    apply, _derivative = ACTIVATIONS[activation]
    sizes = [float(x.square().mean().sqrt())]
    near = x[0] + APART / math.sqrt(width)
    for _layer in range(layers):
        weights = initial_weights(scheme, width, width, generator)
        x, near = apply(x @ weights), apply(near @ weights)
        sizes.append(float(x.square().mean().sqrt()))
    return np.array(sizes), float((near - x[0]).norm())
