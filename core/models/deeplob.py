"""DeepLOB: convolutions over the levels of the book, an inception module over time, an LSTM (Zhang, Zohren and Roberts 2019).

    book (batch, 128, 40) -> 3 blocks of convolutions -> inception -> LSTM -> Linear

"DeepLOB: Deep Convolutional Neural Networks for Limit Order Books", IEEE Transactions on Signal Processing 67(11), figures 3 and
4. The paper counts about 60,000 parameters; this network with one output has 60,947.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar, Literal, overload

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.messages import BadValue
from core.models.config import ModelConfig, check_window
from core.models.tlob import CLASSES
from core.nn import AttentionMaps

SLOPE = 0.01
"""Of the leaky rectifier below zero (section IV-B)."""
FILTERS, INCEPTION_FILTERS, HIDDEN = 16, 32, 64
"""Channels of the convolutional blocks and of each of the inception module's three branches, units of the LSTM (figure 3)."""
LEVELS = 10
"""Levels a side that the third block's filters span."""


@dataclass(frozen=True, kw_only=True)
class DeepLOBConfig(ModelConfig):
    """Shape of the network; its layers are the paper's.

    Attributes:
        steps: timesteps in a window (the paper has 100).
        features: book columns a timestep, 40.
        outputs: classifier heads on the LSTM's last state.
    """

    model: ClassVar[str] = "deeplob"
    steps: int = 128
    features: int = 40
    outputs: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.features != 4 * LEVELS or min(self.steps, self.outputs) < 1:
            raise BadValue(
                "DeepLOB reads {columns} book columns, in windows of 1 step or more, for 1 output or more", columns=4 * LEVELS
            )


class ColumnConvolution(nn.Conv2d):
    """A convolution across book columns whose filters do not overlap, with the channels last.

    One product of matrices: several times as fast on one window as the general convolution.
    """

    def __init__(self, channels: int, across: int) -> None:
        super().__init__(channels, FILTERS, (1, across), stride=(1, across))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, steps, columns, channels) -> (batch, steps, columns / across, FILTERS)."""
        together = x.unflatten(2, (-1, self.kernel_size[1])).flatten(3)  # -> (batch, steps, columns / across, across x channels)
        return F.linear(together, self.weight[:, :, 0].transpose(1, 2).flatten(1), self.bias)


class StepConvolution(nn.Conv2d):
    """A convolution over steps that keeps their number, with the channels last, as one product of matrices.

    An even number of steps reads one more step after than before, as Keras pads "same".
    """

    def __init__(self, channels: int, filters: int, steps: int) -> None:
        super().__init__(channels, filters, (steps, 1))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, steps, ..., channels) -> (batch, steps, ..., filters)."""
        reach, steps = self.kernel_size[0], x.shape[1]
        if reach > 1:
            padded = F.pad(x, (0, 0) * (x.ndim - 2) + ((reach - 1) // 2, reach // 2))
            x = torch.cat([padded[:, i : i + steps] for i in range(reach)], dim=-1)  # -> (batch, steps, ..., reach x channels)
        return F.linear(x, self.weight[..., 0].transpose(1, 2).flatten(1), self.bias)


class ConvolutionBlock(nn.Sequential):
    """One convolution across book columns, then two over four steps each, which keep the number of steps (figure 3).

    (batch, steps, columns, channels) -> (batch, steps, columns / across, FILTERS). Layers are numbered as in earlier weights.

    Args:
        channels: of the input. across: how many columns one filter reads, and how far it then moves.
    """

    def __init__(self, channels: int, across: int) -> None:
        layers: dict[str, nn.Module] = {"0": ColumnConvolution(channels, across), "1": nn.LeakyReLU(SLOPE)}
        for number in (3, 6):
            layers |= {f"{number}": StepConvolution(FILTERS, FILTERS, 4), f"{number + 1}": nn.LeakyReLU(SLOPE)}
        super().__init__(OrderedDict(layers))


class Inception(nn.Module):
    """Three views of the steps around each step, side by side: filters of 3 and of 5 steps, and a maximum of 3 (figure 4)."""

    def __init__(self) -> None:
        super().__init__()

        def convolution(channels: int, steps: int) -> list[nn.Module]:
            return [StepConvolution(channels, INCEPTION_FILTERS, steps), nn.LeakyReLU(SLOPE)]

        self.branches = nn.ModuleList([
            nn.Sequential(*convolution(FILTERS, 1), *convolution(INCEPTION_FILTERS, 3)),
            nn.Sequential(*convolution(FILTERS, 1), *convolution(INCEPTION_FILTERS, 5)),
            nn.Sequential(nn.MaxPool2d((3, 1), stride=1, padding=(1, 0)), *convolution(FILTERS, 1)),
        ])  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """(batch, steps, FILTERS) -> (batch, steps, 3 INCEPTION_FILTERS)."""
        return torch.cat([branch(x) for branch in self.branches], dim=-1)


class DeepLOB(nn.Module):
    """The whole network.

    >>> model = DeepLOB(DeepLOBConfig())
    >>> model(torch.zeros(2, 128, 40)).shape
    torch.Size([2, 3])
    """

    def __init__(self, config: DeepLOBConfig) -> None:
        super().__init__()
        self.config = config
        self.blocks = nn.Sequential(ConvolutionBlock(1, 2), ConvolutionBlock(FILTERS, 2), ConvolutionBlock(FILTERS, LEVELS))
        self.inception = Inception()
        self.lstm = nn.LSTM(3 * INCEPTION_FILTERS, HIDDEN, batch_first=True)
        self.classifier = nn.Linear(HIDDEN, config.outputs * len(CLASSES))

    @overload
    def forward(self, x: Tensor, *, return_attention: Literal[False] = False) -> Tensor: ...
    @overload
    def forward(self, x: Tensor, *, return_attention: Literal[True]) -> tuple[Tensor, AttentionMaps]: ...
    def forward(self, x: Tensor, *, return_attention: bool = False) -> Tensor | tuple[Tensor, AttentionMaps]:
        """Logits for DOWN, STATIONARY, UP.

        Args:
            x: (batch, steps, 40), oldest step first, columns ASK_P1, ASK_V1, BID_P1, BID_V1, ASK_P2, ...
            return_attention: also return attention maps by layer name: there are none.

        Returns:
            (batch, 3), or (batch, outputs, 3) where the configuration has several outputs.

        Raises:
            ValueError: for a window of another shape.
        """
        check_window(x, name="DeepLOB", steps=self.config.steps, features=self.config.features)
        y = self.blocks(x.unsqueeze(3)).squeeze(2)  # (batch, steps, 40, 1) -> (batch, steps, FILTERS)
        states, _ = self.lstm(self.inception(y))  # (batch, steps, 96) -> (batch, steps, HIDDEN)
        logits = self.classifier(states[:, -1]).unflatten(1, (self.config.outputs, len(CLASSES)))  # (batch, outputs, 3)
        logits = logits[:, 0] if self.config.outputs == 1 else logits
        return (logits, {}) if return_attention else logits
