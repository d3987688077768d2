"""Claims of the lesson on backpropagation: about one example's gradients. What no dial can change stands in the passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import torch

from core.lecture import activations
from core.lecture.backprop import Example, Part
from core.lecture.claims import Said
from core.messages import compose

OFF: Final = 0.05
"""A unit with a smaller slope of GELU counts as off."""


def softmax(one: Example) -> Said:
    """The smallest and the largest attention weight, and the gradients by their scores."""
    said: Said = {}
    order = np.argsort(one.inner["A"], axis=None)[[0, -1]]
    (small, large), (little, much) = (values.flat[order].tolist() for values in (one.inner["A"], one.written["S"]))
    said["factor"] = compose(
        "A weight is a factor of its score's gradient: the smallest, {small:.2g}, gets {little:.2g}, the largest, "
        "{large:.2g}, gets {much:.2g}.",
        small=small,
        little=little,
        large=large,
        much=much,
    )
    return said


def layer_norm(one: Example) -> Said:
    """A token shifted, and tripled."""
    said: Said = {}
    said["tripled"] = compose(
        "Adding a number to a whole token changes neither output nor gradient; multiplying it by 3 leaves the output as "
        "it is and divides its gradient by 3, but for ε = 0.00001 beside its variance, here {variance:.2g} or more.",
        variance=float(one.inputs["x"].var(axis=1).min()),
    )
    return said


def attention(one: Example) -> Said:
    """Gradients under a causal mask, and without."""
    said: Said = {}
    weights = one.inner["A"]
    if weights.all():
        said["open"] = compose(
            "Without a mask each value vector gets a gradient from every query, here {queries}.", queries=len(weights)
        )
    else:
        said["causal"] = compose(
            "With the causal mask the scores above the diagonal, here {count}, have no gradient at all, and the last value "
            "vector gets one from the last query alone.",
            count=int((weights == 0).sum()),
        )
    return said


def ffn(one: Example) -> Said:
    """Hidden units whose slope is next to nothing."""
    said: Said = {}
    slopes = activations.gelu_tanh_derivative(torch.from_numpy(one.inner["Z1"])).abs().numpy()
    said["off"] = compose(
        "Of the {all} slopes {off} are under {limit:g} in size: such a unit is off for its token, and next to nothing "
        "comes through it to W_1.",
        off=int((slopes < OFF).sum()),
        all=slopes.size,
        limit=OFF,
    )
    return said


CLAIMS: Final[Mapping[Part, Callable[[Example], Said]]] = {
    "softmax": softmax,
    "layer_norm": layer_norm,
    "attention": attention,
    "ffn": ffn,
}
