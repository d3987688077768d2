"""Recurrent cells unrolled over a sequence: every state, and the gradient of the last state by each input.

Source: sequence-modelling "Red Neuronal Recurrente (RNN)", "Long Short-Term Memory (LSTM)" and "Estados internos"; Bengio et al.
1994 for gradients through time. Weights are random, not trained.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.lecture.tokens import random_numbers
from core.models.recurrent import GATES, LSTMStates, RNNStates, unroll_lstm, unroll_rnn
from core.nn import scaled_dot_product_attention

Array = NDArray[np.float64]
Weights = dict[str, Array]

HIDDEN: Final = 6
BOUND: Final = 1 / math.sqrt(HIDDEN)


def wave(length: int, *, period: float) -> Array:
    """(length, 1): a sine of amplitude 1 and a period in steps."""
    return np.sin(2 * math.pi * np.arange(length) / period)[:, None]


# -- weights ------------------------------------------------------------------------------------------------------------------


def _uniform(name: str, shape: tuple[int, ...]) -> Array:
    """Uniform within 1 / sqrt(HIDDEN) as PyTorch starts weights, seeded by the name, two decimals.

    A normal draw through its distribution function.
    """
    normal = random_numbers(name, shape, digits=12)
    return np.round(BOUND * np.vectorize(math.erf)(normal / math.sqrt(2)), 2) + 0.0


def random_rnn(width: int, *, seed: int = 0) -> Weights:
    """W_hx, W_hh, b_h, W_hy, b_y, drawn by `_uniform`."""
    shapes = {"W_hx": (HIDDEN, width), "W_hh": (HIDDEN, HIDDEN), "b_h": (HIDDEN,), "W_hy": (1, HIDDEN), "b_y": (1,)}
    return {name: _uniform(f"rnn {name} {seed}", shape) for name, shape in shapes.items()}


def random_lstm(width: int, *, seed: int = 0) -> Weights:
    """W, U and b of f, i, c and o, drawn by `_uniform`."""
    shapes: dict[str, tuple[int, ...]] = {"W": (HIDDEN, width), "U": (HIDDEN, HIDDEN), "b": (HIDDEN,)}
    names = [(f"{kind}_{gate}", shape) for gate in GATES for kind, shape in shapes.items()]
    return {name: _uniform(f"lstm {name} {seed}", shape) for name, shape in names}


# -- unrolled -----------------------------------------------------------------------------------------------------------------


def _tensors(weights: Weights) -> dict[str, Tensor]:
    return {name: torch.tensor(values) for name, values in weights.items()}


def run_rnn(x: Array, weights: Weights) -> RNNStates[Array]:
    """Unroll over x (time, width): h (time, hidden), y (time, o)."""
    return RNNStates(*(one[0].numpy() for one in unroll_rnn(torch.tensor(x)[None], _tensors(weights))))


def run_lstm(x: Array, weights: Weights) -> LSTMStates[Array]:
    """Unroll over x (time, width): every gate and state, (time, hidden) each."""
    return LSTMStates(*(one[0].numpy() for one in unroll_lstm(torch.tensor(x)[None], _tensors(weights))))


def left_of_first(x: Array, rnn: Weights, lstm: Weights) -> tuple[Array, Array]:
    """(time,) of an RNN and of an LSTM: how far the state moves if the first input is 1 larger, in shares of the first step."""
    other = x.copy()
    other[0] += 1
    apart = (np.linalg.norm(run(other, of).h - run(x, of).h, axis=1) for run, of in ((run_rnn, rnn), (run_lstm, lstm)))
    of_rnn, of_lstm = (one / (one[0] or 1.0) for one in apart)
    return of_rnn, of_lstm


def rnn_terms(x: Array, run: RNNStates[Array], weights: Weights, *, step: int, unit: int) -> tuple[float, float, float]:
    """W_hx x_t, W_hh h_{t-1} and b_h of one unit at one step: the terms inside the tanh."""
    before = run.h[step - 1] if step else np.zeros(run.h.shape[1])
    return (
        float(weights["W_hx"][unit] @ x[step]),
        float(weights["W_hh"][unit] @ before),
        float(weights["b_h"][unit]),
    )


def rnn_entry(inward: float, back: float, bias: float) -> float:
    """One unit's state from its `rnn_terms`: tanh of their sum."""
    return math.tanh(inward + back + bias)


def lstm_state(o: float, c: float) -> float:
    """h = o tanh(c)."""
    return o * math.tanh(c)


@torch.no_grad()
def twin(weights: Weights) -> nn.RNN | nn.LSTM:
    """`torch.nn.RNN` with these weights, or `torch.nn.LSTM`, whose gates stand in the order i, f, c, o."""
    of_lstm = {kind: [f"{kind}_{gate}" for gate in "ifco"] for kind in "WUb"}
    of_rnn = {"W": ["W_hx"], "U": ["W_hh"], "b": ["b_h"]}
    kind, names = (nn.LSTM, of_lstm) if "W_f" in weights else (nn.RNN, of_rnn)
    w, u, b = (torch.tensor(np.concatenate([weights[one] for one in some])) for some in names.values())
    made = kind(w.shape[1], u.shape[1], batch_first=True).double()
    for name, value in (("weight_ih_l0", w), ("weight_hh_l0", u), ("bias_ih_l0", b), ("bias_hh_l0", torch.zeros_like(b))):
        made.get_parameter(name).copy_(value)
    return made


@torch.inference_mode()
def rnn_deviation(x: Array, weights: Weights) -> float:
    """Largest difference of our states from those of `torch.nn.RNN` with the same weights."""
    return float(np.abs(run_rnn(x, weights).h - twin(weights)(torch.tensor(x)[None])[0][0].numpy()).max())


@torch.inference_mode()
def lstm_deviation(x: Array, weights: Weights) -> float:
    """Largest difference of our states and last cell from those of `torch.nn.LSTM` with the same weights."""
    ours, (h, (_last, c)) = run_lstm(x, weights), twin(weights)(torch.tensor(x)[None])
    return float(max(np.abs(ours.h - h[0].numpy()).max(), np.abs(ours.c[-1] - c[0, 0].numpy()).max()))


# -- gradients through time ---------------------------------------------------------------------------------------------------


def _norms_by_input(states: Callable[[Tensor], Tensor], x: Array) -> Array:
    """(time,) Frobenius norm of d h_T / d x_t by autograd, each unit of the last state in a row of the batch of its own."""
    inputs = torch.tensor(x).repeat(HIDDEN, 1, 1).requires_grad_()  # (hidden, time, width)
    (gradient,) = torch.autograd.grad(states(inputs)[:, -1].diagonal().sum(), inputs)
    return np.asarray(gradient.norm(dim=(0, 2)).numpy())


def cell_gradients(x: Array, weights: Weights) -> Array:
    """(time,) Frobenius norm of d h_T / d x_t of an RNN or an LSTM.

    Of an RNN that is J_T J_{T-1} ... J_{t+1} diag(1 - h_t^2) W_hx with J_t = diag(1 - h_t^2) W_hh: each step back multiplies by
    another matrix. An LSTM's goes through the cell, scaled by f alone, and through the state.
    """
    cell = twin(weights)
    return _norms_by_input(lambda inputs: cell(inputs)[0], x)


def forget_products(run: LSTMStates[Array]) -> Array:
    """(time,) mean over units of f_T ... f_{t+1}: the share of step t's cell that the forget gates pass on to the last."""
    after = np.vstack([run.f[1:], np.ones((1, run.f.shape[1]))])
    return np.asarray(np.cumprod(after[::-1], axis=0)[::-1].mean(axis=1))


def random_head(width: int, *, seed: int = 0) -> Weights:
    """q, k and v of one attention head, (width, HIDDEN) each, drawn like the cells' weights."""
    return {name: _uniform(f"attention {name} {seed}", (width, HIDDEN)) for name in "qkv"}


def attention_gradients(x: Array, *, seed: int = 0) -> Array:
    """(time,) Frobenius norm of d z_T / d x_t for one self-attention head over the sequence, by autograd.

    z are the weighted values before any W_O, HIDDEN wide; the weights are drawn like those of the cells, and there are no
    positions.
    """
    w_q, w_k, w_v = (torch.tensor(one) for one in random_head(x.shape[1], seed=seed).values())

    def mixed(inputs: Tensor) -> Tensor:
        return scaled_dot_product_attention(inputs @ w_q, inputs @ w_k, inputs @ w_v, return_weights=True)[0]

    return _norms_by_input(mixed, x)


@dataclass(frozen=True, kw_only=True)
class ThroughTime:
    """Norm of the last state's gradient by each input of one sequence, (time,) each.

    Attributes:
        forget: `forget_products` of the LSTM.
    """

    rnn: Array
    lstm: Array
    attention: Array
    forget: Array

    def steps_remembered(self, name: str) -> int:
        """Steps back at which the gradient first falls under a hundredth of its largest; the whole length where it never does."""
        norms: Array = getattr(self, name)
        under = norms[::-1] < 0.01 * norms.max()
        return int(under.argmax()) if under.any() else len(norms)


def gradients_through_time(x: Array, rnn: Weights, lstm: Weights, *, seed: int = 0) -> ThroughTime:
    """The gradients of all three on one sequence (time, width)."""
    return ThroughTime(
        rnn=cell_gradients(x, rnn),
        lstm=cell_gradients(x, lstm),
        attention=attention_gradients(x, seed=seed),
        forget=forget_products(run_lstm(x, lstm)),
    )
