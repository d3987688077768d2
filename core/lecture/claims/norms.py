"""Claims of the lesson on norms: about a batch, a softmax, dropout's means and both stacks."""

from __future__ import annotations

from core.lecture.claims import Said
from core.lecture.norms import DepthGradients, DropoutExample, NormExample
from core.lecture.optimisers import Array
from core.messages import compose


def norms(one: NormExample) -> Said:
    """Largest distance of two samples' means, before the norm and after it."""
    said: Said = {}
    before, after = (float(batch.mean(axis=(1, 2)).max() - batch.mean(axis=(1, 2)).min()) for batch in (one.before, one.after))
    if after < 1e-3:
        said["forgotten"] = compose(
            "After this norm nobody can tell which sample was high: their means, {before:.2f} apart before, are equal.",
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
            "The largest score is {top:.0f}: e to that power does not fit into float32, and the plain form is \"not a number\".",
            top=top,
        )  # fmt: skip
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
        draws=len(one.means), mean=float(one.means.mean()), spread=float(one.means.std()),
    )  # fmt: skip
    return said


def depth(post: DepthGradients, pre: DepthGradients) -> Said:
    """Ends of the post-norm stack and of the pre-norm one."""
    said: Said = {}
    said["activations"] = compose(
        "Post-norm rescales each sum: its activations end at {post:.2f}, those of the pre-norm stack at {pre:.2f}.",
        post=float(post.activations[-1]), pre=float(pre.activations[-1]),
    )  # fmt: skip
    ratio_post, ratio_pre = (float(one.gradients[-1] / one.gradients[0]) for one in (post, pre))
    said["gradients"] = compose(
        "In this draw the last layer's gradient is {post:.2f} times the first's in the post-norm stack and {pre:.2f} times "
        "in the pre-norm one.",
        post=ratio_post, pre=ratio_pre,
    )  # fmt: skip
    return said
