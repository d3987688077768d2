"""Encoder layers with joined weights say what the trained ones say."""

from __future__ import annotations

import pytest
import torch

from core.models.for_prediction import for_prediction
from core.models.vit import ViT, ViTConfig
from core.nn.plain import SWITCH

SMALL = ViTConfig(width=24, heads=3, layers=3, hidden=40)


@pytest.mark.parametrize("count", [1, 20])
@torch.inference_mode()
def test_joined_layers_equal_the_plain_networks(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = ViT(SMALL).double().eval()
    for value in model.parameters():
        value.add_(torch.randn_like(value), alpha=0.2)
    x = torch.randn(count, 1, 28, 28, dtype=torch.float64)
    joined = for_prediction(model)
    found, (_, maps) = joined(x), joined(x, return_attention=True)
    monkeypatch.setenv(SWITCH, "1")
    expected, expected_maps = model(x, return_attention=True)
    assert for_prediction(model) is model
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    for name, weights in maps.items():
        torch.testing.assert_close(weights, expected_maps[name], rtol=0, atol=1e-10)
