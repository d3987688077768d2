"""Unrolled cells: gradients against autograd, cells against PyTorch's, sequences against what they are said to be."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from core.lecture import recurrence, tokens
from core.models.recurrent import unroll_lstm, unroll_rnn

X = tokens.embed("the cat sat on the mat", 4)


@pytest.mark.parametrize("factor", [0.0, 1.0, 2.5])
def test_what_is_left_of_the_first_input_is_what_pytorchs_rnn_keeps(factor: float) -> None:
    weights = recurrence.random_rnn(4, seed=1)
    weights["W_hh"] *= factor
    cell = nn.RNNCell(4, 6).double()
    with torch.no_grad():
        cell.weight_ih.copy_(torch.tensor(weights["W_hx"]))
        cell.weight_hh.copy_(torch.tensor(weights["W_hh"]))
        cell.bias_ih.copy_(torch.tensor(weights["b_h"]))
        cell.bias_hh.zero_()
        inputs, states, apart = torch.tensor(np.stack([X, X])), torch.zeros(2, 6).double(), []
        inputs[1, 0] += 1
        for step in range(len(X)):
            states = cell(inputs[:, step], states)
            apart.append(float((states[1] - states[0]).norm()))
    rnn, lstm = recurrence.left_of_first(X, weights, recurrence.random_lstm(4, seed=1))
    np.testing.assert_allclose(rnn, np.array(apart) / apart[0], rtol=1e-9, atol=1e-12)
    assert lstm[0] == 1 and lstm.shape == rnn.shape


@pytest.mark.parametrize(("factor", "bias"), [(0.3, -2.0), (1.0, 0.0), (2.5, 3.0)])
def test_gradients_through_time_equal_autograds_through_the_written_cells(factor: float, bias: float) -> None:
    """All three of the page: the cells equation by equation, and PyTorch's attention, with the same weights."""
    weights, lstm_weights = recurrence.random_rnn(4, seed=5), recurrence.random_lstm(4, seed=5)
    weights["W_hh"] *= factor
    lstm_weights["b_f"] += bias
    rnn, lstm = recurrence._tensors(weights), recurrence._tensors(lstm_weights)
    q, k, v = (torch.tensor(recurrence._uniform(f"attention {name} 5", (4, 6))) for name in "qkv")
    for found, last in (
        (recurrence.cell_gradients(X, weights), lambda x: unroll_rnn(x[None], rnn).h[0, -1]),
        (recurrence.cell_gradients(X, lstm_weights), lambda x: unroll_lstm(x[None], lstm).h[0, -1]),
        (recurrence.attention_gradients(X, seed=5), lambda x: F.scaled_dot_product_attention(x @ q, x @ k, x @ v)[-1]),
    ):
        jacobian = torch.autograd.functional.jacobian(last, torch.tensor(X))
        np.testing.assert_allclose(found, jacobian.permute(1, 0, 2).flatten(1).norm(dim=1), rtol=1e-8, atol=1e-14)


def test_forget_gates_multiply() -> None:
    run = recurrence.run_lstm(X, recurrence.random_lstm(4))
    for t in (0, 5, len(X) - 2, len(X) - 1):
        assert recurrence.forget_products(run)[t] == pytest.approx(np.prod(run.f[t + 1 :], axis=0).mean())


def test_our_cells_equal_pytorchs_on_any_weights() -> None:
    assert recurrence.rnn_deviation(X, recurrence.random_rnn(4, seed=7)) < 1e-12
    weights = recurrence.random_lstm(4, seed=7)
    assert recurrence.lstm_deviation(X, weights | {"b_f": weights["b_f"] + 2}) < 1e-12


def test_the_terms_of_one_unit_add_up() -> None:
    weights = recurrence.random_rnn(4, seed=3)
    run = recurrence.run_rnn(X, weights)
    for step in (0, 1, 9):
        assert np.tanh(sum(recurrence.rnn_terms(X, run, weights, step=step, unit=2))) == pytest.approx(run.h[step, 2])


def test_a_step_is_remembered_down_to_a_hundredth() -> None:
    norms = np.array([0.001, 0.05, 0.5, 1.0])
    traces = recurrence.ThroughTime(rnn=norms, lstm=norms, attention=norms, forget=norms)
    assert traces.steps_remembered("rnn") == 3


def test_a_wave_has_its_period() -> None:
    np.testing.assert_allclose(recurrence.wave(9, period=4)[:, 0], [0, 1, 0, -1, 0, 1, 0, -1, 0], atol=1e-12)


def test_drawn_weights_keep_their_bound() -> None:
    for weights in (recurrence.random_rnn(30), recurrence.random_lstm(3)):
        entries = np.concatenate([one.ravel() for one in weights.values()])
        assert np.abs(entries).max() <= 0.41 and np.abs(entries).mean() == pytest.approx(0.204, rel=0.25)
