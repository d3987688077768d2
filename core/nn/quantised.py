"""A linear layer whose weights are whole numbers of 8 bits, with a scale and a least value for every 32 inputs of an output.

That is how GGUF keeps weights (its Q4_1 and Q8_0), so that a layer read from such a file is exactly the published one, in less
than a third of the memory of float32. The arithmetic stays float32.
"""

from functools import cache
from typing import Final

import torch
from torch import Tensor, nn

BLOCK: Final = 32
"""Inputs that share a scale."""
FEW: Final = 3
"""Positions up to which the whole numbers are multiplied as they are; from more on it is quicker to make floats of them first."""
SOME: Final = 16
"""Positions up to which it is quicker to scale the sums of the blocks than the weights, which are then more."""
FLOATS: Final = 2**20
"""Weights that are made floats at once: they stay in the processor's cache."""
SUMS: Final = 2**17
"""Sums of a position's blocks that are kept at once: fresh memory for all of the last layer's would take as long as the sums."""
BAG: Final = torch.ops.quantized.embedding_bag_byte_rowwise_offsets.default
TAIL: Final = 8
"""Bytes after each row: a scale of 1 and an offset of 0 in float32, as torch's kernel for rows of whole numbers wants them."""


class QuantisedLinear(nn.Module):
    """y[o] = sum over blocks b of scale[b, o] * (sum over i in b of q[i, o] x[i]) + least[b, o] * (sum over i in b of x[i]).

    Args:
        inputs: a multiple of 32. outputs: any number.
    """

    q: Tensor
    scale: Tensor
    least: Tensor

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.inputs, self.outputs, self.blocks = inputs, outputs, inputs // BLOCK
        self.register_buffer("q", torch.zeros(inputs, outputs + TAIL, dtype=torch.uint8))
        self.register_buffer("scale", torch.zeros(self.blocks, outputs))
        self.register_buffer("least", torch.zeros(self.blocks, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """(..., inputs) -> (..., outputs)."""
        rows = x.reshape(-1, self.inputs)
        few = len(rows) <= FEW and not x.requires_grad and x.device.type == "cpu"
        y = self._as_they_are(rows) if few else self._as_floats(rows)
        return y.view(*x.shape[:-1], self.outputs)

    def _as_they_are(self, x: Tensor) -> Tensor:
        """(n, inputs) -> (n, outputs): each block's rows, weighted by the inputs, are summed as a "bag" of embeddings."""
        n, step = len(x), max(1, SUMS // self.outputs)
        y = x.view(n, self.blocks, BLOCK).sum(dim=-1) @ self.least
        parts: list[tuple[Tensor, ...]] = [(self.q, self.scale, x)]
        if step < self.blocks:  # else views of the whole would take a twentieth of a token's time
            split = self.q.split(step * BLOCK), self.scale.split(step), x.split(step * BLOCK, dim=1)
            parts = list(zip(*split, strict=True))
        for q, scale, some in parts:
            rows, begins = _places(n, some.shape[1])
            sums = BAG(q, rows, begins, False, 0, False, some.reshape(-1), None, False)  # (n * blocks, outputs)
            y += sums.view(n, *scale.shape).mul_(scale).sum(dim=1)
        return y

    def _as_floats(self, x: Tensor) -> Tensor:
        """(n, inputs) -> (n, outputs): a few blocks at a time become float32 and are multiplied."""
        parts = x.view(-1, self.blocks, BLOCK)
        y = parts.sum(dim=-1) @ self.least
        step = max(1, FLOATS // (BLOCK * self.outputs))
        for first in range(0, self.blocks, step):
            last = min(first + step, self.blocks)
            q = self.q[first * BLOCK : last * BLOCK, : self.outputs].float().view(last - first, BLOCK, self.outputs)
            scale = self.scale[first:last, None]
            if len(x) <= SOME:
                y = y + (parts[:, first:last].transpose(0, 1) @ q * scale).sum(dim=0)
            else:
                y = y + x[:, first * BLOCK : last * BLOCK] @ (q * scale).flatten(0, 1)
        return y

    def rows(self, outputs: Tensor) -> Tensor:
        """Weights of some outputs as float32, (...) -> (..., inputs): the vectors of a table of embeddings."""
        flat = outputs.reshape(-1)
        q = self.q[:, flat].float().view(self.blocks, BLOCK, len(flat))
        weights = q * self.scale[:, None, flat] + self.least[:, None, flat]
        return weights.flatten(0, 1).T.reshape(*outputs.shape, self.inputs)


@cache
def _places(n: int, inputs: int) -> tuple[Tensor, Tensor]:
    """The rows that n positions sum, one position after another, and where each block begins among them."""
    rows = torch.arange(inputs, dtype=torch.int32).repeat(n)
    return rows, torch.arange(0, n * inputs, BLOCK, dtype=torch.int32)


def packed(q: Tensor) -> Tensor:
    """Whole numbers (inputs, outputs), uint8, with the tail that each row of a layer has."""
    tail = torch.tensor([1.0, 0.0]).view(torch.uint8).expand(len(q), TAIL)
    return torch.cat([q, tail], dim=1)
