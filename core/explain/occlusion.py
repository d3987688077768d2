"""Occlusion: by how much the output falls when one part of the input is hidden. It uses neither attention nor gradients.

Source: Zeiler and Fergus 2014, "Visualizing and Understanding Convolutional Networks", section 4.2.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.explain.attribution import Report, ScalarFunction, unreported

BATCH = 64
NEVER = -1
"""Part number of elements that belong to no part and are never hidden."""


def without(inputs: Tensor, baseline: Tensor, parts: Tensor, hidden: NDArray[np.bool_]) -> Tensor:
    """Copies of one input, each with some of its parts replaced by the baseline's.

    Args:
        inputs, baseline: of one shape, without a batch axis.
        parts: whole numbers that broadcast to that shape: which part each element belongs to, `NEVER` for none.
        hidden: (copies, parts) which parts are replaced in each copy.

    Returns:
        (copies, ...).

    Raises:
        ValueError: where the baseline has another shape.
    """
    if inputs.shape != baseline.shape:
        raise ValueError(
            f"a baseline of shape {tuple(baseline.shape)} does not fit an input of {tuple(inputs.shape)}: both must be alike"
        )
    numbers = torch.broadcast_to(parts, inputs.shape)
    known = torch.cat([torch.from_numpy(np.asarray(hidden, dtype=bool)), torch.zeros(len(hidden), 1, dtype=torch.bool)], dim=1)
    return torch.where(known.to(inputs.device)[:, numbers], baseline, inputs)  # the last column, which NEVER picks, is False


def answers_without(
    function: ScalarFunction,
    inputs: Tensor,
    baseline: Tensor,
    parts: Tensor,
    hidden: NDArray[np.bool_],
    *,
    batch: int = BATCH,
    report: Report = unreported,
) -> NDArray[np.float64]:
    """(copies,): the function's value on each copy of `without`."""
    answers = []
    with torch.no_grad():
        for start in range(0, len(hidden), batch):
            report(start / len(hidden))
            answers.append(function(without(inputs, baseline, parts, hidden[start : start + batch])).double().cpu().numpy())
    return np.concatenate(answers) if answers else np.zeros(0)


def occlusion(
    function: ScalarFunction, inputs: Tensor, baseline: Tensor, parts: Tensor, *, batch: int = BATCH, report: Report = unreported
) -> NDArray[np.float64]:
    """By how much the output falls without each part alone.

    Args:
        function: (copies, ...) -> (copies,), the number to explain.
        inputs, baseline, parts: see `without`; the parts are numbered from 0.

    Returns:
        (parts,): output on the whole input less the output without the part; negative where the part lowers the output.
    """
    count = int(parts.max()) + 1
    hidden = np.concatenate([np.zeros((1, count), dtype=bool), np.eye(count, dtype=bool)])
    answers = answers_without(function, inputs, baseline, parts, hidden, batch=batch, report=report)
    return np.asarray(answers[0] - answers[1:])
