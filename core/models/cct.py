"""A compact convolutional transformer of the garments (Hassani et al. 2021): the ViT with a convolutional tokeniser.

image (batch, 1, 28, 28) -> [patches -> Linear] + [convolutions -> one cell per patch] -> class token first -> + 0.1 * positions
-> the ViT's layers -> Linear on the class token -> logits of the classes, and of "none of them"

It keeps the ViT's class token where the paper pools the sequence, and its linear embedding beside the convolutions, whose last
one starts at zero: so it can start from a trained ViT, and the same maps explain both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, overload

import torch
from torch import Tensor, nn

from core.messages import compose
from core.models.vit import ViT, ViTConfig
from core.nn import AttentionMaps


@dataclass(frozen=True, kw_only=True)
class CCTConfig(ViTConfig):
    """The ViT's configuration and that of the convolutions.

    Attributes:
        stem: channels at the image's size. cells: channels at half of it. Patches must be of 4 pixels.
        turns: whether one more output says that the image lies on a side or upside down.
        mirrored: answer with the mean of the image's and its mirror image's class token; training always takes one of them.
    """

    model: ClassVar[str] = "cct"
    width: int = 96
    hidden: int = 384
    stem: int = 24
    cells: int = 48
    turns: bool = False
    mirrored: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.stem, self.cells) < 1 or self.patch != 4:
            raise ValueError(compose("a CCT needs patches of 4 pixels, and at least one channel in each of its convolutions"))


def _convolution(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class CCT(ViT):
    """The whole network.

    >>> model = CCT(CCTConfig())
    >>> model(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    config: CCTConfig

    def __init__(self, config: CCTConfig | None = None) -> None:
        c = config or CCTConfig()
        super().__init__(c)
        self.convolutions = nn.Sequential(
            _convolution(1, c.stem),
            _convolution(c.stem, c.cells, stride=2),
            _convolution(c.cells, c.cells),
            _convolution(c.cells, c.width, stride=2),
            _convolution(c.width, c.width),
            nn.Conv2d(c.width, c.width, 1),
        )
        self.rejection = nn.Linear(c.width, 1)
        self.lying = nn.Linear(c.width, 1) if c.turns else None
        last = self.convolutions[-1]
        assert isinstance(last, nn.Conv2d) and last.bias is not None
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    def cells(self, x: Tensor) -> Tensor:
        """(batch, 1, side, side) -> (batch, patches, width): what the convolutions make of each patch and its surroundings."""
        maps: Tensor = self.convolutions(x)  # (batch, width, grid, grid)
        return maps.flatten(2).transpose(1, 2)  # -> (batch, patches, width)

    def tokens(self, x: Tensor, *, keep: Tensor | None = None) -> Tensor:
        """As the ViT's, with the convolutions' cell added to each patch's token."""
        tokens = super().tokens(x, keep=keep)  # (batch, 1 + patches, width)
        cells = self.cells(x)  # (batch, patches, width)
        if keep is not None:
            cells = cells.gather(1, keep[..., None].expand(-1, -1, cells.shape[-1]))  # (batch, kept, width)
        return torch.cat([tokens[:, :1], tokens[:, 1:] + cells], dim=1)

    def features(self, x: Tensor) -> Tensor:
        """As the ViT's; the mean with those of the mirror image where the configuration says so."""
        features = super().features(x)
        return (features + super().features(x.flip(-1))) / 2 if self.answers_mirrored else features

    @property
    def answers_mirrored(self) -> bool:
        """Whether a pass now is over the image and its mirror image."""
        return self.config.mirrored and not self.training

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
        logits, maps = (
            super().forward(x, return_attention=True, keep=keep) if return_attention else (super().forward(x, keep=keep), {})
        )
        if self.answers_mirrored:
            logits = (logits + super().forward(x.flip(-1), keep=keep)) / 2
        return (logits, maps) if return_attention else logits

    def logits_with_rejection(self, features: Tensor) -> Tensor:
        """(batch, width), the class token after the last layer -> (batch, classes + 1), "none of the classes" last."""
        return torch.cat([self.head(features), self.rejection(features)], dim=-1)
