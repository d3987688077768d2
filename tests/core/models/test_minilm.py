"""MiniLM beside PyTorch's own encoder layers with the same weights."""

import pytest
import torch
from torch import nn

from core.messages import BadValue
from core.models.minilm import MiniLM, MiniLMConfig
from tests.core.nn.torchs import encoder_weights

SMALL = MiniLMConfig(vocabulary=20, width=24, heads=3, hidden=40, layers=2, length=12)


def by_torch(model: MiniLM, ids: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Vectors (b, n, width) and each layer's weights (b, heads, n, n), by PyTorch's own layers with the same weights."""
    width, maps = model.norm.weight.shape[0], {}
    x = model.words(ids) + model.positions(torch.arange(ids.shape[1])) + model.segment
    x = nn.functional.layer_norm(x, (width,), model.norm.weight, model.norm.bias, 1e-12)
    for number, layer in enumerate(model.layers, start=1):
        heads, hidden = model.config.heads, model.config.hidden
        twin = nn.TransformerEncoderLayer(width, heads, hidden, 0.0, "gelu", layer_norm_eps=1e-12, batch_first=True).eval()
        twin.load_state_dict(encoder_weights(layer))
        maps[f"layer {number}"] = twin.self_attn(x, x, x, average_attn_weights=False)[1]
        x = twin(x)
    return x, maps


@pytest.mark.parametrize("gradients", [True, False])
def test_the_network_equals_torchs_layers(gradients: bool) -> None:
    torch.manual_seed(0)
    model, ids = MiniLM(SMALL).eval(), torch.randint(20, (2, 9))
    nn.init.normal_(model.segment)
    for layer in model.layers:
        nn.init.normal_(layer.norm1.bias)
    with torch.set_grad_enabled(gradients):
        found, (explicit, maps), (wanted, weights) = model(ids), model(ids, return_attention=True), by_torch(model, ids)
    torch.testing.assert_close(maps, weights, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found, wanted, atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(explicit, wanted, atol=2e-5, rtol=1e-4)


def test_a_gradient_reaches_every_parameter_and_a_long_sequence_is_refused() -> None:
    model = MiniLM(SMALL)
    model(torch.randint(20, (1, 12))).square().sum().backward()
    assert all(one.grad is not None for one in model.parameters())
    with pytest.raises(BadValue, match="13 pieces of words: this model takes at most 12"):
        model(torch.zeros(1, 13, dtype=torch.long))
