"""Starting weights of a ViT whose heads attend to neighbouring patches, as a convolution's filters do.

After Zheng et al. 2024, "Structured initialization for vision transformers": only the starting values differ from a plain ViT,
and training may leave them behind.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from core.models.vit import ViT
from core.nn import EncoderLayer

NEIGHBOURS: Final = ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1))
"""Steps down and to the right, in patches; the heads take them in turn."""
SHARPNESS: Final = (10.0, 2.8)
"""Scale of queries and keys: in the first layer, where positions are scaled by 0.1, and in the others, after a LayerNorm."""


@torch.no_grad()
def start_local(model: ViT) -> None:
    """Set the weights so that each head of all layers but the last attends to one neighbour of its own patch.

    A head of width 2m reads the m fastest pairs of the positions. Turning the pair (sin wa, cos wa) by the angle wk gives the
    query of position a + k; its product with the key of position b, the sum of cos w(a + k - b), is largest at b = a + k. At
    first nothing but positions is written to these channels.
    """
    c = model.config
    size = c.width // c.heads
    pairs = size // 2
    frequencies = 10_000.0 ** (-torch.arange(0, 2 * pairs, 2) / c.width)
    model.embedding.weight[: 2 * pairs] = 0.0
    model.class_token.copy_(-model.positions.encoding[0])  # without a position it attends to all patches alike
    for index, layer in enumerate(model.layers[:-1]):
        assert isinstance(layer, EncoderLayer)
        layer.attention.out.weight[: 2 * pairs] = 0.0
        layer.feed_forward.fc2.weight[: 2 * pairs] = 0.0
        sharpness = SHARPNESS[min(index, 1)]
        for head in range(c.heads):
            down, right = NEIGHBOURS[(index * c.heads + head) % len(NEIGHBOURS)]
            rows = slice(head * size, (head + 1) * size)
            layer.attention.q.weight[rows] = sharpness * _turned(frequencies * (c.grid * down + right), size, c.width)
            layer.attention.k.weight[rows] = sharpness * _turned(torch.zeros(pairs), size, c.width)


def _turned(angles: Tensor, rows: int, columns: int) -> Tensor:
    """(rows, columns) of zeros, and 2 x 2 rotations along the diagonal, one per angle (radians)."""
    matrix = torch.zeros(rows, columns)
    for pair, angle in enumerate(angles):
        here = slice(2 * pair, 2 * pair + 2)
        matrix[here, here] = torch.stack([torch.stack([angle.cos(), angle.sin()]), torch.stack([-angle.sin(), angle.cos()])])
    return matrix
