"""Attention against PyTorch's own layer and against a loop."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from core.nn import MultiHeadAttention, causal_mask, padding_mask, scaled_dot_product_attention, window_mask
from tests.core.nn import torchs


def attention_by_loop(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[np.ndarray, np.ndarray]:
    """One batch entry and head at a time, one query at a time, in float64 numpy: (queries, d), (keys, d), (keys, e)."""
    q_, k_, v_ = (x.detach().numpy().astype(np.float64) for x in (q, k, v))
    output, weights = np.zeros((len(q_), v_.shape[1])), np.zeros((len(q_), len(k_)))
    for i, query in enumerate(q_):
        allowed = [j for j in range(len(k_)) if mask is None or bool(mask[i, j])]
        exponentials = {j: math.exp(sum(query * k_[j]) / math.sqrt(len(query))) for j in allowed}
        total = sum(exponentials.values())
        for j in allowed:
            weights[i, j] = exponentials[j] / total
            output[i] += weights[i, j] * v_[j]
    return output, weights


@pytest.fixture
def random() -> torch.Generator:
    return torch.Generator().manual_seed(3)


@pytest.mark.parametrize("mask", [None, causal_mask(7), window_mask(7, 2)], ids=["none", "causal", "window"])
def test_both_paths_equal_a_loop(random: torch.Generator, mask: Tensor | None) -> None:
    q, k = torch.randn(7, 5, generator=random), torch.randn(7, 5, generator=random)
    v = torch.randn(7, 3, generator=random)
    output, weights = attention_by_loop(q, k, v, mask)
    explicit, found = scaled_dot_product_attention(q, k, v, mask=mask, return_weights=True)
    fused, nothing = scaled_dot_product_attention(q[None], k[None], v[None], mask=mask)
    assert found is not None
    assert nothing is None
    np.testing.assert_allclose(explicit, output, atol=1e-6)
    np.testing.assert_allclose(found, weights, atol=1e-6)
    np.testing.assert_allclose(fused[0], output, atol=1e-6)


def test_causal_attention_equals_torch(random: torch.Generator) -> None:
    q, k, v = (torch.randn(2, 6, 5, generator=random) for _ in range(3))
    y, weights = scaled_dot_product_attention(q, k, v, mask=causal_mask(6), return_weights=True)
    torch.testing.assert_close(y, F.scaled_dot_product_attention(q, k, v, is_causal=True), atol=1e-6, rtol=0)
    assert weights is not None and not weights.triu(diagonal=1).any()


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("case", ["self", "cross", "cross with values of their own"])
@pytest.mark.parametrize("masked", [False, True])
def test_multi_head_attention_equals_torch(random: torch.Generator, heads: int, case: str, masked: bool) -> None:
    ours = MultiHeadAttention(12, heads).eval()
    twin = torchs.attention(ours)
    query = torch.randn(3, 6, 12, generator=random)
    key = query if case == "self" else torch.randn(3, 9, 12, generator=random)
    value = torch.randn(3, 9, 12, generator=random) if case.endswith("own") else key
    mask = torch.rand(6, key.shape[1], generator=random) < 0.6 if masked else None
    if mask is not None:
        mask[:, 0] = True
    expected, expected_weights = twin(
        query, key, value, attn_mask=None if mask is None else ~mask, average_attn_weights=False, need_weights=True
    )
    arguments = {"self": (), "cross": (key,), "cross with values of their own": (key, value)}[case]
    y, weights = ours(query, *arguments, mask=mask, return_attention=True)
    fused, _ = ours(query, *arguments, mask=mask)
    torch.testing.assert_close(y, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(weights, expected_weights, atol=1e-5, rtol=0)
    torch.testing.assert_close(fused, expected, atol=1e-5, rtol=0)


def test_padding_mask_equals_torch_key_padding(random: torch.Generator) -> None:
    ours = MultiHeadAttention(8, 2).eval()
    twin = torchs.attention(ours)
    x, lengths = torch.randn(3, 5, 8, generator=random), torch.tensor([5, 1, 3])
    ignored = torch.tensor([[j >= n for j in range(5)] for n in lengths.tolist()])
    expected, expected_weights = twin(x, x, x, key_padding_mask=ignored, average_attn_weights=False)
    y, weights = ours(x, mask=padding_mask(lengths, 5), return_attention=True)
    torch.testing.assert_close(y, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(weights, expected_weights, atol=1e-5, rtol=0)


@pytest.mark.parametrize("explicit", [True, False])
def test_a_query_with_no_key_gets_zeros_and_harms_nobody(random: torch.Generator, explicit: bool) -> None:
    q = torch.randn(1, 3, 4, generator=random, requires_grad=True)
    k = torch.randn(1, 5, 4, generator=random)
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[1] = False
    y, weights = scaled_dot_product_attention(q, k, k, mask=mask, return_weights=explicit)
    alone, _ = scaled_dot_product_attention(q, k, k, return_weights=True)
    torch.testing.assert_close(y[0, [0, 2]], alone[0, [0, 2]])
    assert torch.equal(y[0, 1], torch.zeros(4))
    if weights is not None:
        assert torch.equal(weights[0, 1], torch.zeros(5))
    (gradient,) = torch.autograd.grad(y.square().sum(), q)
    assert gradient.isfinite().all()
    assert torch.equal(gradient[0, 1], torch.zeros(4))


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="width 10 is not divisible by 3 heads"):
        MultiHeadAttention(10, 3)
