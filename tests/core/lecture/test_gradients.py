"""The written gradients against autograd and PyTorch's own layers, in float64."""

from itertools import product
from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from core.lecture import backprop
from core.lecture import gradients as g
from core.models.transformer import DecoderLayer
from core.nn import LearnedPositions, MultiHeadAttention, SinusoidalPositions

TIGHT = {"atol": 1e-10, "rtol": 1e-10}


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).requires_grad_()


def by_autograd(y: Tensor, grad: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(y, inputs, grad)


def attention_weights(layer: MultiHeadAttention) -> dict[str, Tensor]:
    """A layer's weights in the report's orientation and names."""
    named = {"q": layer.q, "k": layer.k, "v": layer.v, "o": layer.out}
    return {f"w_{n}": m.weight.detach().T for n, m in named.items()} | {f"b_{n}": m.bias.detach() for n, m in named.items()}


def layer_weights(layer: DecoderLayer) -> dict[str, Tensor]:
    ffn = layer.feed_forward
    found = {"w_1": ffn.fc1.weight.T, "b_1": ffn.fc1.bias, "w_2": ffn.fc2.weight.T, "b_2": ffn.fc2.bias}
    for number in (1, 2, 3):
        if norm := getattr(layer, f"norm{number}", None):
            found |= {f"gamma_{number}": norm.weight, f"beta_{number}": norm.bias}
    return {name: one.detach() for name, one in found.items()}


def test_multi_head() -> None:
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 2).double()
    query, memory, grad = random(4, 6), random(5, 6, seed=1), random(4, 6, seed=2).detach()
    y, _weights = layer(query[None], memory[None])
    weights = attention_weights(layer)
    found = g.multi_head_gradient(query.detach(), memory.detach(), memory.detach(), weights, 2, grad)
    torch.testing.assert_close(g.multi_head(query, memory, memory, weights, 2), y[0], **TIGHT)
    modules = {"q": layer.q, "k": layer.k, "v": layer.v, "o": layer.out}
    expected = by_autograd(y[0], grad, query, memory, *(m.weight for m in modules.values()), *(m.bias for m in modules.values()))
    torch.testing.assert_close(found.query, expected[0], **TIGHT)
    torch.testing.assert_close(found.key + found.value, expected[1], **TIGHT)
    for name, dw, db in zip(modules, expected[2:6], expected[6:], strict=True):
        torch.testing.assert_close(found.weights[f"w_{name}"], dw.T, **TIGHT)
        torch.testing.assert_close(found.weights[f"b_{name}"], db, **TIGHT)


def test_how_far_the_reports_gelu_is_off() -> None:
    found = backprop.example("ffn", rows=5, width=6)
    true = found.autograd["x"]
    assert 1e-6 < np.linalg.norm(found.inner["report_gradient"] - true) / np.linalg.norm(true) < 1e-2


def test_cross_entropy_and_embedding() -> None:
    logits, classes = random(5, 4), torch.tensor([0, 3, 1, 1, 2])
    for smoothing in (0.0, 0.1):
        loss = F.cross_entropy(logits, classes, label_smoothing=smoothing)
        expected = torch.autograd.grad(loss, logits)[0]
        torch.testing.assert_close(g.cross_entropy_gradient(logits.detach(), classes, smoothing=smoothing), expected, **TIGHT)
    table, grad = random(6, 3), random(5, 3, seed=1).detach()
    expected = by_autograd(F.embedding(classes, table), grad, table)[0]
    torch.testing.assert_close(g.embedding_gradient(classes, 6, grad), expected, **TIGHT)


def test_the_pages_examples_agree_with_autograd() -> None:
    for part, causal in product(get_args(backprop.Part), (False, True)):
        found = backprop.example(part, rows=5, width=6, seed=3, first=-1.0, causal=causal)
        assert found.inputs[next(iter(found.inputs))][0, 0] == -1.0, part
        assert set(found.written) == set(found.autograd) == set(found.inputs) - {"upstream"}, part
        assert max(map(found.gap, found.written)) < 1e-10, (part, causal)


def test_a_whole_decoder_layer() -> None:
    torch.manual_seed(0)
    layer = DecoderLayer(8, 2, 12).double()
    y, memory, grad = random(4, 8), random(6, 8, seed=1), random(4, 8, seed=2).detach()
    out = layer(y[None], memory[None])[0][0]
    own, cross = attention_weights(layer.self_attention), attention_weights(layer.cross_attention)
    found = g.decoder_layer_gradient(y.detach(), memory.detach(), own, cross, layer_weights(layer), 2, grad)
    for mine, theirs in zip(found, by_autograd(out, grad, y, memory), strict=True):
        torch.testing.assert_close(mine, theirs, **TIGHT)


def test_a_sum_hands_its_gradient_on() -> None:
    x, upstream = torch.randn(2, 5, 6, requires_grad=True), torch.randn(2, 5, 6)
    (found,) = by_autograd(SinusoidalPositions(9, 6, scale=0.1)(x), upstream, x)
    torch.testing.assert_close(g.addition_gradient(upstream, x)[0], found)
    assert found.equal(upstream)
    learned = LearnedPositions(5, 6)
    expected = by_autograd(learned(x), upstream, x, learned.encoding)
    for mine, theirs in zip(g.addition_gradient(upstream, x, learned.encoding), expected, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("shape", [(), (6,), (5, 1), (1, 5, 6), (2, 1, 1), (1, 1, 1)])
def test_repeated_addends_get_the_sum(shape: tuple[int, ...]) -> None:
    x, b, upstream = torch.randn(2, 5, 6, requires_grad=True), torch.randn(shape, requires_grad=True), torch.randn(2, 5, 6)
    for mine, theirs in zip(g.addition_gradient(upstream, x, b), by_autograd(x + b, upstream, x, b), strict=True):
        torch.testing.assert_close(mine, theirs)
