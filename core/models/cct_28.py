"""A compact convolutional transformer of images of 28 x 28 grey levels (Hassani et al. 2021): a card for the data set's own kind.

image (batch, 1, 28, 28) -> 3 x 3 convolutions, halved twice -> one cell per patch of 4 x 4 pixels -> Linear -> class token first
-> + 0.1 * positions -> the ViT's layers -> Linear on the class token -> logits

Only the tokens differ from the documented ViT: each cell has seen its patch and what lies around it. The class token stays where
the paper pools the sequence, so the ViT's maps explain both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from torch import nn

from core.messages import BadValue
from core.models.cct import ConvolutionalViT
from core.models.garment_teacher import Residual, convolution
from core.models.vit import ViTConfig

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


class CCT28(ConvolutionalViT):
    """The whole network.

    >>> model = CCT28(CCT28Config()).eval()
    >>> model(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    config: CCT28Config

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
