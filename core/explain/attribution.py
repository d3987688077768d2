"""Integrated gradients: each input's contribution to the difference between the output and that on a baseline.

Source: Sundararajan et al. 2017, "Axiomatic Attribution for Deep Networks"; by a rule of Gauss and Legendre (D2).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.messages import Refusal

ScalarFunction = Callable[[Tensor], Tensor]
"""(batch, ...) -> (batch,): the number to explain, such as a class's probability."""

Report = Callable[[float], None]
"""Is told what share of a computation is done, 0 to 1. It may raise, which ends the computation."""


def unreported(_share: float) -> None:
    """For a computation that nobody watches."""


PIECES = (0.0, 1 / 256, 1 / 16, 1.0)
"""Cuts of the path from baseline to input at first. TLOB's instance norm scales up even small deviations, so nearly all of
its half of the output arises within the first hundredth of the path, where a uniform rule has no nodes."""
NODES = 8
"""Gauss-Legendre nodes per piece."""
MAX_NODES = 512
"""Number of gradients after which no piece is cut any more, where the caller gives no other."""
TOLERANCE = 0.005
"""The worst piece is cut in two while the pieces' errors add up to more than this share of the difference to explain."""
ROUNDING = 8 * float(torch.finfo(torch.float32).eps)
"""Share of the outputs below which an error is that of their numbers: no cut makes it smaller."""


class GradientError(Refusal, ValueError):
    """A model has no finite gradients on an input, so that its output cannot be attributed."""


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Each input's contribution to the output.

    Attributes:
        values: the input's shape; contribution of each input, in the output's unit.
        output, baseline_output: the explained number at the input and at the baseline.
        nodes: number of gradients evaluated.
    """

    values: NDArray[np.float32]
    output: float
    baseline_output: float
    nodes: int

    @property
    def difference(self) -> float:
        """`output` less `baseline_output`, which the contributions add up to."""
        return self.output - self.baseline_output

    @property
    def total(self) -> float:
        """The sum of the contributions."""
        return float(self.values.sum(dtype=np.float64))

    @property
    def gap(self) -> float:
        """Completeness gap, `total - difference`: 0 in theory, the error of the numerical integration in practice."""
        return self.total - self.difference


def integrated_gradients(
    function: ScalarFunction,
    inputs: Tensor,
    baseline: Tensor,
    *,
    max_nodes: int = MAX_NODES,
) -> Attribution:
    """Integrate the gradient along the straight line from the baseline to the input.

    The line is cut at `PIECES`, whose integrals add up. The function's values at a piece's ends give the exact integral over it,
    and so the error of each piece; the worst is cut in two until the errors are within `TOLERANCE`, or no more than `ROUNDING`.

    Args:
        function: the number to explain; must treat each row of its batch independently.
        inputs: one input, without a batch axis. baseline: the same shape.
        max_nodes: number of gradients after which no piece is cut any more.

    Raises:
        ValueError: where the baseline has another shape. GradientError: where a gradient is not finite.
    """
    if inputs.shape != baseline.shape:
        raise ValueError(
            f"a baseline of shape {tuple(baseline.shape)} does not fit an input of {tuple(inputs.shape)}: both must be alike"
        )
    line = _Line(function, inputs, baseline)
    difference = line.value(1.0) - line.value(0.0)
    pieces = line.integrate(list(pairwise(PIECES)))
    used = NODES * len(pieces)
    enough = max(TOLERANCE * abs(difference), ROUNDING * max(abs(line.value(1.0)), abs(line.value(0.0))))
    while sum(one.error for one in pieces) > enough and used + 2 * NODES <= max_nodes:
        worst = max(pieces, key=lambda one: one.error)
        pieces.remove(worst)
        pieces += line.integrate([(worst.low, worst.middle), (worst.middle, worst.high)])
        used += 2 * NODES
    values = torch.stack([one.values for one in pieces]).sum(dim=0)
    if not torch.isfinite(values).all():
        raise GradientError(
            "the model has no finite gradients on this input, whose largest number is {largest:.3g}: it "
            "lies too far from what it was trained on",
            largest=float(inputs.abs().max()),
        )
    return Attribution(values=values.float().cpu().numpy(), output=line.value(1.0), baseline_output=line.value(0.0), nodes=used)


@dataclass(frozen=True, eq=False)
class _Piece:
    """One piece of the path, from `low` to `high`: its contributions, and the error of their sum."""

    low: float
    high: float
    values: Tensor
    error: float

    @property
    def middle(self) -> float:
        """Place to cut it: the geometric mean where it spans more than a factor of four, as the norm is scale-free."""
        wide = self.low > 0 and self.high > 4 * self.low
        return math.sqrt(self.low * self.high) if wide else (self.low + self.high) / 2


class _Line:
    """The straight line from a baseline, at 0, to an input, at 1."""

    def __init__(self, function: ScalarFunction, inputs: Tensor, baseline: Tensor) -> None:
        self._function, self._baseline, self._way = function, baseline, inputs - baseline
        self._known: dict[float, float] = {}

    def value(self, share: float) -> float:
        """The function at a share of the line."""
        if share not in self._known:
            with torch.no_grad():
                self._known[share] = float(self._function((self._baseline + share * self._way)[None]))
        return self._known[share]

    def integrate(self, stretches: list[tuple[float, float]]) -> list[_Piece]:
        """The pieces of these stretches: a weighted sum of the gradients at their nodes, times the way from end to end."""
        (nodes, weights), like = np.polynomial.legendre.leggauss(NODES), self._way
        lows, highs = np.array(stretches).T
        shares = lows[:, None] + np.outer(highs - lows, (nodes + 1) / 2)
        at = torch.tensor(shares.ravel(), dtype=like.dtype, device=like.device).reshape(-1, *[1] * like.ndim)
        gradients = self._gradients(at).reshape(len(stretches), NODES, -1)
        summed = torch.einsum("n,snf->sf", torch.tensor(weights / 2, dtype=like.dtype, device=like.device), gradients)
        attributed = [(high - low) * like * one.reshape(like.shape) for (low, high), one in zip(stretches, summed, strict=True)]
        return [
            _Piece(low, high, one, abs(float(one.double().sum()) - (self.value(high) - self.value(low))))
            for (low, high), one in zip(stretches, attributed, strict=True)
        ]

    def _gradients(self, shares: Tensor) -> Tensor:
        """Gradients at shares of the line, (n, ...)."""
        with torch.enable_grad():
            points = (self._baseline + shares * self._way).detach().requires_grad_()
            return torch.autograd.grad(self._function(points).sum(), points)[0]


def class_probability(
    model: nn.Module,
    *,
    label: int,
    less: int | None = None,
    output: int = 0,
    temperature: float = 1.0,
    offsets: Sequence[float] | NDArray[np.floating] = (),
) -> ScalarFunction:
    """One class's probability as a function of the model's input: softmax(logits / temperature + offsets).

    Args:
        model: returns logits (batch, classes) or (batch, outputs, classes).
        label: class to explain. less: another, whose probability is taken off it. output: which of several outputs.
        temperature, offsets: a calibration (`core.market.calibration.CallRule`: bias * MOVING); none where left out.
    """

    def probability(x: Tensor) -> Tensor:
        logits = model(x)
        logits = logits if logits.ndim == 2 else logits[:, output]
        shift = torch.as_tensor(np.asarray(offsets), dtype=logits.dtype, device=logits.device) if len(offsets) else 0.0
        shares = (logits / temperature + shift).softmax(dim=-1)
        return shares[:, label] if less is None else shares[:, label] - shares[:, less]

    return probability


def tlob_baseline(inputs: Tensor) -> Tensor:
    """A book without movement, in the shape of `inputs` (steps, features): every input at its mean over the window."""
    return inputs.mean(dim=0, keepdim=True).expand_as(inputs).clone()
