"""Written activations and derivatives against PyTorch's and autograd."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from core.lecture import activations as a

X = torch.linspace(-9, 9, 181, dtype=torch.float64)
THEIRS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def test_value_and_derivative() -> None:
    for name, (value, derivative) in a.ACTIVATIONS.items():
        x = X.clone().requires_grad_()
        y = THEIRS[name](x)
        torch.testing.assert_close(value(X), y.detach(), atol=1e-12, rtol=1e-12)
        torch.testing.assert_close(derivative(X), torch.autograd.grad(y.sum(), x)[0], atol=1e-12, rtol=1e-10)


def test_the_reports_gelu_is_off_by_less_than_a_thousandth_and_most_around_two() -> None:
    gap = (a.gelu_derivative(X) - a.gelu_tanh_derivative(X)).abs()
    assert gap.max() < 1e-3 and float(X[gap.argmax()].abs()) == pytest.approx(2, abs=0.1)


def test_curves_are_the_values_over_the_axis() -> None:
    x, curves = a.curves()
    assert (x[0], x[-1]) == (-4, 8)
    np.testing.assert_allclose(curves["gelu"][0], F.gelu(torch.from_numpy(x)).numpy(), atol=1e-9)


def test_nothing_overflows() -> None:
    far = torch.tensor([-800.0, 800.0], dtype=torch.float64)
    for name, (value, derivative) in a.ACTIVATIONS.items():
        assert torch.isfinite(value(far)).all() and torch.isfinite(derivative(far)).all(), name


def test_softmax_with_and_without_the_maximum() -> None:
    x = torch.randn(3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(a.softmax(x), x.softmax(dim=-1))
    torch.testing.assert_close(a.softmax_without_maximum(x), x.softmax(dim=-1))
    large: Tensor = torch.tensor([1000.0, 999.0])
    assert a.softmax_without_maximum(large).isnan().any()
    torch.testing.assert_close(a.softmax(large), large.softmax(dim=-1))
