"""Encoder layers say in prediction what they say in training."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from core.models.vit import ViT, ViTConfig
from core.nn import EncoderLayer, causal_mask
from core.nn.plain import SWITCH

SMALL = ViTConfig(width=24, heads=3, layers=3, hidden=40)


@pytest.mark.parametrize("count", [1, 20])
@torch.inference_mode()
def test_predictions_equal_the_plain_networks(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = ViT(SMALL).double().eval()
    for value in model.parameters():
        value.add_(torch.randn_like(value), alpha=0.2)
    x = torch.randn(count, 1, 28, 28, dtype=torch.float64)
    found, (_, maps) = model(x), model(x, return_attention=True)
    monkeypatch.setenv(SWITCH, "1")
    expected, expected_maps = model(x, return_attention=True)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    for name, weights in maps.items():
        torch.testing.assert_close(weights, expected_maps[name], rtol=0, atol=1e-10)


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
    at, f = ours.attention, ours.feed_forward
    weights = {
        "self_attn.in_proj_weight": torch.cat([at.q.weight, at.k.weight, at.v.weight]),
        "self_attn.in_proj_bias": torch.cat([at.q.bias, at.k.bias, at.v.bias]),
        **{f"self_attn.out_proj.{name}": value for name, value in at.out.named_parameters()},
        **{f"linear1.{name}": value for name, value in f.fc1.named_parameters()},
        **{f"linear2.{name}": value for name, value in f.fc2.named_parameters()},
        **{f"norm1.{name}": value for name, value in ours.norm1.named_parameters()},
        **{f"norm2.{name}": value for name, value in ours.norm2.named_parameters()},
    }
    twin.double().load_state_dict(weights)
    return ours, twin.eval()


@pytest.mark.parametrize("pre_norm", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_layer_equals_torchs(pre_norm: bool, masked: bool) -> None:
    ours, twin = layer_and_twin(pre_norm)
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    mask = causal_mask(5) if masked else None
    expected = twin(x, src_mask=None if mask is None else ~mask)
    for grad in (True, False):  # predictions take another way
        with torch.set_grad_enabled(grad):
            found, nothing = ours(x, mask=mask)
            torch.testing.assert_close(found, expected, atol=1e-10, rtol=0)
            shown, weights = ours(x, mask=mask, return_attention=True)
            torch.testing.assert_close(shown, expected, atol=1e-10, rtol=0)
            assert nothing is None and weights is not None and weights.shape == (2, 3, 5, 5)
            few, _ = ours(x, mask=None if mask is None else mask[:2], first=2)
            torch.testing.assert_close(few, expected[:, :2], atol=1e-10, rtol=0)


def test_predictions_of_a_post_norm_layer_are_by_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bool] = []

    def prediction(self: EncoderLayer, x: Tensor, first: int | None) -> Tensor:
        taken.append(True)
        return x

    monkeypatch.setattr(EncoderLayer, "_prediction", prediction)

    def way(pre_norm: bool = False, train: bool = False, grad: bool = False) -> bool:
        taken.clear()
        with torch.set_grad_enabled(grad):
            layer_and_twin(pre_norm)[0].train(train)(torch.zeros(1, 2, 12, dtype=torch.float64))
        return bool(taken)

    assert way() and not way(pre_norm=True) and not way(train=True) and not way(grad=True)
    monkeypatch.setenv(SWITCH, "1")
    assert not way()


def test_a_layer_begins_with_half_of_the_usual_size() -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(64, 4, 400, dropout=0.0)
    assert float(layer.feed_forward.fc2.weight.detach().std()) == pytest.approx(0.5 / 20, rel=0.02)
    assert float(layer.attention.q.weight.detach().abs().max()) <= (6 / 128) ** 0.5
    for linear in (layer.attention.q, layer.attention.k, layer.attention.v, layer.attention.out, layer.feed_forward.fc2):
        assert not linear.bias.any()
