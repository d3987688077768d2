"""Gradient relevance: each position's relevance for one class, from attention weights and the class's gradients at them.

Source: Chefer, Gur and Wolf 2021, "Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder
Transformers", section 3.2, equations 5 and 6 (self-attention):

    A_bar = mean over heads of max(0, gradient * A),    R <- R + A_bar R,    R = I before the first layer

Rollout is the same for every class; gradient relevance keeps what speaks for the class (D23).
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.nn.attention import AttentionMaps

Scored = Callable[[Tensor], tuple[Tensor, AttentionMaps]]
"""Inputs (batch, ...) -> scores (batch, classes), and the maps that they were computed with, first layer first."""


def attention_gradients(model: Scored, inputs: Tensor, label: int) -> tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]]:
    """Each layer's weights for one input, and the gradients of one class's score at them.

    Args:
        inputs: (1, ...).

    Returns:
        Weights and gradients, each (heads, n, n) a layer, first layer first.

    Raises:
        ValueError: for more than one input, or a class there is not.
    """
    if len(inputs) != 1:
        raise ValueError(f"relevance is computed for one input at a time, not for {len(inputs)}")
    with torch.enable_grad():
        # The weights of the parameters need no gradient; the input's suffices to have autograd keep the maps.
        scores, maps = model(inputs.detach().requires_grad_())
        if not 0 <= label < scores.shape[-1]:
            raise ValueError(f"there is no class {label}: classes are 0 to {scores.shape[-1] - 1}")
        layers = list(maps.values())
        gradients = torch.autograd.grad(scores[0, label], layers)
    return ([one[0].detach().float().cpu().numpy() for one in layers], [one[0].float().cpu().numpy() for one in gradients])


def relevance(layers: Sequence[NDArray[np.floating]], gradients: Sequence[NDArray[np.floating]]) -> NDArray[np.float64]:
    """Equations 5 and 6 over the layers.

    Args:
        layers: weights (heads, n, n), first layer first. gradients: of the class's score at them.

    Returns:
        (n, n), float64: row i holds the relevance of each input position for position i and the class. A classifier that
        reads one position (the class token) is explained by that row; its own entry holds the identity's 1 besides.

    Raises:
        ValueError: for no layers, or weights and gradients that do not fit each other.
    """
    if not layers or len(layers) != len(gradients):
        raise ValueError(f"{len(layers)} maps and {len(gradients)} gradients: give one of each a layer")
    size = layers[0].shape[-1]
    whole = np.eye(size)
    for weights, gradient in zip(layers, gradients, strict=True):
        if weights.shape != gradient.shape or weights.shape[-2:] != (size, size):
            raise ValueError(f"weights of shape {weights.shape} and gradients of {gradient.shape}: both must be (heads, n, n)")
        whole = whole + positive(weights, gradient) @ whole
    return whole


def positive(weights: NDArray[np.floating], gradient: NDArray[np.floating]) -> NDArray[np.float64]:
    """Equation 5: (heads, n, n) twice -> (n, n), the mean over heads of what speaks for the class."""
    return np.asarray((np.asarray(weights, dtype=np.float64) * gradient).clip(min=0).mean(axis=0))
