"""Queries and keys that are taken while a model reads are those of its own weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.explain.queries_keys import queries_and_keys
from core.models.iiga import IIGA, IIGAConfig
from core.models.tlob import TLOB, TLOBConfig
from core.models.vit import ViT, ViTConfig

MODELS = {
    "tlob": (TLOB(TLOBConfig(steps=8, width=6, pairs=2, features=8, heads=2)), torch.randn(3, 8, 8)),
    "mirrored": (TLOB(TLOBConfig(steps=8, width=6, pairs=1, features=8, qkv="single", mirrored=True)), torch.randn(3, 8, 8)),
    "vit": (ViT(ViTConfig(side=12, width=16, heads=2, layers=2, hidden=16)), torch.randn(3, 1, 12, 12)),
    "iiga": (IIGA(IIGAConfig(front="tracks", vocabulary=5, width=16, heads=2, layers=1, window=3)), torch.randn(2, 9, 6)),
}


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("name", MODELS)
def test_captured_vectors_give_the_models_own_weights(name: str) -> None:
    model, x = MODELS[name]
    model.eval()
    with torch.no_grad():
        _, maps = model(x, return_attention=True)
    vectors = queries_and_keys(model, lambda: model(x, return_attention=True)[1])
    assert list(vectors) == list(maps)
    for layer, (q, k) in vectors.items():
        scores = np.einsum("bhid,bhjd->bhij", q, k, dtype=np.float64) / np.sqrt(q.shape[-1])
        weights = maps[layer].numpy()
        scores[weights == 0] = -np.inf  # what a window hides
        np.testing.assert_allclose(softmax(scores), weights, atol=1e-5)
    assert not any(module._forward_pre_hooks for module in model.modules())
