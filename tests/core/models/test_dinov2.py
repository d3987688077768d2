"""DINOv2 beside PyTorch's own layers with the same weights."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.messages import BadValue
from core.models.dinov2 import DINOv2, DINOv2Config, ScaledLayer
from tests.core.nn.torchs import attention

SMALL = DINOv2Config(width=24, heads=3, layers=2, hidden=40, patch=4, grid=5, focus=(8, 6, 4))


@pytest.fixture
def model() -> DINOv2:
    torch.manual_seed(0)
    made = DINOv2(SMALL).eval()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.3)
    return made


def torchs(layer: ScaledLayer, x: Tensor) -> tuple[Tensor, Tensor]:
    """What PyTorch's attention and functions make of the layer's weights, and the attention's weights."""
    f = layer.feed_forward
    y = F.layer_norm(x, (24,), layer.norm1.weight, layer.norm1.bias, 1e-6)
    added, weights = attention(layer.attention)(y, y, y, average_attn_weights=False)
    x = x + layer.scale1 * added
    y = F.layer_norm(x, (24,), layer.norm2.weight, layer.norm2.bias, 1e-6)
    hidden = F.gelu(F.linear(y, f.fc1.weight, f.fc1.bias))
    return x + layer.scale2 * F.linear(hidden, f.fc2.weight, f.fc2.bias), weights


def test_the_network_equals_torchs_layers(model: DINOv2) -> None:
    image = torch.randn(2, 3, 20, 20)  # as many patches as positions
    with torch.no_grad():
        cut = image.unfold(2, 4, 4).unfold(3, 4, 4).permute(0, 2, 3, 1, 4, 5).reshape(2, 25, 48)
        patches = cut @ model.patches.weight.reshape(24, 48).T + model.patches.bias
        x = torch.cat([model.class_token.expand(2, 1, 24), patches], dim=1) + model.positions
        found, (explicit, maps) = model(image), model(image, return_attention=True)
        _, queries, keys = model.forward_with_heads(image)
        for number, layer in enumerate(model.layers, start=1):
            assert isinstance(layer, ScaledLayer)
            x, weights = torchs(layer, x)
            torch.testing.assert_close(maps[f"layer {number}"], weights, atol=1e-5, rtol=1e-4)
            rows = (queries[:, number - 1] @ keys[:, number - 1].mT / 8**0.5).softmax(dim=-1)
            torch.testing.assert_close(rows, weights, atol=1e-5, rtol=1e-4)
            q, k = model.heads_of(image, number)
            torch.testing.assert_close((q @ k.mT / 8**0.5).softmax(dim=-1), weights, atol=1e-5, rtol=1e-4)
        expected = F.layer_norm(x, (24,), model.norm.weight, model.norm.bias, 1e-6)
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(explicit, expected, atol=2e-5, rtol=1e-4)


def resized(new: int, old: int) -> Tensor:
    """(new, old): shares of the learnt places in each new one, by cubic convolution (Keys 1981) with a = -.75."""
    shares, a = torch.zeros(new, old), -0.75
    for i in range(new):
        at = (i + 0.5) * old / new - 0.5
        first = int(at // 1) - 1
        for j in range(first, first + 4):
            x = abs(at - j)
            near = (a + 2) * x**3 - (a + 3) * x**2 + 1
            far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
            shares[i, min(max(j, 0), old - 1)] += near if x <= 1 else far
    return shares


@pytest.mark.parametrize("grid", [(10, 7), (3, 5), (5, 5)])
def test_positions_are_resized_by_cubic_convolution(model: DINOv2, grid: tuple[int, int]) -> None:
    rows, columns = grid
    with torch.no_grad():
        for part in (model.patches.weight, model.patches.bias, model.class_token):
            part.zero_()
        found = model.embedded(torch.zeros(1, 3, 4 * rows, 4 * columns))[0]
    learnt = model.positions.detach()
    expected = torch.einsum("ri,ijw,cj->rcw", resized(rows, 5), learnt[1:].reshape(5, 5, 24), resized(columns, 5))
    torch.testing.assert_close(found[0], learnt[0])
    torch.testing.assert_close(found[1:].reshape(rows, columns, 24), expected, atol=1e-5, rtol=1e-4)


def test_what_stands_out_is_a_share_a_pixel_and_looks_at_the_patches_alone(model: DINOv2) -> None:
    tokens = torch.randn(2, 1 + 6, 24)
    with torch.no_grad():
        found = model.salience(tokens, (2, 3))
        tokens[:, 0] += 5
        again = model.salience(tokens, (2, 3))
    assert found.shape == (2, 8, 12) and float(found.min()) >= 0 and float(found.max()) <= 1
    torch.testing.assert_close(found, again)
    assert float(found.std()) > 0.01


def test_a_gradient_reaches_every_parameter_and_a_side_of_half_a_patch_is_refused(model: DINOv2) -> None:
    tokens = model(torch.randn(1, 3, 8, 12))
    (tokens.square().sum() + model.salience(tokens, (2, 3)).sum()).backward()
    assert all(one.grad is not None for one in model.parameters())
    with pytest.raises(BadValue, match="14 x 8 pixels: each side must be a multiple of 4"):
        model(torch.zeros(1, 3, 8, 14))
