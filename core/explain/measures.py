"""The five importance measures that every model's explorer compares."""

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from core.explain.attribution import MAX_NODES, ScalarFunction, integrated_gradients
from core.explain.faithfulness import ExplainedInput
from core.explain.occlusion import NEVER, occlusion

METHODS: Final = ("attention", "rollout", "relevance", "gradients", "occlusion")
"""Attention of the last layer, rollout, gradient relevance, integrated gradients, occlusion."""


def part_sums(values: NDArray[np.floating], parts: Tensor) -> NDArray[np.float64]:
    """(parts,): the sum of an input's values over each of its parts, numbered as `core.explain.occlusion.without` says."""
    numbers = np.broadcast_to(parts.cpu().numpy(), values.shape)
    counted = numbers != NEVER
    return np.asarray(np.bincount(numbers[counted], weights=values[counted]), dtype=np.float64)


def explained_input(
    function: ScalarFunction,
    inputs: Tensor,
    baseline: Tensor,
    parts: Tensor,
    *,
    known: Mapping[str, NDArray[np.floating]],
    max_nodes: int = MAX_NODES,
) -> ExplainedInput:
    """The importance of each part by all five methods: those that the model knows, and the others computed here.

    Args:
        function, inputs, baseline, parts: see `ExplainedInput`. max_nodes: of `integrated_gradients`.
        known: (parts,) by the names of the methods; integrated gradients is always computed here, occlusion where it is missing.

    Raises:
        GradientError: where the function has no finite gradients between the baseline and the input.
    """
    contributions = integrated_gradients(function, inputs, baseline, max_nodes=max_nodes).values
    found = {**known, "gradients": part_sums(contributions, parts)}
    if "occlusion" not in found:
        found["occlusion"] = occlusion(function, inputs, baseline, parts)
    importance = {name: np.asarray(found[name], dtype=np.float64) for name in METHODS}
    return ExplainedInput(function=function, inputs=inputs, baseline=baseline, parts=parts, importance=importance)
