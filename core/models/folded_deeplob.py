"""DeepLOB for prediction: the same function with steps first, so that a convolution over steps copies nothing.

- With steps first, the rows one step later are the rows of the same array from a later place on. A convolution over k steps is
  then k products added up, where side by side its inputs would be copied k times.
- The inception module's two first convolutions are one product, and so are the two after them at each of five steps: the filters
  of three steps have zeros at both ends.

`core.models.deeplob` says what is computed, and trains; this takes its trained weights. Logits agree within 1e-5.
Nothing is kept from one window to the next: inputs are scaled by the newest mid and the median size, which changes all of them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.models.config import check_window
from core.models.deeplob import HIDDEN, INCEPTION_FILTERS, SLOPE, ColumnConvolution, ConvolutionBlock, DeepLOB, StepConvolution
from core.models.tlob import CLASSES
from core.nn import AttentionMaps


def _leaky(x: Tensor) -> Tensor:
    """The rectifier, in place."""
    return F.leaky_relu_(x, SLOPE)


class _Steps(nn.Module):
    """A convolution over steps and its rectifier, steps first.

    Args:
        weight: (reach, channels, filters). bias: (filters,).
    """

    weight: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", weight.contiguous())
        self.register_buffer("bias", bias.clone())

    @classmethod
    def of(cls, layer: StepConvolution) -> _Steps:
        """The trained layer's."""
        return cls(layer.weight[..., 0].permute(2, 1, 0), _bias(layer))

    def forward(self, x: Tensor, across: int) -> Tensor:
        """(steps x across, channels) -> (steps x across, filters), of `across` rows a step."""
        before = (len(self.weight) - 1) // 2
        y = torch.addmm(self.bias, x, self.weight[before])
        for step, weight in enumerate(self.weight):
            rows = abs(step - before) * across  # beyond the window's ends there are zeros, which add nothing
            if step < before:
                y[rows:].addmm_(x[:-rows], weight)
            elif step > before:
                y[:-rows].addmm_(x[rows:], weight)
        return _leaky(y)


class _Block(nn.Module):
    """One `ConvolutionBlock`, steps first."""

    weight: Tensor
    bias: Tensor

    def __init__(self, block: ConvolutionBlock) -> None:
        super().__init__()
        first, *over_steps = (layer for layer in block if isinstance(layer, ColumnConvolution | StepConvolution))
        self.register_buffer("weight", first.weight[:, :, 0].transpose(1, 2).flatten(1).t().contiguous())  # (together, FILTERS)
        self.register_buffer("bias", _bias(first).clone())
        self.over_steps = nn.ModuleList(_Steps.of(layer) for layer in over_steps if isinstance(layer, StepConvolution))

    def forward(self, x: Tensor, steps: int) -> Tensor:
        """(steps x rows a step, channels) -> (steps x fewer rows a step, FILTERS)."""
        x = _leaky(torch.addmm(self.bias, x.view(-1, len(self.weight)), self.weight))  # neighbouring columns make one row
        for layer in self.over_steps:
            x = layer(x, len(x) // steps)
        return x


class FoldedDeepLOB(nn.Module):
    """A trained DeepLOB's function, for prediction alone: no gradient reaches the weights of the original.

    Args:
        model: the network. Later changes of it are not followed.
    """

    @torch.no_grad()
    def __init__(self, model: DeepLOB) -> None:
        super().__init__()
        self.config = model.config
        self.blocks = nn.ModuleList(_Block(block) for block in model.blocks if isinstance(block, ConvolutionBlock))
        three, five, largest = (
            [layer for layer in branch if isinstance(layer, StepConvolution)]
            for branch in model.inception.branches
            if isinstance(branch, nn.Sequential)
        )
        one = [_Steps.of(branch[0]) for branch in (three, five)]
        self.reduced = _Steps(torch.cat([layer.weight for layer in one], dim=2), torch.cat([layer.bias for layer in one]))
        both = [_Steps.of(branch[1]) for branch in (three, five)]
        weight = both[0].weight.new_zeros(5, 2 * INCEPTION_FILTERS, 2 * INCEPTION_FILTERS)
        weight[1:4, :INCEPTION_FILTERS, :INCEPTION_FILTERS] = both[0].weight
        weight[:, INCEPTION_FILTERS:, INCEPTION_FILTERS:] = both[1].weight
        self.over_steps = _Steps(weight, torch.cat([layer.bias for layer in both]))
        self.largest = _Steps.of(largest[0])
        self.lstm = nn.LSTM(3 * INCEPTION_FILTERS, HIDDEN).to(weight)
        self.lstm.load_state_dict(model.lstm.state_dict())
        self.classifier = nn.Linear(HIDDEN, model.classifier.out_features).to(weight)
        self.classifier.load_state_dict(model.classifier.state_dict())
        self.requires_grad_(False).eval()

    def forward(self, x: Tensor, *, return_attention: bool = False) -> Tensor | tuple[Tensor, AttentionMaps]:
        """As `DeepLOB.forward`."""
        c = self.config
        check_window(x, name="DeepLOB", steps=c.steps, features=c.features)
        windows = len(x)
        y = x.transpose(0, 1).reshape(-1, 1)  # (windows, steps, 40) -> (steps x windows x 40, 1)
        for block in self.blocks:
            y = block(y, c.steps)
        y = self._inception(y, windows).unflatten(0, (c.steps, windows))  # (steps x windows, FILTERS) -> (steps, windows, 96)
        _, (state, _) = self.lstm(y)  # state: (1, windows, HIDDEN)
        logits = self.classifier(state[0])
        logits = logits.unflatten(1, (c.outputs, len(CLASSES))) if c.outputs > 1 else logits
        return (logits, {}) if return_attention else logits

    def _inception(self, x: Tensor, windows: int) -> Tensor:
        """(steps x windows, FILTERS) -> (steps x windows, 3 INCEPTION_FILTERS)."""
        around = F.pad(x, (0, 0, windows, windows), value=-torch.inf)
        largest = torch.maximum(torch.maximum(around[: len(x)], x), around[2 * windows :])  # of three steps
        return torch.cat([self.over_steps(self.reduced(x, windows), windows), self.largest(largest, windows)], dim=1)


def _bias(layer: nn.Conv2d) -> Tensor:
    assert layer.bias is not None
    return layer.bias
