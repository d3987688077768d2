"""SmolLM2 on a small size beside numpy; the one that is set up is in tests/core/words/test_writer.py."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from attention_light import capture
from core.messages import BadValue
from core.models.smollm2 import SmolLM2, SmolLM2Config
from core.nn import KeyValueCache
from tests.core.models.unsettled import unsettled

SMALL = SmolLM2Config(vocabulary=20, width=24, heads=6, key_heads=2, hidden=40, layers=3, length=12, base=500.0)


@pytest.fixture
def model() -> SmolLM2:
    return unsettled(SmolLM2, SMALL)


def in_numpy(model: SmolLM2, ids: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Logits (n, vocabulary) and maps (layers, heads, n, n) in float64, with complex numbers for the turns."""
    w: dict[str, Any] = {name: one.double().numpy() for name, one in model.state_dict().items()}

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * w[f"{name}.weight"]

    def turned(x: np.ndarray) -> np.ndarray:
        """(heads, n, 4)."""
        angles = np.arange(len(ids))[:, None] * 500.0 ** (-np.arange(0, 4, 2) / 4)
        pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
        return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape)

    x, maps, n = w["words.weight"][ids], [], len(ids)
    for layer in (f"layers.{i}" for i in range(3)):
        projected = norm(x, f"{layer}.norm1") @ w[f"{layer}.attention.qkv.weight"].T
        q, k, v = (one.reshape(n, -1, 4).transpose(1, 0, 2) for one in np.split(projected, [24, 32], axis=-1))
        k, v = np.repeat(turned(k), 3, axis=0), np.repeat(v, 3, axis=0)
        scores = turned(q) @ k.transpose(0, 2, 1) / math.sqrt(4)
        weights = np.exp(np.where(np.tri(n, dtype=bool), scores, -np.inf))
        weights /= weights.sum(-1, keepdims=True)
        maps.append(weights)
        x = x + (weights @ v).transpose(1, 0, 2).reshape(n, 24) @ w[f"{layer}.attention.out.weight"].T
        gate, up = np.split(norm(x, f"{layer}.norm2") @ w[f"{layer}.feed_forward.gate_up.weight"].T, 2, axis=-1)
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w[f"{layer}.feed_forward.down.weight"].T
    return norm(x, "norm") @ w["words.weight"].T, np.stack(maps)


def test_the_network_equals_numpy_and_capture_catches_its_maps(model: SmolLM2) -> None:
    ids = [3, 1, 4, 1, 5, 9, 2, 6]
    logits, maps = in_numpy(model, ids)
    with torch.no_grad():
        explicit, found = model(torch.tensor([ids]), return_attention=True)
        with capture(model) as caught:
            fused = model(torch.tensor([ids]))
    for one in (fused, explicit):
        np.testing.assert_allclose(one[0].numpy(), logits, atol=2e-5, rtol=1e-4)
    np.testing.assert_allclose(torch.cat(list(found.values())).numpy(), maps, atol=1e-5)
    np.testing.assert_allclose(np.stack([one.weights for one in caught]), maps, atol=1e-5)


def test_a_cache_changes_nothing_and_a_later_layer_goes_on_from_its_input(model: SmolLM2) -> None:
    ids = torch.randint(20, (2, 9))
    with torch.no_grad():
        x = model.embedded(ids)
        whole, _maps = model.through(x)
        cache = [KeyValueCache() for _ in model.layers]
        parts = [model.through(x[:, a:b], cache=cache)[0] for a, b in ((0, 5), (5, 6), (6, 9))]
        torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=2e-5, rtol=1e-4)
        first, _maps = model.through(x, layers=range(1))
        later, _maps = model.through(first, layers=range(1, 3))
    torch.testing.assert_close(later, whole, atol=1e-6, rtol=1e-5)


def test_a_gradient_reaches_every_parameter(model: SmolLM2) -> None:
    model(torch.randint(20, (1, 12))).square().sum().backward()
    assert all(one.grad is not None for one in model.parameters())


def test_a_long_sequence_and_heads_that_cannot_be_shared_are_refused(model: SmolLM2) -> None:
    with pytest.raises(BadValue, match="13 pieces of words: this model takes at most 12"):
        model(torch.zeros(1, 13, dtype=torch.long))
    with pytest.raises(BadValue, match="9 heads cannot share 4 key heads evenly"):
        SmolLM2Config(key_heads=4)
