"""A small residual convolutional network for 28 x 28 images: the teacher of a ViT in training (`lab.training.vit`).

After He et al. 2016; the distillation it serves is Hinton et al. 2015 and, for transformers, Touvron et al. 2021.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.models.config import ModelConfig


@dataclass(frozen=True, kw_only=True)
class TeacherConfig(ModelConfig):
    """Channels of the stem at 28 x 28 and of the stages at 14 x 14, 7 x 7 and 4 x 4."""

    model: ClassVar[str] = "garment-teacher"
    stem: int = 16
    stages: tuple[int, ...] = (32, 64, 128)
    classes: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "stages", tuple(self.stages))  # a card's JSON holds a list


def convolution(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """3 x 3 and batch normalisation: (batch, inputs, h, w) -> (batch, outputs, ceil(h / stride), ceil(w / stride))."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs))


class Residual(nn.Module):
    """relu(x + conv(relu(conv(x))))."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = convolution(channels, channels), convolution(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, h, w) -> the same shape."""
        return F.relu(x + self.second(F.relu(self.first(x))))


class GarmentTeacher(nn.Module):
    """(batch, 1, 28, 28) in normalised units -> logits (batch, classes)."""

    def __init__(self, config: TeacherConfig | None = None) -> None:
        super().__init__()
        c = self.config = config or TeacherConfig()
        self.stem = convolution(1, c.stem)
        widths = (c.stem, *c.stages)
        self.stages = nn.ModuleList(
            nn.Sequential(convolution(before, after, stride=2), nn.ReLU(), Residual(after))
            for before, after in zip(widths, c.stages, strict=False)
        )
        self.head = nn.Linear(c.stages[-1], c.classes)

    def lay_out_for_speed(self) -> None:
        """Store the convolutions' weights with channels last, which is faster; no result changes."""
        for parameter in self.parameters():
            if parameter.dim() == 4:
                parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        x = F.relu(self.stem(x))
        for stage in self.stages:
            x = stage(x)
        logits: Tensor = self.head(x.mean(dim=(2, 3)))
        return logits
