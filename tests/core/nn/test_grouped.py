"""Grouped heads, rotary positions, RMSNorm, SwiGLU and whole-number weights against PyTorch and closed forms."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.nn import (
    GroupedAttention,
    KeyValueCache,
    QuantisedLinear,
    SwiGLU,
    causal_mask,
    rotary_turns,
    rotated,
    scaled_dot_product_attention,
)
from core.nn.quantised import BLOCK, FEW, SOME, packed


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(5)


def plain_linear(inputs: int, outputs: int) -> nn.Module:
    return nn.Linear(inputs, outputs, bias=False)


@pytest.mark.parametrize("mask", [None, causal_mask(7)], ids=["none", "causal"])
def test_grouped_heads_equal_torchs(mask: Tensor | None) -> None:
    q, k, v = torch.randn(2, 6, 7, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 5)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    fused, none = scaled_dot_product_attention(q, k, v, mask=mask)
    explicit, weights = scaled_dot_product_attention(q, k, v, mask=mask, return_weights=True)
    assert none is None and weights.shape == (2, 6, 7, 7)
    torch.testing.assert_close(fused, theirs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(explicit, theirs, atol=1e-5, rtol=1e-5)
    for head in range(6):  # neighbouring heads share: 0 and 1 the first, 2 and 3 the second
        alone = F.scaled_dot_product_attention(q[:, head], k[:, head // 2], v[:, head // 2], attn_mask=mask)
        torch.testing.assert_close(explicit[:, head], alone, atol=1e-5, rtol=1e-5)


def test_a_turn_is_the_product_with_a_complex_number() -> None:
    x, places = torch.randn(3, 4, 6), torch.tensor([0, 1, 5, 100])
    pairs = x.double().numpy()[..., 0::2] + 1j * x.double().numpy()[..., 1::2]
    angles = places.numpy()[:, None] * 1000.0 ** (-np.arange(0, 6, 2) / 6)
    turned = pairs * np.exp(1j * angles)
    found = rotated(x, rotary_turns(places, 6, base=1000.0)).numpy()
    np.testing.assert_allclose(found[..., 0::2], turned.real, atol=1e-5)
    np.testing.assert_allclose(found[..., 1::2], turned.imag, atol=1e-5)


def test_swiglu_is_its_closed_form() -> None:
    layer, x = SwiGLU(4, 6, plain_linear), torch.randn(3, 4)
    gate, up = (layer.gate_up.weight.detach().double().numpy() @ x.double().numpy().T).reshape(2, 6, 3)
    middle = gate / (1 + np.exp(-gate)) * up
    np.testing.assert_allclose(layer(x).detach().numpy(), (layer.down.weight.detach().double().numpy() @ middle).T, atol=1e-5)


@pytest.mark.parametrize("maps", [True, False])
def test_one_position_after_another_is_all_at_once(maps: bool) -> None:
    attention, x = GroupedAttention(12, 6, 2, plain_linear).eval(), torch.randn(2, 7, 12)
    turns = rotary_turns(torch.arange(7), 2, base=50.0)
    whole, weights = attention(x, turns, mask=causal_mask(7), return_attention=maps)
    cache, rows = KeyValueCache(), []
    for first, last in ((0, 3), (3, 4), (4, 5), (5, 7)):
        here = turns[first:last]
        y, some = attention(x[:, first:last], here, mask=causal_mask(last)[first:], cache=cache, return_attention=maps)
        rows.append(y)
        if weights is not None:
            torch.testing.assert_close(some, weights[:, :, first:last, :last], atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(torch.cat(rows, dim=1), whole, atol=1e-5, rtol=1e-5)


def test_a_head_that_is_off_adds_nothing() -> None:
    attention, x = GroupedAttention(8, 4, 2, plain_linear).eval(), torch.randn(1, 5, 8)
    turns = rotary_turns(torch.arange(5), 2, base=50.0)
    kept = torch.tensor([[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    y, _weights = attention(x.expand(2, 5, 8), turns, mask=causal_mask(5), kept=kept)
    whole, _weights = attention(x, turns, mask=causal_mask(5))
    with torch.no_grad():
        attention.out.weight[:, 2:4] = 0  # what the second head would add
    without, _weights = attention(x, turns, mask=causal_mask(5))
    torch.testing.assert_close(y[:1], without, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(y[1:], whole, atol=1e-6, rtol=1e-5)
    assert (y[0] - y[1]).abs().max() > 1e-3


@pytest.mark.parametrize("rows", [1, FEW, FEW + 1, SOME, SOME + 1])
def test_whole_numbers_multiply_as_the_weights_that_they_stand_for(rows: int) -> None:
    layer = QuantisedLinear(3 * BLOCK, 20)
    q = torch.randint(256, (3 * BLOCK, 20), dtype=torch.uint8)
    layer.load_state_dict({"q": packed(q), "scale": torch.rand(3, 20) / 100, "least": -torch.rand(3, 20)})
    weights = q.double() * layer.scale.double().repeat_interleave(BLOCK, 0) + layer.least.double().repeat_interleave(BLOCK, 0)
    x = torch.randn(rows, 3 * BLOCK)
    torch.testing.assert_close(layer(x), (x.double() @ weights).float(), atol=2e-4, rtol=1e-4)
    chosen = torch.tensor([[3, 19], [0, 3]])
    torch.testing.assert_close(layer.rows(chosen), weights.T[chosen].float(), atol=1e-6, rtol=1e-5)
