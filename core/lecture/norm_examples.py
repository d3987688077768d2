"""Numbers of the page on normalisation: a batch and one of its cells through a norm, dropout, activation curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F

from core.lecture import activations, norms
from core.lecture.norms import Norm
from core.nn import BiN

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class NormalisedCell:
    """The normalisation of one entry.

    Attributes:
        x: before. mean, variance: of its group. y: after. count: numbers in the group.
        group: sample -> (first channel, last channel, first step, last step) of the numbers that share the mean.
        other: for BiN the mean and variance of instance norm; `mean` and `variance` are then batch norm's.
    """

    x: float
    mean: float
    variance: float
    y: float
    count: int
    group: dict[int, tuple[int, int, int, int]]
    other: tuple[float, float] | None = None

    @property
    def numbers(self) -> tuple[float, ...]:
        """Arguments of `normalised_entry`."""
        return (self.x, self.mean, self.variance, *(self.other or ()))


@dataclass(frozen=True, kw_only=True)
class NormExample:
    """A batch (samples, steps, channels) before and after a norm.

    Attributes:
        gap: largest difference from PyTorch's layer. spread: `norms.spread_by_group` of the normalised batch.
    """

    before: Array
    after: Array
    gap: float
    spread: dict[str, tuple[float, float]]


def normalise_example(norm: Norm, *, level: float, seed: int = 0) -> NormExample:
    """Normalise the example batch."""
    x = norms.example_batch(level=level, seed=seed)
    y = norms.normalise(x, norm)
    gap = float((y - _pytorch(x, norm)).abs().max())
    return NormExample(before=x.numpy(), after=y.numpy(), gap=gap, spread=norms.spread_by_group(y))


@torch.no_grad()
def _pytorch(x: torch.Tensor, norm: Norm) -> torch.Tensor:
    channels, across = x.shape[-1], x.transpose(1, 2)
    if norm == "layer":
        return F.layer_norm(x, (channels,))
    layer: nn.Module | None = {
        "batch": nn.BatchNorm1d(channels), "instance": nn.InstanceNorm1d(channels), "bin": BiN(channels),
    }.get(norm)  # fmt: skip
    return x if layer is None else layer.double()(across).transpose(1, 2)


def example_cell(norm: Norm, *, level: float, sample: int, step: int, channel: int, seed: int = 0) -> NormalisedCell:
    """The numbers of one entry of the example batch; indices from 0 on."""
    x = norms.example_batch(level=level, seed=seed)
    samples, steps, channels = x.shape
    at = (sample, step, channel)
    y = float(norms.normalise(x, norm)[at])
    whole = (channel, channel, 0, steps - 1)
    if norm == "layer":
        members, group = x[sample, step], {sample: (0, channels - 1, step, step)}
    elif norm == "instance":
        members, group = x[sample, :, channel], {sample: whole}
    elif norm == "none":
        members, group = x[sample, step, channel][None], {sample: (channel, channel, step, step)}
    else:
        members, group = x[:, :, channel].flatten(), dict.fromkeys(range(samples), whole)
    other = None
    if norm == "bin":
        series = x[sample, :, channel]
        other = float(series.mean()), float(series.var(unbiased=False))
    return NormalisedCell(
        x=float(x[at]), mean=float(members.mean()), variance=float(members.var(unbiased=False)), y=y, count=members.numel(),
        group=group, other=other,
    )  # fmt: skip


def normalised_entry(x: float, mean: float, variance: float, *other: float) -> float:
    """(x - mean) / sqrt(variance + epsilon); for BiN the mean of that and of the same by the `other` mean and variance."""
    first = (x - mean) / (variance + norms.EPSILON) ** 0.5
    return 0.5 * (first + normalised_entry(x, *other)) if other else first


@dataclass(frozen=True, kw_only=True)
class DropoutExample:
    """A matrix before and after dropout, the share kept, and the means of many draws with their expected standard deviation."""

    before: Array
    after: Array
    kept: float
    means: Array
    expected: float


def dropout_example(rate: float, *, seed: int = 0, values: int = 64) -> DropoutExample:
    """Dropout of a (5, 8) matrix, and the means of 400 draws over `values` ones."""
    generator = torch.Generator().manual_seed(1_000 + seed)
    x = torch.randn(5, 8, generator=torch.Generator().manual_seed(7), dtype=torch.float64).mul(10).round().div(10)
    y = norms.dropout(x, rate, torch.rand(5, 8, generator=generator, dtype=torch.float64))
    return DropoutExample(
        before=x.numpy(), after=y.numpy(), kept=float((y != 0).double().mean()),
        means=norms.dropout_means(rate, values=values, seed=seed), expected=float((rate / (1 - rate) / values) ** 0.5),
    )  # fmt: skip


def all_curves() -> tuple[Array, dict[str, tuple[Array, Array]]]:
    """An axis from -4 to 8 and every activation with its derivative over it."""
    x = np.linspace(-4, 8, 241)
    return x, {name: activations.curves(name, x) for name in activations.ACTIVATIONS}


def gelu_gaps() -> tuple[Array, Array, Array]:
    """An axis, GELU exact less tanh form, and the same of their derivatives."""
    x = np.linspace(-5, 5, 201)
    exact, tanh = (activations.curves(name, x) for name in ("gelu", "gelu_tanh"))
    return x, exact[0] - tanh[0], exact[1] - tanh[1]


def softmax_pair(shift: float) -> tuple[Array, Array, Array]:
    """Five scores plus `shift`, their softmax with the maximum subtracted and without, in float32."""
    x = torch.tensor([0.0, 1.0, 2.0, 0.5, -1.0]) + shift
    safe, plain = activations.softmax(x), activations.softmax_without_maximum(x)
    return x.double().numpy(), safe.double().numpy(), plain.double().numpy()
