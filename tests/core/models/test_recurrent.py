"""Our recurrent cells against PyTorch's own, and each equation against plain arithmetic."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from core.models import recurrent
from core.models.recurrent import unroll_lstm, unroll_rnn


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(5)


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def affine(x: torch.Tensor, h: torch.Tensor, w: torch.Tensor, u: torch.Tensor, b: torch.Tensor) -> list[float]:
    """W x + U h + b by loops, for one sample."""
    return [
        sum(float(w[k, j]) * float(x[0, j]) for j in range(w.shape[1]))
        + sum(float(u[k, j]) * float(h[0, j]) for j in range(u.shape[1]))
        + float(b[k])
        for k in range(len(b))
    ]


def test_the_equations_one_by_one() -> None:
    x, h, c = torch.randn(1, 3).double(), torch.randn(1, 4).double(), torch.randn(1, 4).double()
    w, u, b = torch.randn(4, 3).double(), torch.randn(4, 4).double(), torch.randn(4).double()
    z = affine(x, h, w, u, b)
    np.testing.assert_allclose(recurrent.rnn_hidden(x, h, w, u, b)[0], [math.tanh(one) for one in z], atol=1e-12)
    np.testing.assert_allclose(recurrent.lstm_gate(x, h, w, u, b)[0], [sigmoid(one) for one in z], atol=1e-12)
    np.testing.assert_allclose(recurrent.lstm_candidate(x, h, w, u, b)[0], [math.tanh(one) for one in z], atol=1e-12)
    f, i, o = torch.rand(3, 1, 4).double()
    candidate = torch.randn(1, 4).double()
    cell = recurrent.lstm_cell(f, c, i, candidate)
    wanted = [float(f[0, k]) * float(c[0, k]) + float(i[0, k]) * float(candidate[0, k]) for k in range(4)]
    np.testing.assert_allclose(cell[0], wanted, atol=1e-12)
    hidden = [float(o[0, k]) * math.tanh(wanted[k]) for k in range(4)]
    np.testing.assert_allclose(recurrent.lstm_hidden(o, cell)[0], hidden, atol=1e-12)
    w_hy, b_y = torch.randn(2, 4).double(), torch.randn(2).double()
    np.testing.assert_allclose(
        recurrent.rnn_output(h, w_hy, b_y)[0], affine(h, torch.zeros(1, 1), w_hy, torch.zeros(2, 1), b_y), atol=1e-12
    )


def test_the_rnn_equals_pytorchs() -> None:
    twin = nn.RNN(3, 5, batch_first=True)
    w_hx, w_hh, b_h, _zero = twin.parameters()
    weights = {"W_hx": w_hx, "W_hh": w_hh, "b_h": b_h, "W_hy": torch.randn(2, 5), "b_y": torch.randn(2)}
    nn.init.zeros_(twin.bias_hh_l0)
    x = torch.randn(4, 20, 3)
    states, (wanted, _last) = unroll_rnn(x, weights), twin(x)
    torch.testing.assert_close(states.h, wanted, atol=1e-6, rtol=0)
    torch.testing.assert_close(states.y, nn.functional.linear(wanted, weights["W_hy"], weights["b_y"]), atol=1e-6, rtol=0)


def test_the_lstm_equals_pytorchs_forwards_and_backwards() -> None:
    twin = nn.LSTM(3, 5, batch_first=True)
    nn.init.zeros_(twin.bias_hh_l0)
    rows = {kind: twin.get_parameter(name) for kind, name in (("W", "weight_ih_l0"), ("U", "weight_hh_l0"), ("b", "bias_ih_l0"))}
    weights = {
        f"{kind}_{gate}": some.detach().clone().requires_grad_()
        for kind, whole in rows.items()
        for gate, some in zip("ifco", whole.chunk(4), strict=True)
    }
    x = torch.randn(4, 20, 3)
    states, (wanted, (_h, last)) = unroll_lstm(x, weights), twin(x)
    torch.testing.assert_close(states.h, wanted, atol=1e-6, rtol=0)
    torch.testing.assert_close(states.c[:, -1], last[0], atol=1e-6, rtol=0)
    states.h[:, -1].sum().backward()
    wanted[:, -1].sum().backward()
    for kind, whole in rows.items():
        mine = torch.cat([weights[f"{kind}_{gate}"].grad for gate in "ifco"])  # type: ignore[misc]
        torch.testing.assert_close(mine, whole.grad, atol=1e-5, rtol=1e-4)
