"""Queries and keys together: that they are the model's own, that the plane is PCA's, and that aligning changes no weight."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.explain.queries_keys import align, collect, joint_view, queries_and_keys
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


def test_the_plane_is_that_of_torchs_pca() -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(40, 6)) * [5, 3, 1, 1, 1, 0.1], rng.normal(size=(50, 6)) * [4, 3, 1, 1, 1, 0.1] + 1
    view = joint_view(q, k, aligned=False)
    both = torch.tensor(np.concatenate([q, k]))
    torch.manual_seed(0)
    _u, s, v = torch.pca_lowrank(both, q=6, center=True, niter=8)
    points = ((both - both.mean(dim=0)) @ v[:, :2]).numpy()
    np.testing.assert_allclose(np.abs(np.concatenate([view.q, view.k])), np.abs(points), atol=1e-6)
    covariance = np.linalg.eigvalsh(np.cov(both.numpy().T))[::-1]
    assert view.loss == pytest.approx(covariance[2:].sum() / covariance.sum(), abs=1e-9)
    assert view.shares == pytest.approx((s[:2] ** 2 / (s**2).sum()).numpy(), abs=1e-6)


def test_aligning_changes_no_weight_and_gives_both_clouds_one_place_and_size() -> None:
    rng = np.random.default_rng(1)
    q, k = rng.normal(size=(30, 4)) * 7 + 3, rng.normal(size=(20, 4)) * 0.2 - 5
    new_q, new_k, c = align(q, k)
    np.testing.assert_allclose(softmax(new_q @ new_k.T), softmax(q @ k.T), rtol=1e-9)
    np.testing.assert_allclose(new_q.mean(axis=0), new_k.mean(axis=0), atol=1e-9)
    assert new_q.std(axis=0).sum() == pytest.approx(new_k.std(axis=0).sum(), rel=0.3) and c < 1
    assert align(np.ones((3, 2)), k[:, :2])[2] == 1.0


def test_rows_keep_their_input_place_and_class() -> None:
    model, x = MODELS["vit"]
    vectors = [queries_and_keys(model, lambda x=part: model(x, return_attention=True)[1]) for part in (x[:2], x[2:])]
    sample = collect([(vectors[0], np.array([4, 5])), (vectors[1], np.array([6]))], ("a",) * 7)
    layer = sample.layers["layer 2"]
    n = model.config.sequence_length
    assert sample.inputs == 3 and layer.q.shape == (2, 3 * n, 8)
    row = np.flatnonzero((layer.inputs == 1) & (layer.positions == 3))[0]
    np.testing.assert_allclose(layer.k[1, row], vectors[0]["layer 2"][1][1, 1, 3])
    assert layer.labels[row] == 5 and (layer.labels[layer.inputs == 2] == 6).all()
    with pytest.raises(ValueError, match="span no plane"):
        joint_view(np.ones((3, 1)), np.ones((3, 1)))
