"""Claims of the lesson on backpropagation: about one example's gradients. What no dial can change stands in the passages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import torch

from core.lecture import activations
from core.lecture.backprop import Array, Example, Part
from core.lecture.claims import Claim
from core.messages import compose

OFF: Final = 0.05
"""A unit with a smaller slope of GELU counts as off."""


def _at(example: Example, extreme: int) -> tuple[float, float]:
    """The smallest (0) or largest (-1) attention weight, and the gradient by its score."""
    place = int(np.argsort(example.inner["A"], axis=None)[extreme])
    return float(example.inner["A"].flat[place]), float(example.written["S"].flat[place])


def _slopes(example: Example) -> Array:
    """Sizes of GELU's slope at the hidden units."""
    return activations.gelu_tanh_derivative(torch.from_numpy(example.inner["Z1"])).abs().numpy()


CLAIMS: Final[Mapping[Part, tuple[Claim[Example], ...]]] = {
    "softmax": (
        Claim(
            "factor",
            lambda _one: True,
            lambda one: compose(
                "A weight is a factor of its score's gradient: the smallest, {small:.2g}, gets {little:.2g}, the largest, "
                "{large:.2g}, gets {much:.2g}.",
                small=_at(one, 0)[0], little=_at(one, 0)[1], large=_at(one, -1)[0], much=_at(one, -1)[1],
            ),
        ),
    ),
    "layer_norm": (
        Claim(
            "tripled",
            lambda _one: True,
            lambda one: compose(
                "Adding a number to a whole token changes neither output nor gradient; multiplying it by 3 leaves the output as "
                "it is and divides its gradient by 3, but for ε = 0.00001 beside its variance, here {variance:.2g} or more.",
                variance=float(one.inputs["x"].var(axis=1).min()),
            ),
        ),
    ),
    "attention": (
        Claim(
            "causal",
            lambda one: not one.inner["A"].all(),
            lambda one: compose(
                "With the causal mask the scores above the diagonal, here {count}, have no gradient at all, and the last value "
                "vector gets one from the last query alone.",
                count=int((one.inner["A"] == 0).sum()),
            ),
        ),
        Claim(
            "open",
            lambda one: bool(one.inner["A"].all()),
            lambda one: compose(
                "Without a mask each value vector gets a gradient from every query, here {queries}.", queries=len(one.inner["A"])
            ),
        ),
    ),
    "ffn": (
        Claim(
            "off",
            lambda _one: True,
            lambda one: compose(
                "Of the {all} slopes {off} are under {limit:g} in size: such a unit is off for its token, and next to nothing "
                "comes through it to W_1.",
                off=int((_slopes(one) < OFF).sum()), all=_slopes(one).size, limit=OFF,
            ),
        ),
    ),
}  # fmt: skip
