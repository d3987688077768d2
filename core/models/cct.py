"""A compact convolutional transformer of the garments (Hassani et al. 2021), which reads photographs in colour.

image (batch, 3, side, side) -> convolutions -> one cell per patch of 16 x 16 pixels -> Linear -> class token first
-> + 0.1 * positions -> the ViT's layers -> Linear on the class token -> logits of the classes, and of "none of them"

Its convolutions are the first stages of EfficientNet-Lite0 (Tan and Le 2019; without squeeze-and-excitation, with ReLU6), so that
they can start from weights that were trained on ImageNet (`lab.training.cct`). They hold no batch normalisation: those
weights come with it multiplied in. The class token stays where the paper pools the sequence, so the ViT's maps explain both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.messages import BadValue
from core.models.vit import ViT, ViTConfig

STRIDE: Final = 16
"""Pixels of the image, along a side, for each cell of the convolutions' last map."""
KERNELS: Final = (3, 3, 5, 3, 5)
STRIDES: Final = (1, 2, 2, 2, 1)
"""Of the stages after the first convolution, which halves the image too."""
EXPANSION: Final = 6
"""Factor by which the middle of a block has more channels; 1 in the first stage's."""

EARLY: Final = 3
"""First blocks, with the largest maps: a cell of the last, 4 x 4 pixels, reads 6 pixels before its first and 12 behind it."""
WINDOW: Final = 56
"""Pixels along a side of what those blocks read for all cells that a patch reaches."""
BEFORE: Final = 20
"""Of these, pixels before the patch."""
REACHED: Final = (-3, 6)
"""First such cell, counted from the patch's first, and the one after the last."""


@dataclass(frozen=True, kw_only=True)
class CCTConfig(ViTConfig):
    """The ViT's configuration and that of the convolutions.

    Attributes:
        stem: channels of the first convolution. stages: channels of each stage. repeats: its blocks.
        turns: whether one more output says that the image lies on a side or upside down.
        mirrored: answer with the mean of the image's and its mirror image's class token; training always takes one of them.
    """

    model: ClassVar[str] = "cct"
    colours: ClassVar[int] = 3
    side: int = 128
    patch: int = STRIDE
    layers: int = 2
    stem: int = 32
    stages: tuple[int, ...] = (16, 24, 40, 80, 112)
    repeats: tuple[int, ...] = (1, 2, 2, 3, 3)
    turns: bool = False
    mirrored: bool = False

    def __post_init__(self) -> None:
        for name in ("stages", "repeats"):
            object.__setattr__(self, name, tuple(getattr(self, name)))  # a card's JSON holds lists
        super().__post_init__()
        if self.patch != STRIDE:
            raise BadValue("the convolutions of a CCT make one cell of {stride} pixels: its patch", stride=STRIDE)
        if (
            len(self.stages) != len(KERNELS)
            or len(self.repeats) != len(KERNELS)
            or min(self.stem, *self.stages, *self.repeats) < 1
        ):
            raise BadValue("a CCT needs a stem, and {count} stages of one channel and one block at least", count=len(KERNELS))


class Padded(nn.Conv2d):
    """A convolution of a map (batch, inputs, h, w) to (batch, outputs, h / stride, w / stride), for even sizes where it strides.

    A stride of 2 leaves out the row and the column of padding that TensorFlow's "same" leaves out, above and to the left: here by
    a row and a column of output too many, which takes less time than a padded copy of the map.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, *, stride: int = 1, groups: int = 1) -> None:
        super().__init__(inputs, outputs, kernel, stride, padding=kernel // 2 + (stride > 1), groups=groups)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, inputs, h, w) -> (batch, outputs, h / stride, w / stride)."""
        maps = super().forward(x)
        return maps if self.stride[0] == 1 else maps[..., 1:, 1:]


class LiteBlock(nn.Module):
    """1 x 1 to more channels, one filter a channel, 1 x 1 to fewer (Sandler et al. 2018); the input is added where it fits."""

    def __init__(self, inputs: int, outputs: int, kernel: int, *, stride: int, expansion: int) -> None:
        super().__init__()
        middle = inputs * expansion
        self.expand = Padded(inputs, middle, 1) if expansion > 1 else None
        self.depthwise = Padded(middle, middle, kernel, stride=stride, groups=middle)
        self.project = Padded(middle, outputs, 1)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """(batch, inputs, h, w) -> (batch, outputs, h / stride, w / stride)."""
        inner = x if self.expand is None else F.relu6(self.expand(x), inplace=True)
        out: Tensor = self.project(F.relu6(self.depthwise(inner), inplace=True))
        return x + out if self.adds else out


class Convolutions(nn.Module):
    """The stages: (batch, 3, side, side) -> (batch, channels, side / 16, side / 16)."""

    def __init__(self, config: CCTConfig) -> None:
        super().__init__()
        self.stem = Padded(config.colours, config.stem, 3, stride=2)
        blocks = []
        widths = pairwise((config.stem, *config.stages))
        for index, ((before, after), repeats) in enumerate(zip(widths, config.repeats, strict=True)):
            for number in range(repeats):
                inputs, stride = (before, STRIDES[index]) if number == 0 else (after, 1)
                blocks.append(LiteBlock(inputs, after, KERNELS[index], stride=stride, expansion=EXPANSION if index else 1))
        self.blocks = nn.Sequential(*blocks)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, side, side) -> (batch, channels, side / 16, side / 16)."""
        return self._late(self._early(x))

    def _early(self, x: Tensor) -> Tensor:
        """(batch, 3, side, side) -> (batch, channels, side / 4, side / 4)."""
        maps: Tensor = self.blocks[:EARLY](F.relu6(self.stem(x), inplace=True))
        return maps

    def _late(self, maps: Tensor) -> Tensor:
        """(batch, channels, side / 4, side / 4) -> (batch, channels, side / 16, side / 16)."""
        out: Tensor = self.blocks[EARLY:](maps)
        return out

    def without(self, x: Tensor, behind: Tensor) -> Iterator[Tensor]:
        """Maps (patches of a row, channels, side / 16, side / 16) of copies of one image, row after row of patches.

        In each copy one patch is that of `behind`. The first blocks run on a window around it, as the rest of their maps is the
        whole image's: a tenth of their time.

        Args:
            x, behind: (3, side, side).
        """
        side = x.shape[-1]
        grid, size = side // STRIDE, min(WINDOW, side)
        whole = self._early(x[None].contiguous(memory_format=torch.channels_last))

        def spans(patch: int) -> tuple[int, slice, slice]:
            """The window's first pixel along a side, the cells that the patch reaches, and the same counted in the window."""
            start = min(max(STRIDE * patch - BEFORE, 0), side - size)
            first, after = (min(max(patch * STRIDE // 4 + end, 0), side // 4) for end in REACHED)
            return start, slice(first, after), slice(first - start // 4, after - start // 4)

        places = [spans(patch) for patch in range(grid)]
        for row, (top, rows, inner_rows) in enumerate(places):
            windows = []
            for column, (left, _columns, _inner) in enumerate(places):
                window = x[:, top : top + size, left : left + size].clone()
                pixels = [slice(STRIDE * at - start, STRIDE * (at + 1) - start) for at, start in ((row, top), (column, left))]
                window[:, pixels[0], pixels[1]] = behind[
                    :, STRIDE * row : STRIDE * (row + 1), STRIDE * column : STRIDE * (column + 1)
                ]
                windows.append(window)
            seen = self._early(torch.stack(windows).contiguous(memory_format=torch.channels_last))
            maps = whole.repeat(grid, 1, 1, 1).contiguous(memory_format=torch.channels_last)
            for column, (_left, columns, inner_columns) in enumerate(places):
                maps[column, :, rows, columns] = seen[column, :, inner_rows, inner_columns]
            yield self._late(maps)


class CCT(ViT):
    """The whole network, whose patches' numbers come from `convolutions`.

    >>> model = CCT(CCTConfig())
    >>> model(torch.zeros(2, 3, 128, 128)).shape
    torch.Size([2, 10])
    """

    config: CCTConfig
    convolutions: Convolutions
    rejection: nn.Linear
    convolutional = True

    def __init__(self, config: CCTConfig | None = None) -> None:
        c = config or CCTConfig()
        super().__init__(c)
        self.mirrored = c.mirrored
        self.convolutions = Convolutions(c)
        self.embedding = nn.Linear(c.stages[-1], c.width)
        self.rejection = nn.Linear(c.width, 1)
        self.lying = nn.Linear(c.width, 1) if c.turns else None

    def patches(self, x: Tensor) -> Tensor:
        """(batch, colours, side, side) -> (batch, patches, channels): what is made of each patch and its surroundings."""
        # filters of single channels are several times faster with channels last
        maps: Tensor = self.convolutions(x.contiguous(memory_format=torch.channels_last))  # (batch, channels, grid, grid)
        return _rows(maps)

    def features_without(self, x: Tensor, behind: Tensor) -> Iterator[Tensor]:
        """`features` (patches of a row, width) of copies of one image, each with one patch replaced, row after row of patches.

        Args:
            x, behind: (3, side, side), the image and what replaces a patch of it.
        """

        def each(image: Tensor, other: Tensor) -> Iterator[Tensor]:
            return (self._read(self._tokens(_rows(maps))) for maps in self.convolutions.without(image, other))

        if not self.mirrored:
            yield from each(x, behind)
            return
        for one, mirrored in zip(each(x, behind), each(x.flip(-1), behind.flip(-1)), strict=True):
            yield (one + mirrored.flip(0)) / 2

    def features(self, x: Tensor) -> Tensor:
        """As the ViT's; the mean with those of the mirror image where the configuration says so, in prediction."""
        tokens = super().features(x)
        if self.training or not self.mirrored:
            return tokens
        return (tokens + super().features(x.flip(-1))) / 2

    def _beside_maps(self, logits: Tensor, x: Tensor) -> Tensor:
        """The mean with the mirror image's where the configuration says so; maps stay those of the image itself."""
        if self.training or not self.mirrored:
            return logits
        return (logits + self.head(super().features(x.flip(-1)))) / 2

    def logits_with_rejection(self, features: Tensor) -> Tensor:
        """(batch, width), the class token after the last layer -> (batch, classes + 1), "none of the classes" last."""
        return torch.cat([self.head(features), self.rejection(features)], dim=-1)


def _rows(maps: Tensor) -> Tensor:
    """(batch, channels, grid, grid) -> (batch, patches, channels), row by row."""
    return maps.flatten(2).transpose(1, 2)
