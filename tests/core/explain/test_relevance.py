"""Relevance against a two-layer model written out in numpy, its gradients by differences and its sums by loops."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.explain.relevance import Scored, attention_gradients, positive, relevance

HEADS, TOKENS, WIDTH, CLASSES = 2, 4, 3, 2
Array = NDArray[np.float64]


@pytest.fixture
def weights() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    shapes = {"q": (2, HEADS, WIDTH, WIDTH), "k": (2, HEADS, WIDTH, WIDTH), "v": (2, HEADS, WIDTH, WIDTH), "c": (WIDTH, CLASSES)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def by_hand(x: Array, w: dict[str, Array], nudge: tuple[int, int, int, int, float] | None = None) -> tuple[Array, list[Array]]:
    """Scores and maps; `nudge` adds to one weight (layer, head, query, key) after its softmax, as a gradient means it."""
    maps = []
    for layer in range(2):
        heads = []
        for head in range(HEADS):
            s = (x @ w["q"][layer, head]) @ (x @ w["k"][layer, head]).T / np.sqrt(WIDTH)
            a = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)
            if nudge and nudge[:2] == (layer, head):
                a[nudge[2], nudge[3]] += nudge[4]
            heads.append(a)
        maps.append(np.stack(heads))
        x = x + sum(heads[h] @ x @ w["v"][layer, h] for h in range(HEADS))
    return x[0] @ w["c"], maps


def in_torch(w: dict[str, Array]) -> Scored:
    t = {name: torch.from_numpy(value) for name, value in w.items()}

    def model(x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        maps = {}
        for layer in range(2):
            q, k, v = (torch.einsum("bnd,hde->bhne", x, t[name][layer]) for name in "qkv")
            maps[f"layer {layer + 1}"] = a = (q @ k.transpose(-2, -1) / WIDTH**0.5).softmax(dim=-1)
            x = x + (a @ v).sum(dim=1)
        return x[:, 0] @ t["c"], maps

    return model


@pytest.mark.parametrize("label", range(CLASSES))
def test_two_layers_by_hand(weights: dict[str, Array], label: int) -> None:
    x = np.random.default_rng(1).normal(size=(TOKENS, WIDTH))
    _, maps = by_hand(x, weights)
    whole = np.eye(TOKENS)
    for layer in range(2):
        bar = np.zeros((TOKENS, TOKENS))
        for i in range(TOKENS):
            for j in range(TOKENS):
                for head in range(HEADS):
                    up, down = (by_hand(x, weights, (layer, head, i, j, e))[0][label] for e in (1e-6, -1e-6))
                    bar[i, j] += max(0.0, (up - down) / 2e-6 * maps[layer][head, i, j]) / HEADS
        whole = whole + bar @ whole
    found = relevance(*attention_gradients(in_torch(weights), torch.from_numpy(x)[None], label))
    np.testing.assert_allclose(found, whole, rtol=2e-4, atol=2e-6)


def test_only_what_speaks_for_the_class_counts() -> None:
    weights, gradient = np.full((2, 2, 2), 0.5), np.array([[[1.0, -1.0], [2.0, -3.0]], [[1.0, 1.0], [-9.0, 0.0]]])
    # Head 1 gives [[.5, 0], [1, 0]], head 2 [[.5, .5], [0, 0]]; their mean:
    np.testing.assert_allclose(positive(weights, gradient), [[0.5, 0.25], [0.5, 0.0]])
    np.testing.assert_allclose(relevance([weights], [gradient]), [[1.5, 0.25], [0.5, 1.0]])


def test_what_cannot_be_is_refused(weights: dict[str, Array]) -> None:
    x = torch.zeros(2, TOKENS, WIDTH, dtype=torch.float64)
    with pytest.raises(ValueError, match="one input at a time, not for 2"):
        attention_gradients(in_torch(weights), x, 0)
    with pytest.raises(ValueError, match="there is no class 7: classes are 0 to 1"):
        attention_gradients(in_torch(weights), x[:1], 7)
    with pytest.raises(ValueError, match="0 maps"):
        relevance([], [])
    with pytest.raises(ValueError, match="both must be"):
        relevance([np.zeros((1, 2, 2))], [np.zeros((1, 3, 3))])
