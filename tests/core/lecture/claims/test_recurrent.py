"""Claims about states, gates and gradients through time, against autograd and cells written out in torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core.lecture import recurrence
from core.lecture.claims import recurrent as claims
from tests.core.lecture.claims.walk import Walk, states


def norms_of(last: Callable[[Tensor], Tensor], x: Any) -> Any:
    leaf = torch.tensor(x, requires_grad=True)
    rows = [torch.autograd.grad(one, leaf, retain_graph=True)[0] for one in last(leaf)]
    return torch.stack(rows).square().sum(dim=(0, 2)).sqrt().numpy()


def rnn_last(weights: dict[str, Tensor]) -> Callable[[Tensor], Tensor]:
    def last(x: Tensor) -> Tensor:
        h = torch.zeros(len(weights["b_h"]), dtype=torch.float64)
        for row in x:
            h = torch.tanh(weights["W_hx"] @ row + weights["W_hh"] @ h + weights["b_h"])
        return h

    return last


def lstm_cell(w: dict[str, Tensor], row: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    f, i, o, raw = (w[f"W_{gate}"] @ row + w[f"U_{gate}"] @ h + w[f"b_{gate}"] for gate in "fioc")
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(raw)
    return torch.sigmoid(o) * torch.tanh(c), c, torch.sigmoid(f)


def lstm_last(weights: dict[str, Tensor]) -> Callable[[Tensor], Tensor]:
    def last(x: Tensor) -> Tensor:
        h = c = torch.zeros(len(weights["b_f"]), dtype=torch.float64)
        for row in x:
            h, c, _forget = lstm_cell(weights, row, h, c)
        return h

    return last


def attention_last(head: dict[str, Tensor]) -> Callable[[Tensor], Tensor]:
    def last(x: Tensor) -> Tensor:
        scores = (x[-1] @ head["q"]) @ (x @ head["k"]).T / math.sqrt(head["q"].shape[1])
        return torch.softmax(scores, dim=0) @ (x @ head["v"])

    return last


def test_how_far_gradients_fall() -> None:
    walk = Walk(claims.gradient)
    for state in states(rho=[1.0, 0.0, 0.3, 4.0], fb=[2.0, -4.0, 6.0], steps=[40, 4, 60]):
        x = recurrence.wave(state["steps"], period=12.0)
        rnn = recurrence.scale_weight(recurrence.random_rnn(1), "W_hh", state["rho"])
        lstm = recurrence.shift_weight(recurrence.random_lstm(1), "b_f", state["fb"])
        tensors = [{name: torch.tensor(one) for name, one in each.items()} for each in (rnn, lstm, recurrence.random_head(1))]
        makers = (rnn_last, lstm_last, attention_last)
        of_rnn, of_lstm, looked = (norms_of(make(each), x) for make, each in zip(makers, tensors, strict=True))
        h = c = torch.zeros(len(lstm["b_f"]), dtype=torch.float64)
        share = torch.ones(len(h), dtype=torch.float64)
        for t, row in enumerate(torch.tensor(x)):
            h, c, forget = lstm_cell(tensors[1], row, h, c)
            share = share * forget if t else share
        fall = np.log10(of_rnn[-1] / of_rnn[0]) if of_rnn[0] else math.inf
        name = "rnn cut" if math.isinf(fall) else "rnn falls" if fall > 0 else "rnn rises"
        rnn_numbers = {} if math.isinf(fall) else {"steps": state["steps"], "powers": abs(fall)}
        gates = math.log10(float(share.mean()))
        numbers = {
            name: rnn_numbers,
            "lstm": {"lstm": math.log10(of_lstm[0] / of_lstm[-1]), "gates": gates},
            "attention": {"share": looked.min() / looked.max()},
        } | of_the_matrix(rnn, state["steps"])
        walk.check(recurrence.gradients_through_time(x, rnn, lstm), numbers, state)
    walk.end()


def of_the_matrix(rnn: Any, steps: int) -> dict[str, dict[str, float]]:
    """What W_hh does to the gradient in a network of the same weights whose units are linear, by autograd."""
    x = torch.zeros(steps, 1, dtype=torch.float64, requires_grad=True)
    h = torch.zeros(len(rnn["b_h"]), dtype=torch.float64)
    for row in x:
        h = torch.tensor(rnn["W_hx"]) @ row + torch.tensor(rnn["W_hh"]) @ h
    slopes = torch.stack([torch.autograd.grad(one, x, retain_graph=True)[0][:, 0] for one in h]).norm(dim=0)
    powers = float((slopes[0] / slopes[-1]).log10())
    return {} if math.isinf(powers) else {"matrix shrinks" if powers < 0 else "matrix stretches": {"powers": abs(powers)}}


def test_the_product_of_forget_gates_is_the_cells_way_with_the_gates_held() -> None:
    """Exact so, with a large factor too; with gates that move it is not."""
    x, lstm = recurrence.wave(12, period=12.0), recurrence.shift_weight(recurrence.random_lstm(1), "b_f", -4.0)
    run = recurrence.run_lstm(x, lstm)
    c = start = torch.tensor(run.c[3], requires_grad=True)
    for t in range(4, 12):
        c = torch.tensor(run.f[t]) * c + torch.tensor(run.i[t]) * torch.tensor(run.candidate[t])
    held = torch.autograd.grad(c.sum(), start)[0].numpy()
    np.testing.assert_allclose(held, np.prod(run.f[4:], axis=0))
    np.testing.assert_allclose(held.mean(), recurrence.forget_products(run)[3])
    w = {name: torch.tensor(one) for name, one in lstm.items()}
    start = torch.tensor(run.c[3], requires_grad=True)
    h, c = torch.tensor(run.o[3]) * torch.tanh(start), start
    for row in torch.tensor(x[4:]):
        h, c, _forget = lstm_cell(w, row, h, c)
    moving = torch.autograd.grad(c.sum(), start)[0].numpy()
    assert moving != pytest.approx(held, rel=0.5)


def cells(state: dict[str, Any], draw: Any) -> tuple[Any, dict[str, Any]]:
    return recurrence.wave(state["steps"], period=state["period"]), draw(1, seed=state["draw"])


def test_what_an_rnns_states_do() -> None:
    walk = Walk(claims.rnn)
    for state in states(rho=[1.0, 0.0, 4.0], steps=[40, 4, 60], period=[12.0, 2.0, 40.0], draw=[0, 20]):
        x, drawn = cells(state, recurrence.random_rnn)
        weights = recurrence.scale_weight(drawn, "W_hh", state["rho"])
        twin = torch.nn.RNN(1, 6).double()
        with torch.no_grad():
            for name, one in (("weight_ih_l0", "W_hx"), ("weight_hh_l0", "W_hh"), ("bias_ih_l0", "b_h")):
                getattr(twin, name).copy_(torch.tensor(weights[one]))
            twin.bias_hh_l0.zero_()
            h = twin(torch.tensor(x))[0]
        beyond = sum(abs(one) > 0.9 for one in h.flatten().tolist())
        truth = {"mixes": {"count": beyond, "all": 6 * state["steps"], "limit": 0.9}} if state["rho"] else {"forgets": {}}
        walk.check((recurrence.run_rnn(x, weights).h, weights["W_hh"]), truth, state)
    walk.end()


def test_how_long_a_unit_of_the_lstm_holds_a_number() -> None:
    walk = Walk(claims.lstm)
    for state in states(fb=[2.0, -4.0, 6.0], unit=[1, 2, 6], steps=[40, 4, 60], period=[12.0, 2.0, 40.0], draw=[0, 20]):
        x, drawn = cells(state, recurrence.random_lstm)
        weights = recurrence.shift_weight(drawn, "b_f", state["fb"])
        w, k = {name: torch.tensor(one) for name, one in weights.items()}, state["unit"] - 1
        h = c = torch.zeros(6, dtype=torch.float64)
        kept, forgets, entering = 1.0, [], []
        for t, row in enumerate(torch.tensor(x)):
            entering.append(float(torch.sigmoid(w["W_i"] @ row + w["U_i"] @ h + w["b_i"])[k]))
            h, c, forget = lstm_cell(w, row, h, c)
            forgets.append(float(forget[k]))
            kept *= forgets[-1] if t else 1.0
        truth = {"unit": state["unit"], "f_low": min(forgets), "f_high": max(forgets), "kept": kept}
        truth |= {"i_low": min(entering), "i_high": max(entering)}
        run = recurrence.run_lstm(x, weights)
        walk.check((state["unit"], run.f[:, k], run.i[:, k]), {"gates": truth}, state)
    walk.end()
