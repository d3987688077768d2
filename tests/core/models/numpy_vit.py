"""The ViT's forward pass in numpy alone, written from vit-report sections 1 and 2: what the torch model is held against."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from core.models.vit import ViTConfig

Array = NDArray[np.float64]
EPSILON = 1e-5


def linear(w: Mapping[str, Array], name: str, x: Array) -> Array:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def layer_norm(w: Mapping[str, Array], name: str, x: Array) -> Array:
    """Section 2.4; section 6 of iiga-equations."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + EPSILON) * w[f"{name}.weight"] + w[f"{name}.bias"]


def gelu(x: Array) -> Array:
    """Section 2.3's approximation."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def positions(length: int, width: int) -> Array:
    """Section 2.1 with the standard exponent, tlob's 2.4, option 1, and section 4 of iiga-equations."""
    encoding = np.zeros((length, width))
    for pos in range(length):
        for i in range(width):
            angle = pos / 10_000 ** ((i - i % 2) / width)
            encoding[pos, i] = math.sin(angle) if i % 2 == 0 else math.cos(angle)
    return encoding


def cut(image: Array, patch: int) -> Array:
    """One image (28, 28) -> (patches, patch * patch), by two loops."""
    side = len(image)
    return np.stack(
        [image[top : top + patch, left : left + patch].ravel() for top in range(0, side, patch) for left in range(0, side, patch)]
    )


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attend(w: Mapping[str, Array], name: str, qkv: list[Array], heads: int, barred: Array | float = 0.0) -> tuple[Array, Array]:
    """Section 2.2, tlob's 3.2 for each head: scores, scaling, softmax, weighted sum, heads side by side, projection.

    `barred` is added to the scores, -inf where a query may not look (iiga-equations section 9.2).
    """
    q, k, v = (linear(w, f"{name}.{letter}", x) for letter, x in zip("qkv", qkv, strict=True))
    size = q.shape[-1] // heads
    outputs, weights = [], []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores = q[..., part] @ k[..., part].swapaxes(-1, -2) / math.sqrt(size)
        weights.append(softmax(scores + barred))
        outputs.append(weights[-1] @ v[..., part])
    return linear(w, f"{name}.out", np.concatenate(outputs, axis=-1)), np.stack(weights, axis=-3)


def forward(w: Mapping[str, Array], config: ViTConfig, image: Array) -> tuple[Array, list[Array]]:
    """One image (28, 28) -> logits (classes,) and each layer's weights (heads, tokens, tokens)."""
    tokens = np.concatenate([w["class_token"][0], linear(w, "embedding", cut(image, config.patch))])
    x = tokens + 0.1 * positions(len(tokens), config.width)  # D11
    maps = []
    for i in range(config.layers):
        attended, weights = attend(w, f"layers.{i}.attention", [x, x, x], config.heads)
        x = layer_norm(w, f"layers.{i}.norm1", x + attended)
        inner = gelu(linear(w, f"layers.{i}.feed_forward.fc1", x))
        x = layer_norm(w, f"layers.{i}.norm2", x + linear(w, f"layers.{i}.feed_forward.fc2", inner))
        maps.append(weights)
    return linear(w, "head", x[0]), maps
