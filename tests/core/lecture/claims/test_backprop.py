"""Claims about one layer's gradients, and what its passages say of every state, against autograd and loops."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from core.lecture import backprop
from core.lecture.backprop import Example, Part
from core.lecture.claims import backprop as claims
from tests.core.lecture.claims.walk import Walk, states

DIALS: dict[str, Any] = {"first": [0.5, -3.0, 3.0], "seed": [1, 2, 20], "rows": [4, 2, 6]}


def examples(part: Part) -> Any:
    causal = {"causal": [False, True]} if part in ("attention", "multi_head", "layer") else {}
    return ((state, backprop.example(part, **state)) for state in states(**DIALS, **causal))


def weights_of(q: Any, k: Any, *, causal: bool) -> Any:
    """Entry by entry."""
    rows = []
    for i, row in enumerate(q):
        raised = [math.exp(row @ key / math.sqrt(len(row))) if j <= i or not causal else 0.0 for j, key in enumerate(k)]
        rows.append([one / sum(raised) for one in raised])
    return np.array(rows)


def truth_of(part: Part, state: dict[str, Any], example: Example) -> dict[str, dict[str, Any]]:
    x = next(iter(example.inputs.values()))
    if part == "softmax":
        weights = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
        low, high = np.unravel_index(weights.argmin(), weights.shape), np.unravel_index(weights.argmax(), weights.shape)
        by = example.autograd["S"]
        return {"factor": {"small": weights[low], "little": by[low], "large": weights[high], "much": by[high]}}
    if part == "layer_norm":
        return {"tripled": {"variance": min(np.mean(row**2) - np.mean(row) ** 2 for row in x)}}
    if part == "attention":
        rows = state["rows"]
        return {"causal": {"count": rows * (rows - 1) // 2}} if state["causal"] else {"open": {"queries": rows}}
    z = torch.tensor(x @ example.inputs["w_1"] + example.inputs["b_1"], requires_grad=True)
    slopes = torch.autograd.grad(F.gelu(z, approximate="tanh").sum(), z)[0]
    return {"off": {"off": sum(abs(one) < 0.05 for one in slopes.flatten().tolist()), "all": 8 * state["rows"], "limit": 0.05}}


@pytest.mark.parametrize("part", claims.CLAIMS)
def test_what_is_said_of_a_part(part: Part) -> None:
    walk = Walk(claims.CLAIMS[part])
    for state, example in examples(part):
        walk.check(example, truth_of(part, state, example), state)
    walk.end()


@pytest.mark.parametrize("part", get_args(Part))
def test_what_the_passages_say_holds_at_every_end_of_the_dials(part: Part) -> None:
    for state, one in examples(part):
        by, up = one.autograd, one.inputs["upstream"]
        if part in ("softmax", "layer_norm"):
            rows = by["S" if part == "softmax" else "x"]
            np.testing.assert_allclose(rows.sum(axis=1), 0, atol=1e-9 * max(1, np.abs(rows).max()), err_msg=str(state))
        if part == "linear":
            tokens = [np.outer(x, g) for x, g in zip(one.inputs["x"], up, strict=True)]
            np.testing.assert_allclose(by["W"], sum(tokens), atol=1e-12)
            np.testing.assert_allclose(by["b"][0], sum(up), atol=1e-12)
            np.testing.assert_allclose(by["x"], sum(np.outer(up[:, n], one.inputs["W"][:, n]) for n in range(4)), atol=1e-12)
        if part == "attention":
            weights = weights_of(one.inputs["Q"], one.inputs["K"], causal=state["causal"])
            np.testing.assert_allclose(by["V"][-1], weights[-1, -1] * up[-1] if state["causal"] else weights[:, -1] @ up)
            assert (one.inner["dS"][weights == 0] == 0).all()
        if part == "multi_head":
            np.testing.assert_allclose(by["b_k"], 0, atol=1e-12, err_msg=str(state))


def test_the_reports_gelu_is_off_by_less_than_a_thousandth_and_most_around_two() -> None:
    x = torch.linspace(-4, 4, 8001, dtype=torch.float64, requires_grad=True)
    slope = torch.autograd.grad(F.gelu(x, approximate="tanh").sum(), x)[0]
    normal = torch.distributions.Normal(0.0, 1.0)
    at = x.detach()
    gap = (slope - normal.cdf(at) - at * normal.log_prob(at).exp()).abs()
    assert gap.max() < 1e-3 and float(at[gap.argmax()].abs()) == pytest.approx(2, abs=0.1)
