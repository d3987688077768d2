"""IIGA's sub-layers in numpy alone, written from sections 4 to 10 of the document."""

import math
from collections.abc import Mapping

import numpy as np

from core.models.iiga import IIGAConfig
from tests.core.models.numpy_vit import Array, layer_norm, linear


def positions(steps: int, width: int) -> Array:
    """Section 4."""
    return np.array(
        [[(math.cos if i % 2 else math.sin)(pos / 10000 ** ((i - i % 2) / width)) for i in range(width)] for pos in range(steps)]
    )


def attend(w: Mapping[str, Array], name: str, x: Array, heads: int, window: int | None) -> tuple[Array, Array]:
    """Section 5, with section 9.2's window or without, of one sequence (T, D)."""
    q, k, v = (linear(w, f"{name}.{letter}", x) for letter in "qkv")
    steps, size = len(x), x.shape[1] // heads
    weights = np.zeros((heads, steps, steps))
    out = np.zeros_like(x)
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        for i in range(steps):
            seen = [j for j in range(steps) if window is None or abs(i - j) <= window]
            scores = np.array([q[i, part] @ k[j, part] / math.sqrt(size) for j in seen])
            shares = np.exp(scores) / np.exp(scores).sum()
            weights[head, i, seen] = shares
            out[i, part] = sum(share * v[j, part] for share, j in zip(shares, seen, strict=True))
    return linear(w, f"{name}.out", out), weights


def sublayer(w: Mapping[str, Array], name: str, x: Array, config: IIGAConfig, window: int | None) -> tuple[Array, Array]:
    """Section 9.1, or section 7's residual."""

    def add(x: Array, y: Array, norm: str) -> Array:
        if config.residual == "norm_of_sum":
            return layer_norm(w, f"{name}.{norm}", x + y)
        return x + layer_norm(w, f"{name}.{norm}", y)

    y, weights = attend(w, f"{name}.attention", x, config.heads, window)
    x = add(x, y, "norm1")
    hidden = np.maximum(0, linear(w, f"{name}.ffn.fc1", x))
    return add(x, linear(w, f"{name}.ffn.fc2", hidden), "norm2"), weights


def after_the_front(w: Mapping[str, Array], encoded: Array, config: IIGAConfig) -> tuple[Array, list[Array]]:
    """Sections 4, 9.3 and 10: (T, D) of one sequence -> logits (T, V) and each sub-layer's weights."""
    x = encoded + positions(*encoded.shape)
    maps = []
    for index in range(2 * config.layers):
        x, weights = sublayer(w, f"layers.{index}", x, config, config.window if index % 2 == 0 else None)
        maps.append(weights)
    return linear(w, "decoder", x), maps
