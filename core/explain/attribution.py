"""Integrated gradients: how much each single input moved the answer, away from a baseline.

Source: Sundararajan et al. 2017, "Axiomatic Attribution for Deep Networks"; by the library captum (D2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.models.tlob import TLOB

ScalarFunction = Callable[[Tensor], Tensor]
"""(batch, ...) -> (batch,): the number that is to be explained."""

PIECES = (0.0, 1 / 256, 1 / 16, 1.0)
"""Where the path from baseline to input is cut. TLOB's instance norm makes a window large however small its deviations are, so
nearly all of its half of the answer arises within the first hundredth of the way: there a uniform rule sees nothing."""
NODES = 16
"""Gauss-Legendre nodes a piece at first; doubled while the sum misses the difference by more than `TOLERANCE`."""
MOST_NODES = 128
TOLERANCE = 0.005
"""Share of the difference to be explained that the attributions' sum may miss, before more nodes are tried."""

BaselineKind = Literal["average", "still"]
BASELINE_KINDS: tuple[BaselineKind, ...] = ("average", "still")


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Who moved the answer.

    Attributes:
        values: the input's shape; what each input added to the answer, in the answer's unit.
        output, baseline_output: the explained number at the input and at the baseline.
        nodes: gradients evaluated in all.
    """

    values: NDArray[np.float32]
    output: float
    baseline_output: float
    nodes: int

    @property
    def difference(self) -> float:
        """What there is to explain."""
        return self.output - self.baseline_output

    @property
    def total(self) -> float:
        """What the attributions sum to."""
        return float(self.values.sum(dtype=np.float64))

    @property
    def gap(self) -> float:
        """Completeness gap, `total - difference`: 0 in theory, what the numerical integration leaves in practice."""
        return self.total - self.difference


def integrated_gradients(function: ScalarFunction, inputs: Tensor, baseline: Tensor, *, batch: int = 64) -> Attribution:
    """Integrate the gradient along the straight line from the baseline to the input.

    The line is cut at `PIECES`; the integrals of consecutive pieces of one straight line add up to the whole one's.

    Args:
        function: what to explain; must act on each row of its batch alone.
        inputs: one input, without a batch axis. baseline: the same shape.
        batch: inputs the function is given at a time.

    Raises:
        ValueError: where the baseline has another shape.
    """
    if inputs.shape != baseline.shape:
        raise ValueError(
            f"a baseline of shape {tuple(baseline.shape)} does not fit an input of {tuple(inputs.shape)}: both must be alike"
        )
    from captum.attr import (
        IntegratedGradients,  # here, because it brings matplotlib along: a second that other pages need not wait
    )

    method = IntegratedGradients(function)
    cuts = torch.tensor(PIECES, dtype=inputs.dtype, device=inputs.device).reshape(-1, *[1] * inputs.ndim)
    points = baseline + cuts * (inputs - baseline)
    with torch.no_grad():
        low, high = (float(value) for value in function(torch.stack([baseline, inputs])))
    nodes, used = NODES, 0
    while True:
        pieces = method.attribute(points[1:], points[:-1], n_steps=nodes, method="gausslegendre", internal_batch_size=batch)
        used += nodes * (len(PIECES) - 1)
        values = pieces.detach().sum(dim=0)
        missed = abs(float(values.double().sum()) - (high - low))
        if missed <= TOLERANCE * abs(high - low) or nodes >= MOST_NODES:
            return Attribution(values=values.float().cpu().numpy(), output=high, baseline_output=low, nodes=used)
        nodes *= 2


def class_probability(
    model: nn.Module,
    *,
    label: int,
    output: int = 0,
    temperature: float = 1.0,
    offsets: Sequence[float] | NDArray[np.floating] = (),
) -> ScalarFunction:
    """One class's probability as a function of the model's input: softmax(logits / temperature + offsets).

    Args:
        model: returns logits (batch, classes) or (batch, outputs, classes).
        label: class to explain. output: which of several outputs.
        temperature, offsets: a calibration (`core.market.calls.CallRule`: bias * MOVING); none where left out.
    """

    def probability(x: Tensor) -> Tensor:
        logits = model(x)
        logits = logits if logits.ndim == 2 else logits[:, output]
        shift = torch.as_tensor(np.asarray(offsets), dtype=logits.dtype, device=logits.device) if len(offsets) else 0.0
        return (logits / temperature + shift).softmax(dim=-1)[:, label]

    return probability


def tlob_baseline(model: TLOB, inputs: Tensor, kind: BaselineKind) -> Tensor:
    """A book that says nothing, in the shape of `inputs` (steps, features): nothing in it moves.

    Args:
        kind: "average": every input at the mean of the training data, which the network keeps in its batch norm, so that
            BiN makes a plain constant of it. "still": every input at its own mean over this window.

    Raises:
        ValueError: for another kind.
    """
    if kind == "average":
        mean = model.bin_norm.batch_norm.running_mean
        assert mean is not None  # BiN keeps running statistics
        return mean.to(inputs).expand_as(inputs).clone()
    if kind == "still":
        return inputs.mean(dim=0, keepdim=True).expand_as(inputs).clone()
    raise ValueError(f"unknown baseline {kind!r}: choose {' or '.join(BASELINE_KINDS)}")
