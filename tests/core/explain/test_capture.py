"""Captured maps beside the weights that PyTorch's own layers return, and beside a softmax written out."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from core.explain.capture import capture
from core.nn import EncoderLayer


def weights_by_hand(attention: nn.MultiheadAttention, x: torch.Tensor) -> np.ndarray:
    """(heads, n, n) of the first item, from the projections alone."""
    q, k, _ = F.linear(x[0], attention.in_proj_weight, attention.in_proj_bias).chunk(3, dim=-1)
    split = [one.unflatten(-1, (attention.num_heads, -1)).transpose(0, 1) for one in (q, k)]  # (n, width) -> (heads, n, d_k)
    return (split[0] @ split[1].transpose(1, 2) / split[0].shape[-1] ** 0.5).softmax(-1).detach().numpy()


def test_every_layer_of_torchs_encoder_is_caught_with_its_name_and_weights() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
    model, x = nn.TransformerEncoder(layer, 2).eval(), torch.randn(2, 7, 32)
    plain = model(x)
    with torch.no_grad(), capture(model) as layers:
        again = model(x)
    assert [one.name for one in layers] == ["layers.0.self_attn", "layers.1.self_attn"]
    np.testing.assert_allclose(layers[0].weights, weights_by_hand(model.layers[0].self_attn, x), atol=1e-5)
    np.testing.assert_allclose(again.numpy(), plain.detach().numpy(), atol=1e-5)
    assert torch.backends.mha.get_fastpath_enabled() and not model.layers[0].self_attn._forward_hooks


def test_a_callers_own_weights_stay_as_asked() -> None:
    torch.manual_seed(1)
    attention, x = nn.MultiheadAttention(16, 2, batch_first=True), torch.randn(1, 5, 16)
    expected = attention(x, x, x)[1]
    with capture(attention) as layers:
        mean = attention(x, x, x)[1]
        none = attention(x, x, x, need_weights=False)[1]
        heads = attention(x, x, x, average_attn_weights=False)[1]
    assert none is None and len(layers) == 3 and layers[0].name == "attention 1"
    torch.testing.assert_close(mean, expected)
    np.testing.assert_allclose(layers[2].weights, heads[0].detach().numpy(), atol=1e-6)


class Fused(nn.Module):
    """Causal attention with fewer heads of keys than of queries, as Hugging Face's and timm's models call the fused kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.Linear(8, 8 + 4 + 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.attend(x).split((8, 4, 4), dim=-1)
        q, k, v = (one.unflatten(-1, (-1, 2)).transpose(1, 2) for one in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def test_fused_attention_is_caught_under_its_mask() -> None:
    torch.manual_seed(2)
    model, x = Fused(), torch.randn(3, 6, 8)
    with capture(model) as layers:
        output = model(x)
    weights = torch.from_numpy(layers[0].weights)
    assert weights.shape == (4, 6, 6) and np.triu(layers[0].weights, 1).max() == 0
    v = model.attend(x)[0, :, 12:].unflatten(-1, (-1, 2)).transpose(0, 1).repeat_interleave(2, 0)
    torch.testing.assert_close(weights @ v, output[0], atol=1e-5, rtol=1e-5)
    assert torch.nn.functional.scaled_dot_product_attention.__name__ == "scaled_dot_product_attention"


def test_our_own_layers_give_the_same_maps_as_they_return() -> None:
    torch.manual_seed(3)
    layer, x = EncoderLayer(16, 4, 32).eval(), torch.randn(1, 9, 16)
    with torch.no_grad(), capture(layer) as layers:
        layer(x)
    np.testing.assert_allclose(layers[0].weights, layer(x, return_attention=True)[1][0].detach().numpy(), atol=1e-6)


def test_an_error_in_the_block_leaves_torch_as_it_was() -> None:
    before = torch.nn.functional.scaled_dot_product_attention
    try:
        with capture(nn.Linear(2, 2)):
            raise KeyError
    except KeyError:
        pass
    assert torch.nn.functional.scaled_dot_product_attention is before and torch.backends.mha.get_fastpath_enabled()
