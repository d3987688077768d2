"""BiN against its formula, by hand."""

import numpy as np
import pytest
import torch

from core.lecture.norms import bi_norm
from core.nn import BiN
from tests.core.models.numpy_tlob import bin_norm

EPSILON = 1e-5


def bin_by_hand(x: np.ndarray, layer: BiN, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """0.5 batch norm by the statistics given + 0.5 instance norm by each window's own; x (batch, channels, length)."""
    w = {f"bin_norm.{name}": value.detach().double().numpy() for name, value in layer.named_parameters()}
    return bin_norm(w | {"bin_norm.batch_norm.running_mean": mean, "bin_norm.batch_norm.running_var": variance}, x)


def random_layer(channels: int) -> BiN:
    layer = BiN(channels)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(channels))
    return layer


def test_in_training_it_uses_the_batch_and_each_window() -> None:
    torch.manual_seed(1)
    layer, x = random_layer(3), torch.randn(5, 3, 11) * 4 + 2
    x_ = x.double().numpy()
    expected = bin_by_hand(x_, layer, x_.mean(axis=(0, 2)), x_.var(axis=(0, 2)))
    np.testing.assert_allclose(layer.train()(x).detach(), expected, atol=1e-5)
    plain = bin_by_hand(x_, BiN(3), x_.mean(axis=(0, 2)), x_.var(axis=(0, 2)))
    np.testing.assert_allclose(bi_norm(x.double().transpose(1, 2)).transpose(1, 2), plain, atol=1e-10)


def test_in_use_it_takes_the_running_statistics() -> None:
    torch.manual_seed(2)
    layer = random_layer(3)
    batches = [torch.randn(6, 3, 8) * scale + scale for scale in (1.0, 5.0, 2.0)]
    mean, variance = np.zeros(3), np.ones(3)
    for batch in batches:  # exponential averages, a tenth at a time, the variance unbiased
        layer.train()(batch)
        values = batch.double().numpy().transpose(1, 0, 2).reshape(3, -1)
        mean, variance = 0.9 * mean + 0.1 * values.mean(axis=1), 0.9 * variance + 0.1 * values.var(axis=1, ddof=1)
    x = torch.randn(4, 3, 8)
    layer.eval()
    np.testing.assert_allclose(layer(x).detach(), bin_by_hand(x.double().numpy(), layer, mean, variance), atol=1e-5)
    torch.testing.assert_close(layer(x)[:1], layer(x[:1]))  # a window's answer does not hang on its neighbours


@pytest.mark.parametrize("value", [0.0, 3.0, 42_150.5, 1e-9])
def test_a_constant_channel_is_finite_in_value_and_gradient(value: float) -> None:
    layer = BiN(2)
    x = torch.randn(3, 2, 9)
    x[:, 1] = value
    x.requires_grad_()
    for mode in (layer.train(), layer.eval()):
        y = mode(x)
        (gradient,) = torch.autograd.grad(y.square().sum(), x)
        assert y.isfinite().all()
        assert gradient.isfinite().all()
    rounding = np.spacing(np.float32(value)) / np.sqrt(EPSILON)  # of the mean, magnified by the little that divides it
    assert layer.train()(x)[:, 1].abs().max().item() <= rounding
