"""The simple recurrent network and the LSTM: one function per equation, one module per network.

Source: sequence-modelling "Red Neuronal Recurrente (RNN)" and "Long Short-Term Memory (LSTM)"; Elman 1990; Hochreiter and
Schmidhuber 1997 with the forget gate of Gers et al. 2000.

Vectors are rows, so that the document's W x is x W^T. Weights have PyTorch's shapes, (out, in).
"""

import math
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

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


@dataclass(frozen=True, kw_only=True)
class RNNStates:
    """An RNN unrolled: h (batch, time, hidden) and y (batch, time, o)."""

    h: Tensor
    y: Tensor


@dataclass(frozen=True, kw_only=True)
class LSTMStates:
    """An LSTM unrolled: gates f, i, o, the candidate, the cell c and the state h, (batch, time, hidden) each."""

    f: Tensor
    i: Tensor
    o: Tensor
    candidate: Tensor
    c: Tensor
    h: Tensor


class RNN(nn.Module):
    """One layer with a zero initial state. Weights are initialised uniformly within 1 / sqrt(hidden), as in PyTorch."""

    def __init__(self, width: int, hidden: int, output: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.w_hx = nn.Parameter(torch.empty(hidden, width))
        self.w_hh = nn.Parameter(torch.empty(hidden, hidden))
        self.b_h = nn.Parameter(torch.empty(hidden))
        self.w_hy = nn.Parameter(torch.empty(output, hidden))
        self.b_y = nn.Parameter(torch.empty(output))
        _draw(self, hidden)

    def forward(self, x: Tensor) -> RNNStates:
        """(batch, time, width) -> all states and outputs."""
        h, states = x.new_zeros(len(x), self.hidden), []  # (batch, hidden)
        for x_t in x.unbind(dim=1):  # (batch, width) each
            h = rnn_hidden(x_t, h, self.w_hx, self.w_hh, self.b_h)
            states.append(h)
        unrolled = torch.stack(states, dim=1)  # (batch, time, hidden)
        return RNNStates(h=unrolled, y=rnn_output(unrolled, self.w_hy, self.b_y))


class LSTM(nn.Module):
    """One layer with zero initial cell and state. Parameters w_f, u_f, b_f and so on: three per gate."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        for gate in GATES:
            self.register_parameter(f"w_{gate}", nn.Parameter(torch.empty(hidden, width)))
            self.register_parameter(f"u_{gate}", nn.Parameter(torch.empty(hidden, hidden)))
            self.register_parameter(f"b_{gate}", nn.Parameter(torch.empty(hidden)))
        _draw(self, hidden)

    def weights(self, gate: str) -> tuple[Tensor, Tensor, Tensor]:
        """W, U and b of one of `GATES`."""
        return self.get_parameter(f"w_{gate}"), self.get_parameter(f"u_{gate}"), self.get_parameter(f"b_{gate}")

    def forward(self, x: Tensor) -> LSTMStates:
        """(batch, time, width) -> every gate and state."""
        h = c = x.new_zeros(len(x), self.hidden)  # (batch, hidden)
        kept: dict[str, list[Tensor]] = {name: [] for name in ("f", "i", "o", "candidate", "c", "h")}
        weights = {gate: self.weights(gate) for gate in GATES}
        for x_t in x.unbind(dim=1):  # (batch, width) each
            f, i, o = (lstm_gate(x_t, h, *weights[gate]) for gate in ("f", "i", "o"))
            candidate = lstm_candidate(x_t, h, *weights["c"])
            c = lstm_cell(f, c, i, candidate)
            h = lstm_hidden(o, c)
            for name, value in zip(kept, (f, i, o, candidate, c, h), strict=True):  # (batch, hidden) each
                kept[name].append(value)
        return LSTMStates(**{name: torch.stack(values, dim=1) for name, values in kept.items()})  # (batch, time, hidden) each


def _draw(module: nn.Module, hidden: int) -> None:
    bound = 1 / math.sqrt(hidden)
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -bound, bound)
