"""Encoder layers equal PyTorch's, and an answer that works out one token equals the whole pass's."""

import pytest
import torch
from torch import nn

from core.models.vit import ViT, ViTConfig
from core.nn import EncoderLayer, causal_mask
from tests.core.nn import torchs

SMALL = ViTConfig(width=24, heads=3, layers=3, hidden=40)


@pytest.mark.parametrize("count", [1, 20])
@torch.inference_mode()
def test_an_answer_works_out_the_class_token_alone_and_is_the_same(count: int) -> None:
    torch.manual_seed(0)
    model = ViT(SMALL).double().eval()
    for value in model.parameters():
        value.add_(torch.randn_like(value), alpha=0.2)
    x = torch.randn(count, 1, 28, 28, dtype=torch.float64)
    torch.testing.assert_close(model(x), model(x, return_attention=True)[0], rtol=0, atol=1e-10)


def layer_and_twin(pre_norm: bool) -> tuple[EncoderLayer, nn.TransformerEncoderLayer]:
    """A layer in double precision whose weights are all drawn, and PyTorch's with the same."""
    torch.manual_seed(1)
    ours = EncoderLayer(12, 3, 20, dropout=0.0, pre_norm=pre_norm).double().eval()
    with torch.no_grad():
        for value in ours.parameters():
            value.add_(torch.randn_like(value), alpha=0.3)
    twin = nn.TransformerEncoderLayer(
        12, 3, 20, 0.0, lambda x: nn.functional.gelu(x, approximate="tanh"), batch_first=True, norm_first=pre_norm
    )
    twin.double().load_state_dict(torchs.encoder_weights(ours))
    return ours, twin.eval()


@pytest.mark.parametrize("pre_norm", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_layer_equals_torchs(pre_norm: bool, masked: bool) -> None:
    ours, twin = layer_and_twin(pre_norm)
    x = torch.randn(2, 5, 12, dtype=torch.float64, requires_grad=True)
    mask = causal_mask(5) if masked else None
    expected = twin(x, src_mask=None if mask is None else ~mask)
    found, nothing = ours(x, mask=mask)
    torch.testing.assert_close(found, expected, atol=1e-10, rtol=0)
    shown, weights = ours(x, mask=mask, return_attention=True)
    torch.testing.assert_close(shown, expected, atol=1e-10, rtol=0)
    assert nothing is None and weights is not None and weights.shape == (2, 3, 5, 5)
    few, _ = ours(x, mask=None if mask is None else mask[:2], first=2)
    torch.testing.assert_close(few, expected[:, :2], atol=1e-10, rtol=0)
    of_ours, of_twin = (torch.autograd.grad(y.square().sum(), x)[0] for y in (found, expected))
    torch.testing.assert_close(of_ours, of_twin, atol=1e-9, rtol=0)


def test_a_layer_begins_with_half_of_the_usual_size() -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(64, 4, 400, dropout=0.0)
    assert float(layer.feed_forward.fc2.weight.detach().std()) == pytest.approx(0.5 / 20, rel=0.02)
    assert float(layer.attention.q.weight.detach().abs().max()) <= (6 / 128) ** 0.5
    for linear in (layer.attention.q, layer.attention.k, layer.attention.v, layer.attention.out, layer.feed_forward.fc2):
        assert not linear.bias.any()
