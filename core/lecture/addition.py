"""The gradient of a sum, as of positions and residual connections (vit-report sections 2.1, 2.5 and 2.6; D14)."""

from __future__ import annotations

from torch import Tensor


def addition_gradient(grad: Tensor, *addends: Tensor) -> tuple[Tensor, ...]:
    """Gradients of a + b + ...: the upstream gradient, unchanged, summed over axes along which an addend was repeated.

    Args:
        grad: gradient by the sum. addends: before broadcasting.
    """
    gradients = []
    for addend in addends:
        extra = grad.dim() - addend.dim()
        repeated = [axis + extra for axis, size in enumerate(addend.shape) if size == 1 and grad.shape[axis + extra] != 1]
        axes = [*range(extra), *repeated]
        gradients.append((grad.sum(dim=axes, keepdim=True) if axes else grad).reshape(addend.shape))
    return tuple(gradients)
