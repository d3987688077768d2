"""Claims of the lesson on norms: about a batch, a softmax, dropout's means, both stacks and signals through new layers."""

from __future__ import annotations

import math
from typing import Final

from core.lecture.claims import Said
from core.lecture.initialisation import Signal
from core.lecture.norms import DEPTHS, DRAWS, DropoutExample, NormExample, Stack
from core.lecture.optimisers import Array
from core.messages import compose

LEVEL: Final = 2.0
"""A line that ends within this factor of its beginning counts as level."""
KEPT: Final = 5.0
"""Differences that end within this factor of their beginning count as kept."""


def norms(one: NormExample) -> Said:
    """Largest distance of two samples' means, before the norm and after it."""
    said: Said = {}
    before, after = (float(batch.mean(axis=(1, 2)).max() - batch.mean(axis=(1, 2)).min()) for batch in (one.before, one.after))
    if after < 1e-3:
        said["forgotten"] = compose(
            "After this norm the samples' means, {before:.2f} apart before, are equal.",
            before=before,
        )
    else:
        said["kept"] = compose(
            "After this norm the samples' means still lie up to {after:.2f} apart, {before:.2f} before.",
            before=before,
            after=after,
        )
    return said


def softmax(scores: Array, plain: Array) -> Said:
    """The scores, and the plain softmax of them."""
    said: Said = {}
    top = float(scores.max())
    if (plain != plain).any():
        said["overflow"] = compose(
            'The largest score is {top:.0f}: e to that power does not fit into float32, and the plain form is "not a number".',
            top=top,
        )
    else:
        said["fits"] = compose(
            "The largest score is {top:.0f}: e to that power fits into float32, and the plain form is right, too.", top=top
        )
    return said


def dropout(one: DropoutExample) -> Said:
    """Means over many draws."""
    said: Said = {}
    said["spread"] = compose(
        "Over {draws} draws the mean of 64 ones is {mean:.3f}, and its spread {spread:.3f}.",
        draws=len(one.means),
        mean=float(one.means.mean()),
        spread=float(one.means.std()),
    )
    return said


def depth(post: Stack, pre: Stack, means: tuple[Array, Array]) -> Said:
    """A post-norm stack and a pre-norm one of one draw; means over the draws of their last layers' gradients, by DEPTHS."""
    said: Said = {}
    (post_first, *_rest, post_last), (pre_first, *_others, pre_last) = means
    said["gradients"] = compose(
        "From {few} to {many} layers the last layer's gradient goes from {post_first:.2f} to {post_last:.2f} in post-norm and "
        "from {pre_first:.2f} to {pre_last:.2f} in pre-norm (mean of {draws} draws). At {many} layers post-norm's is {ratio:.1f} "
        "times pre-norm's; both bounds are apart by the root of {many}, {root:.1f}.",
        few=DEPTHS[0],
        many=DEPTHS[-1],
        draws=DRAWS,
        post_first=float(post_first),
        post_last=float(post_last),
        pre_first=float(pre_first),
        pre_last=float(pre_last),
        ratio=float(post_last / pre_last),
        root=math.sqrt(DEPTHS[-1]),
    )
    said["activations"] = compose(
        "Post-norm rescales each sum: its activations end at {post:.2f}, those of the pre-norm stack at {pre:.2f}.",
        post=float(post.activations[-1]),
        pre=float(pre.activations[-1]),
    )
    return said


def init(signal: Signal) -> Said:
    """A signal's size at the end, and what is left of differences."""
    said: Said = {}
    kept, apart, gain = signal.kept, signal.apart, signal.gain
    if kept < 1 / LEVEL:
        said["fades"] = compose("The chosen line fades: it ends at {kept:.2g} times its beginning.", kept=kept)
    elif kept > LEVEL:
        said["grows"] = compose("The chosen line grows: it ends at {kept:.2g} times its beginning.", kept=kept)
    elif gain > KEPT:
        said["scattered"] = compose(
            "The chosen line stays level ({kept:.2g} times its beginning) and yet passes no signal on: its units are saturated, "
            "and inputs 0.001 apart end {apart:.2g} apart.",
            kept=kept,
            apart=apart,
        )
    elif gain < 1 / KEPT:
        said["forgotten"] = compose(
            "The chosen line stays level ({kept:.2g} times its beginning) and yet passes no signal on: inputs 0.001 apart end "
            "{apart:.2g} apart, as all inputs lead to nearly the same output.",
            kept=kept,
            apart=apart,
        )
    else:
        said["passed on"] = compose(
            "The chosen line stays level ({kept:.2g} times its beginning), and differences pass: inputs 0.001 apart end "
            "{apart:.2g} apart.",
            kept=kept,
            apart=apart,
        )
    return said
