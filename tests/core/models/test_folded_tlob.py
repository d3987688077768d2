"""The folded network says what the trained one says, on every kind of configuration and on the shipped weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from core.market.predictor import load_predictor
from core.models.folded_tlob import CHUNK, FoldedTLOB
from core.models.for_prediction import for_prediction
from core.models.tlob import TLOB, TLOBConfig
from core.nn.plain import SWITCH

SMALL = TLOBConfig(steps=16, width=12, features=14, directed=2, pairs=2)


@pytest.mark.parametrize(
    "config",
    [
        replace(SMALL, heads=3),
        replace(SMALL, heads=2, qkv="single", pooling="learned", outputs=2, mirrored=True),
        replace(SMALL, qkv="single", pooling="last", positions="sinusoidal", mirrored=True),
    ],
)
@torch.inference_mode()
def test_logits_and_maps_equal_the_unfolded_networks(config: TLOBConfig) -> None:
    torch.manual_seed(0)
    model = TLOB(config).double()
    model(torch.randn(50, 16, 14, dtype=torch.float64) * 3 + 1)  # running means that are not the first ones
    for value in model.parameters():
        value.add_(torch.randn_like(value), alpha=0.2)
    model.eval()
    x = torch.randn(CHUNK + 3, 16, 14, dtype=torch.float64)
    logits, maps = FoldedTLOB(model)(x, return_attention=True)
    expected, expected_maps = model(x, return_attention=True)
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-10)
    assert list(maps) == list(expected_maps)
    for name, weights in maps.items():
        torch.testing.assert_close(weights, expected_maps[name], rtol=0, atol=1e-10)


def test_the_shipped_network_folded_agrees_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_predictor().model
    x = torch.randn(9, model.config.steps, model.config.features, generator=torch.Generator().manual_seed(1))
    x = x.to(next(model.parameters()).device)
    monkeypatch.delenv(SWITCH, raising=False)
    folded = for_prediction(model)
    assert isinstance(folded, FoldedTLOB)
    with torch.inference_mode():
        torch.testing.assert_close(folded(x), model(x), rtol=0, atol=1e-5)


def test_one_switch_takes_the_network_as_it_was_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    model = TLOB(SMALL).eval()
    monkeypatch.setenv(SWITCH, "1")
    assert for_prediction(model) is model
