"""The simple recurrent network and the LSTM: one function per equation, and one that unrolls each network.

Source: sequence-modelling "Red Neuronal Recurrente (RNN)" and "Long Short-Term Memory (LSTM)"; Elman 1990; Hochreiter and
Schmidhuber 1997 with the forget gate of Gers et al. 2000.

Vectors are rows, so that the document's W x is x W^T. Weights have PyTorch's shapes, (out, in).
"""

from collections.abc import Mapping
from typing import Final, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

States = TypeVar("States")
GATES: Final = ("f", "i", "c", "o")
"""Forget, input, candidate, output: the document's letters, in its order (PyTorch's rows are i, f, c, o)."""


def rnn_hidden(x: Tensor, h: Tensor, w_hx: Tensor, w_hh: Tensor, b_h: Tensor) -> Tensor:
    """h_t = tanh(W_hx x_t + W_hh h_{t-1} + b_h) (sequence-modelling, "Ecuaciones de la RNN", first).

    Args:
        x: (batch, d). h: (batch, hidden). w_hx: (hidden, d). w_hh: (hidden, hidden). b_h: (hidden,).
    """
    return torch.tanh(x @ w_hx.T + h @ w_hh.T + b_h)  # (batch, d), (batch, hidden) -> (batch, hidden)


def rnn_output(h: Tensor, w_hy: Tensor, b_y: Tensor) -> Tensor:
    """y_t = W_hy h_t + b_y (sequence-modelling, "Ecuaciones de la RNN", second): (batch, hidden) -> (batch, o)."""
    return h @ w_hy.T + b_y  # (batch, hidden) -> (batch, o)


def lstm_gate(x: Tensor, h: Tensor, w: Tensor, u: Tensor, b: Tensor) -> Tensor:
    """sigma(W x_t + U h_{t-1} + b): f_t, i_t or o_t (sequence-modelling, "Ecuaciones de la celda LSTM", 1st, 2nd and 5th).

    Args:
        x: (batch, d). h: (batch, hidden). w: (hidden, d). u: (hidden, hidden). b: (hidden,).
    """
    return torch.sigmoid(x @ w.T + h @ u.T + b)  # (batch, d), (batch, hidden) -> (batch, hidden)


def lstm_candidate(x: Tensor, h: Tensor, w: Tensor, u: Tensor, b: Tensor) -> Tensor:
    """c~_t = tanh(W_c x_t + U_c h_{t-1} + b_c) (sequence-modelling, "Ecuaciones de la celda LSTM", 3rd)."""
    return torch.tanh(x @ w.T + h @ u.T + b)  # (batch, d), (batch, hidden) -> (batch, hidden)


def lstm_cell(f: Tensor, c: Tensor, i: Tensor, candidate: Tensor) -> Tensor:
    """c_t = f_t * c_{t-1} + i_t * c~_t, entry by entry (sequence-modelling, "Ecuaciones de la celda LSTM", 4th)."""
    return f * c + i * candidate


def lstm_hidden(o: Tensor, c: Tensor) -> Tensor:
    """h_t = o_t * tanh(c_t), entry by entry (sequence-modelling, "Ecuaciones de la celda LSTM", 6th)."""
    return o * torch.tanh(c)


class RNNStates(NamedTuple, Generic[States]):
    """An RNN unrolled: h and y, tensors (batch, time, hidden) and (batch, time, o), or arrays of one sequence."""

    h: States
    y: States


class LSTMStates(NamedTuple, Generic[States]):
    """An LSTM unrolled: gates f, i, o, the candidate, the cell c and the state h, tensors (batch, time, hidden) or arrays."""

    f: States
    i: States
    o: States
    candidate: States
    c: States
    h: States


def unroll_rnn(x: Tensor, weights: Mapping[str, Tensor]) -> RNNStates[Tensor]:
    """(batch, time, width) -> all states and outputs, from a state of zeros.

    Args:
        weights: W_hx, W_hh, b_h, W_hy and b_y, by the document's names.
    """
    h, states = x.new_zeros(len(x), len(weights["b_h"])), []  # (batch, hidden)
    for x_t in x.unbind(dim=1):  # (batch, width) each
        h = rnn_hidden(x_t, h, weights["W_hx"], weights["W_hh"], weights["b_h"])
        states.append(h)
    unrolled = torch.stack(states, dim=1)  # (batch, time, hidden)
    return RNNStates(unrolled, rnn_output(unrolled, weights["W_hy"], weights["b_y"]))


def unroll_lstm(x: Tensor, weights: Mapping[str, Tensor]) -> LSTMStates[Tensor]:
    """(batch, time, width) -> every gate and state, from a cell and a state of zeros.

    Args:
        weights: W_f, U_f, b_f and so on: three for each of `GATES`.
    """
    h = c = x.new_zeros(len(x), len(weights["b_f"]))  # (batch, hidden)
    steps, of = [], {gate: [weights[f"{kind}_{gate}"] for kind in ("W", "U", "b")] for gate in GATES}
    for x_t in x.unbind(dim=1):  # (batch, width) each
        f, i, o = (lstm_gate(x_t, h, *of[gate]) for gate in ("f", "i", "o"))
        candidate = lstm_candidate(x_t, h, *of["c"])
        c = lstm_cell(f, c, i, candidate)
        h = lstm_hidden(o, c)
        steps.append((f, i, o, candidate, c, h))  # (batch, hidden) each
    return LSTMStates(*(torch.stack(values, dim=1) for values in zip(*steps, strict=True)))  # (batch, time, hidden) each
