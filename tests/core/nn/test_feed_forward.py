"""The position-wise network against its formula."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from core.nn import FeedForward

FORMULAS: dict[str, Callable[[float], float]] = {
    "relu": lambda z: max(z, 0.0),
    "gelu": lambda z: z * 0.5 * (1 + math.erf(z / math.sqrt(2))),
    "gelu_tanh": lambda z: 0.5 * z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))),
}


@pytest.mark.parametrize("activation", list(FORMULAS))
@pytest.mark.parametrize("output", [None, 3])
def test_it_equals_the_formula(activation: str, output: int | None) -> None:
    torch.manual_seed(0)
    layer = FeedForward(5, 20, output, activation=activation).eval()  # type: ignore[arg-type]
    x = torch.randn(2, 7, 5) * 3
    w1, b1, w2, b2 = (p.detach().double().numpy() for p in (layer.fc1.weight, layer.fc1.bias, layer.fc2.weight, layer.fc2.bias))
    hidden = np.vectorize(FORMULAS[activation])(x.double().numpy() @ w1.T + b1)
    expected = hidden @ w2.T + b2
    assert expected.shape == (2, 7, output or 5)
    np.testing.assert_allclose(layer(x).detach(), expected, atol=1e-5)


def test_dropout_is_between_the_two_layers_and_off_in_use() -> None:
    torch.manual_seed(0)
    layer = FeedForward(4, 1_000, dropout=0.5)
    with torch.no_grad():
        layer.fc1.weight.zero_()
        layer.fc1.bias.fill_(10.0)  # gelu(10) = 10: every hidden unit is 10
        layer.fc2.weight.fill_(1e-4)
        layer.fc2.bias.zero_()
    x = torch.zeros(200, 4)
    assert layer.eval()(x).detach().numpy() == pytest.approx(1.0, abs=1e-5)
    kept = layer.train()(x).detach().numpy()[:, 0]  # a binomial share of 1,000, doubled
    assert kept.std() == pytest.approx(math.sqrt(0.5 * 0.5 * 1_000) * 2 / 1_000, rel=0.2)
    assert kept.mean() == pytest.approx(1.0, abs=0.02)
