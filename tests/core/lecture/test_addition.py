"""The gradient of a sum against autograd."""

import pytest
import torch

from core.lecture.gradients import addition_gradient
from core.nn import LearnedPositions, SinusoidalPositions


def test_a_sum_hands_its_gradient_on() -> None:
    x, upstream = torch.randn(2, 5, 6, requires_grad=True), torch.randn(2, 5, 6)
    (found,) = torch.autograd.grad(SinusoidalPositions(9, 6, scale=0.1)(x), x, upstream)
    torch.testing.assert_close(addition_gradient(upstream, x)[0], found)
    assert found.equal(upstream)
    learned = LearnedPositions(5, 6)
    by_autograd = torch.autograd.grad(learned(x), (x, learned.encoding), upstream)
    for mine, theirs in zip(addition_gradient(upstream, x, learned.encoding), by_autograd, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("shape", [(), (6,), (5, 1), (1, 5, 6), (2, 1, 1), (1, 1, 1)])
def test_repeated_addends_get_the_sum(shape: tuple[int, ...]) -> None:
    x, b, upstream = torch.randn(2, 5, 6, requires_grad=True), torch.randn(shape, requires_grad=True), torch.randn(2, 5, 6)
    by_autograd = torch.autograd.grad(x + b, (x, b), upstream)
    for mine, theirs in zip(addition_gradient(upstream, x, b), by_autograd, strict=True):
        torch.testing.assert_close(mine, theirs)
