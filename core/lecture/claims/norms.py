"""Claims of the lesson on norms: about a batch, a softmax, dropout's means and both stacks."""

from __future__ import annotations

from typing import Final

from core.lecture.claims import Claim
from core.lecture.norm_examples import DropoutExample, NormExample
from core.lecture.norms import DepthGradients
from core.lecture.optimisers import Array
from core.messages import compose

Stacks = tuple[DepthGradients, DepthGradients]


def _apart(batch: Array) -> float:
    """Largest distance of two samples' means."""
    means = batch.mean(axis=(1, 2))
    return float(means.max() - means.min())


NORMS: Final = (
    Claim[NormExample](
        "forgotten",
        lambda one: _apart(one.after) < 1e-3,
        lambda one: compose(
            "After this norm nobody can tell which sample was high: their means, {before:.2f} apart before, are equal.",
            before=_apart(one.before),
        ),
    ),
    Claim[NormExample](
        "kept",
        lambda one: _apart(one.after) >= 1e-3,
        lambda one: compose(
            "After this norm the samples' means still lie up to {after:.2f} apart, {before:.2f} before.",
            before=_apart(one.before), after=_apart(one.after),
        ),
    ),
)  # fmt: skip
SOFTMAX: Final = (
    Claim[tuple[Array, Array]](
        "overflow",
        lambda both: bool((both[1] != both[1]).any()),
        lambda both: compose(
            "The largest score is {top:.0f}: e to that power does not fit into float32, and the plain form is \"not a number\".",
            top=float(both[0].max()),
        ),
    ),
    Claim[tuple[Array, Array]](
        "fits",
        lambda both: not (both[1] != both[1]).any(),
        lambda both: compose(
            "The largest score is {top:.0f}: e to that power fits into float32, and the plain form is right, too.",
            top=float(both[0].max()),
        ),
    ),
)  # fmt: skip
"""About the scores and the plain softmax of them."""
DROPOUT: Final = (
    Claim[DropoutExample](
        "spread",
        lambda _one: True,
        lambda one: compose(
            "Over {draws} draws the mean of 64 ones is {mean:.3f}, and its spread {spread:.3f}.",
            draws=len(one.means), mean=float(one.means.mean()), spread=float(one.means.std()),
        ),
    ),
)  # fmt: skip
DEPTH: Final = (
    Claim[Stacks](
        "activations",
        lambda _both: True,
        lambda both: compose(
            "Post-norm rescales each sum: its activations end at {post:.2f}, those of the pre-norm stack at {pre:.2f}.",
            post=float(both[0].activations[-1]), pre=float(both[1].activations[-1]),
        ),
    ),
    Claim[Stacks](
        "gradients",
        lambda _both: True,
        lambda both: compose(
            "In this draw the last layer's gradient is {post:.2f} times the first's in the post-norm stack and {pre:.2f} times "
            "in the pre-norm one.",
            post=float(both[0].gradients[-1] / both[0].gradients[0]),
            pre=float(both[1].gradients[-1] / both[1].gradients[0]),
        ),
    ),
)  # fmt: skip
"""About the post-norm stack and the pre-norm one."""
