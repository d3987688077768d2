"""Normalisations of one batch, dropout, and gradients of deep stacks by the place of their LayerNorm.

Sources: vit-report sections 2.4, 3.4 and 3.5, iiga-equations sections 6, 7, 9 and 16, tlob-architecture section 2.2;
D5, D15, D22.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from core.lecture import activations
from core.nn import BiN, EncoderLayer

EPSILON: Final = 1e-5

Norm = Literal["none", "layer", "batch", "instance", "bin"]

OVER: Final[dict[Norm, tuple[int, ...]]] = {"layer": (2,), "batch": (0, 1), "instance": (1,)}
"""Axes of (batch, time, channels) that share one mean and one variance."""


def moments(x: Tensor, over: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Mean and biased variance over these axes, which are kept with size 1.

    Source: vit-report sections 2.4 and 3.4, iiga-equations section 6.2.
    """
    mean = x.mean(dim=over, keepdim=True)
    return mean, ((x - mean) ** 2).mean(dim=over, keepdim=True)


def standardise(x: Tensor, over: tuple[int, ...]) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) over these axes (vit-report section 3.4, iiga-equations section 6.3, D22)."""
    mean, variance = moments(x, over)
    return (x - mean) / torch.sqrt(variance + EPSILON)


def layer_norm(x: Tensor, gamma: Tensor | float = 1.0, beta: Tensor | float = 0.0) -> Tensor:
    """gamma * (x - mean) / sqrt(variance + epsilon) + beta for each vector (vit-report 2.4, iiga-equations 6.1, 6.4)."""
    return gamma * standardise(x, (-1,)) + beta


def bi_norm(x: Tensor) -> Tensor:
    """Half of batch norm (as in training) and half of instance norm (tlob-architecture section 2.2, D5)."""
    return 0.5 * standardise(x, OVER["batch"]) + 0.5 * standardise(x, OVER["instance"])


def normalise(x: Tensor, norm: Norm) -> Tensor:
    """One norm on (batch, time, channels)."""
    if norm == "none":
        return x
    return bi_norm(x) if norm == "bin" else standardise(x, OVER[norm])


def normalise_matrix(x: Tensor) -> Tensor:
    """(x - mean) / standard deviation of the whole matrix (vit-report section 3.4, `normalize`); a constant one gives zeros."""
    spread = x.std(unbiased=False)
    return (x - x.mean()) / torch.where(spread > 0, spread, torch.ones_like(spread))


def example_batch(*, level: float = 3.0) -> Tensor:
    """(samples, steps, channels): noisy waves whose level differs by sample and whose size differs by channel.

    Args:
        level: distance between the samples' levels; channels differ in size by powers of two.
    """
    samples, steps, channels = 3, 16, 4
    rng = np.random.default_rng(0)
    time = np.linspace(0, 1, steps)[None, :, None]
    phase, pace = rng.uniform(0, 2 * np.pi, (samples, 1, channels)), rng.uniform(1, 3, (samples, 1, channels))
    wave = np.sin(2 * np.pi * pace * time + phase) + 0.25 * rng.normal(size=(samples, steps, channels))
    size = 2.0 ** (np.arange(channels) - 1)[None, None, :]
    centre = level * np.arange(samples)[:, None, None] + rng.normal(size=(1, 1, channels))
    return torch.tensor(centre + size * wave)


def dropout(x: Tensor, rate: float, draws: Tensor) -> Tensor:
    """x / p where a draw is under p = 1 - rate, else 0 (vit-report section 3.5, iiga-equations section 16.3).

    p is the probability of keeping, as in vit-report; in iiga-equations and in `torch.nn.Dropout(p)` it is that of dropping, the
    rate here.

    Args:
        draws: of the shape of x, uniform in [0, 1). Inference leaves x as it is.

    Raises:
        ValueError: for a rate outside [0, 1).
    """
    if not 0 <= rate < 1:
        raise ValueError(f"a dropout rate of {rate} is out of range: it must be 0 or more and below 1")
    keep = 1 - rate
    return torch.where(draws < keep, x / keep, torch.zeros_like(x))


def dropout_means(rate: float, *, values: int = 64, draws: int = 400, seed: int = 0) -> NDArray[np.float64]:
    """(draws,) means of `values` ones after dropout; their expectation is 1."""
    uniform = torch.rand(draws, values, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return dropout(torch.ones_like(uniform), rate, uniform).mean(dim=1).numpy()


DEPTHS: Final = (2, 4, 8, 12, 16)
"""Layers of the stacks whose last layers are compared."""
DRAWS: Final = 10


def last_gradient(layers: int, *, pre_norm: bool, width: int = 32, heads: int = 4, tokens: int = 12, seed: int = 0) -> float:
    """Norm of the loss's gradient by the last layer's parameters, in a newly initialised stack of encoder layers.

    Post-norm is LayerNorm(x + Sublayer(x)) (vit-report 2.5, iiga-equations 9.1, D15), pre-norm x + Sublayer(LayerNorm(x))
    (iiga-equations section 7); linear layers start as Xavier's (section 16.2). The loss is the mean square of a random
    linear read-out of the last layer, after a final norm in the pre-norm stack. Xiong et al. 2020 (theorem 1) bound the
    last layer's gradient: post-norm's bound does not depend on the number of layers, pre-norm's falls with its root.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        stack = [EncoderLayer(width, heads, 4 * width, pre_norm=pre_norm) for _ in range(layers)]
        for layer in stack:
            for module in layer.modules():
                if isinstance(module, torch.nn.Linear):
                    torch.nn.init.xavier_uniform_(module.weight)
                    torch.nn.init.zeros_(module.bias)
        x = torch.randn(8, tokens, width)
        read = torch.randn(width, 10) / width**0.5
    for layer in stack[:-1]:
        x = layer(x)[0].detach()  # the layers before have no part in the last one's gradient
    x = stack[-1](x)[0]
    x = layer_norm(x) if pre_norm else x
    gradients = torch.autograd.grad((x @ read).square().mean(), list(stack[-1].parameters()))
    return float(torch.stack([one.norm() for one in gradients]).norm())


def last_gradients(*, pre_norm: bool) -> NDArray[np.float64]:
    """`last_gradient` of each draw, from 1 on, at each of `DEPTHS`: (draws, depths)."""
    return np.array([[last_gradient(n, pre_norm=pre_norm, seed=1 + draw) for n in DEPTHS] for draw in range(DRAWS)])


Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class NormalisedCell:
    """The normalisation of one entry.

    Attributes:
        x: before. y: after. means, variances: of its group; of BiN batch norm's and then instance norm's.
        count: numbers in the group.
        group: sample -> (first channel, last channel, first step, last step) of the numbers that share the mean.
    """

    x: float
    y: float
    means: tuple[float, ...]
    variances: tuple[float, ...]
    count: int
    group: dict[int, tuple[int, int, int, int]]


@dataclass(frozen=True, kw_only=True)
class NormExample:
    """A batch (samples, steps, channels) before and after a norm.

    Attributes:
        gap: largest difference from PyTorch's layer.
    """

    before: Array
    after: Array
    gap: float


def normalise_example(norm: Norm, *, level: float) -> NormExample:
    """Normalise the example batch."""
    x = example_batch(level=level)
    y = normalise(x, norm)
    gap = float((y - _pytorch(x, norm)).abs().max())
    return NormExample(before=x.numpy(), after=y.numpy(), gap=gap)


@torch.no_grad()
def _pytorch(x: torch.Tensor, norm: Norm) -> torch.Tensor:
    channels, across = x.shape[-1], x.transpose(1, 2)
    if norm == "layer":
        return F.layer_norm(x, (channels,))
    layer: nn.Module | None = {
        "batch": nn.BatchNorm1d(channels),
        "instance": nn.InstanceNorm1d(channels),
        "bin": BiN(channels),
    }.get(norm)
    return x if layer is None else layer.double()(across).transpose(1, 2)


def example_cell(norm: Norm, *, level: float, sample: int, step: int, channel: int) -> NormalisedCell:
    """The numbers of one entry of the example batch; indices from 0 on."""
    x = example_batch(level=level)
    at, over = (sample, step, channel), OVER.get("batch" if norm == "bin" else norm, ())
    shared = tuple(slice(None) if axis in over else slice(place, place + 1) for axis, place in enumerate(at))
    samples, steps, channels = (range(count)[some] for count, some in zip(x.shape, shared, strict=True))
    groups = [x[shared], *([x[sample, :, channel]] if norm == "bin" else [])]
    return NormalisedCell(
        x=float(x[at]),
        means=tuple(float(group.mean()) for group in groups),
        variances=tuple(float(group.var(unbiased=False)) for group in groups),
        y=float(normalise(x, norm)[at]),
        count=groups[0].numel(),
        group=dict.fromkeys(samples, (channels[0], channels[-1], steps[0], steps[-1])),
    )


def normalised_entry(x: float, mean: float, variance: float, *other: float) -> float:
    """(x - mean) / sqrt(variance + epsilon); for BiN the mean of that and of the same by the `other` mean and variance."""
    first = (x - mean) / (variance + EPSILON) ** 0.5
    return 0.5 * (first + normalised_entry(x, *other)) if other else first


@dataclass(frozen=True, kw_only=True)
class DropoutExample:
    """A matrix before and after dropout, the entries kept (1 or 0), and the means of many draws."""

    before: Array
    after: Array
    kept: Array
    means: Array


def dropout_example(rate: float, *, seed: int = 0) -> DropoutExample:
    """Dropout of a (5, 8) matrix, and the means of 400 draws over 64 ones."""
    generator = torch.Generator().manual_seed(1_000 + seed)
    x = torch.randn(5, 8, generator=torch.Generator().manual_seed(7), dtype=torch.float64).mul(10).round().div(10)
    draws = torch.rand(5, 8, generator=generator, dtype=torch.float64)
    y, kept = dropout(x, rate, draws), dropout(torch.ones_like(x), rate, draws) > 0  # an entry that is 0 may be kept, too
    return DropoutExample(
        before=x.numpy(),
        after=y.numpy(),
        kept=kept.double().numpy(),
        means=dropout_means(rate, seed=seed),
    )


def softmax_pair(shift: float) -> tuple[Array, Array, Array]:
    """Five scores plus `shift`, their softmax with the maximum subtracted and without, in float32."""
    x = torch.tensor([0.0, 1.0, 2.0, 0.5, -1.0]) + shift
    safe, plain = activations.softmax(x), activations.softmax_without_maximum(x)
    return x.double().numpy(), safe.double().numpy(), plain.double().numpy()
