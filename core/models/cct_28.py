"""A compact convolutional transformer of images of 28 x 28 grey levels (Hassani et al. 2021): a card for the data set's own kind.

image (batch, 1, 28, 28) -> 3 x 3 convolutions, halved twice -> one cell per patch of 4 x 4 pixels -> Linear -> class token first
-> + 0.1 * positions -> the ViT's layers -> Linear on the class token -> logits

Only the tokens differ from the documented ViT: each cell has seen its patch and what lies around it. The class token stays where
the paper pools the sequence, so the ViT's maps explain both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, overload

import torch
from torch import Tensor, nn

from core.messages import BadValue
from core.models.garment_teacher import Residual, convolution
from core.models.vit import ViT, ViTConfig
from core.nn import AttentionMaps

HALVED: Final = 4
"""Pixels of the image, along a side, for each cell of the convolutions' last map."""


@dataclass(frozen=True, kw_only=True)
class CCT28Config(ViTConfig):
    """The ViT's configuration and that of the convolutions.

    Attributes:
        stem: channels of the first convolution. stages: channels after each halving, two of them.
        mirrored: answer with the mean of the image's and its mirror image's class token; training always takes one of them.
    """

    model: ClassVar[str] = "cct_28"
    layers: int = 2
    stem: int = 24
    stages: tuple[int, ...] = (64, 128)
    mirrored: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(self.stages))  # a card's JSON holds a list
        super().__post_init__()
        if self.patch != HALVED:
            raise BadValue("the convolutions of a CCT make one cell of {stride} pixels: its patch", stride=HALVED)
        if len(self.stages) != 2 or min(self.stem, *self.stages) < 1:
            raise BadValue("a CCT needs a stem, and {count} stages of one channel and one block at least", count=2)


class CCT28(ViT):
    """The whole network.

    >>> model = CCT28(CCT28Config()).eval()
    >>> model(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    config: CCT28Config
    convolutional = True

    def __init__(self, config: CCT28Config | None = None) -> None:
        c = config or CCT28Config()
        super().__init__(c)
        first, second = c.stages
        self.convolutions = nn.Sequential(
            convolution(c.colours, c.stem),
            nn.ReLU(),
            convolution(c.stem, first, stride=2),
            nn.ReLU(),
            Residual(first),
            convolution(first, second, stride=2),
            nn.ReLU(),
            Residual(second),
        )
        self.embedding = nn.Linear(second, c.width)

    def patches(self, x: Tensor) -> Tensor:
        """(batch, 1, side, side) -> (batch, patches, channels): what the convolutions make of each patch and its surroundings."""
        maps: Tensor = self.convolutions(x.contiguous(memory_format=torch.channels_last))  # (batch, channels, grid, grid)
        return maps.flatten(2).transpose(1, 2)  # -> (batch, patches, channels)

    @property
    def mirrored(self) -> bool:
        """As the configuration says."""
        return self.config.mirrored

    def _class_tokens(self, x: Tensor, *, keep: Tensor | None = None) -> Tensor:
        """As the ViT's; the mean with those of the mirror image where the configuration says so, in prediction."""
        tokens = super()._class_tokens(x, keep=keep)
        if self.training or not self.config.mirrored:
            return tokens
        return (tokens + super()._class_tokens(x.flip(-1), keep=keep)) / 2

    @overload
    def forward(self, x: Tensor, *, return_attention: Literal[False] = False, keep: Tensor | None = None) -> Tensor: ...
    @overload
    def forward(
        self, x: Tensor, *, return_attention: Literal[True], keep: Tensor | None = None
    ) -> tuple[Tensor, AttentionMaps]: ...
    def forward(
        self, x: Tensor, *, return_attention: bool = False, keep: Tensor | None = None
    ) -> Tensor | tuple[Tensor, AttentionMaps]:
        """As the ViT's; maps are of the image itself, logits the mean with its mirror image's where the configuration says so."""
        if not return_attention:
            return super().forward(x, keep=keep)
        logits, maps = super().forward(x, return_attention=True, keep=keep)  # of one pass: logits have gradients by the maps
        if self.config.mirrored and not self.training:
            logits = (logits + self.head(super()._class_tokens(x.flip(-1), keep=keep))) / 2
        return logits, maps
