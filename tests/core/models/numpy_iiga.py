"""IIGA's sub-layers in numpy alone, written from sections 4 to 10 of the document."""

from collections.abc import Mapping

import numpy as np

from core.models.iiga import IIGAConfig
from tests.core.models.numpy_vit import Array, attend, layer_norm, linear, positions


def sublayer(w: Mapping[str, Array], name: str, x: Array, config: IIGAConfig, window: int | None) -> tuple[Array, Array]:
    """Section 9.1, or section 7's residual."""

    def add(x: Array, y: Array, norm: str) -> Array:
        if config.residual == "norm_of_sum":
            return layer_norm(w, f"{name}.{norm}", x + y)
        return x + layer_norm(w, f"{name}.{norm}", y)

    apart = np.abs(np.subtract.outer(range(len(x)), range(len(x))))
    barred = 0.0 if window is None else np.where(apart > window, -np.inf, 0.0)
    y, weights = attend(w, f"{name}.attention", [x, x, x], config.heads, barred)
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
