"""The walk through the ViT ends where the model's own forward pass ends, and meets its maps on the way."""

import numpy as np
import pytest
import torch

from core.models.cct import CCT, CCTConfig
from core.models.vit import ViT, ViTConfig
from core.vision.walkthrough import tiles, walk

CONFIG = ViTConfig(width=24, heads=3, layers=3, hidden=40)


@pytest.fixture(scope="module")
def model() -> ViT:
    torch.manual_seed(3)
    return ViT(CONFIG).eval()


@pytest.fixture(scope="module")
def image() -> torch.Tensor:
    return torch.randn(1, 1, 28, 28, generator=torch.Generator().manual_seed(1))


def test_it_ends_where_the_model_ends(model: ViT, image: torch.Tensor) -> None:
    found = walk(model, image, temperature=1.7)
    with torch.no_grad():
        logits, maps = model(image, return_attention=True)
        first = model.layers[0].attention
        values = first.split_heads(first.v(model.tokens(image)))
    np.testing.assert_allclose(found.logits, logits[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(found.scaled / found.scaled.sum(), (logits[0] / 1.7).softmax(0).numpy(), atol=1e-5)
    np.testing.assert_allclose(model(image)[0].detach().numpy(), found.logits, atol=1e-5)  # the fused kernel, too
    mixed = (maps["layer 1"] @ values)[0].numpy()
    np.testing.assert_allclose(found.mixed(7, 0, 2, 3), mixed[2, 7], atol=1e-5)


def test_each_step_follows_from_the_one_before(model: ViT, image: torch.Tensor) -> None:
    found = walk(model, image)
    np.testing.assert_allclose(found.embedded, found.patches @ found.weight.T + found.bias, atol=1e-5)
    np.testing.assert_allclose(found.contribution(7, 5).sum() + found.bias[5], found.embedded[7, 5], atol=1e-5)
    np.testing.assert_allclose(found.tokens, np.vstack([found.class_token, found.embedded]) + found.positions, atol=1e-5)
    np.testing.assert_array_equal(found.stations(4, 0)[0], found.tokens[4])
    for place, layer in enumerate(model.layers):
        entered, attended, normed, forwarded, left = torch.from_numpy(found.stations(4, place))
        with torch.no_grad():
            np.testing.assert_allclose(layer.norm1(entered + attended).numpy(), normed, atol=1e-5)
            np.testing.assert_allclose(layer.feed_forward(normed).numpy(), forwarded, atol=1e-5)
            np.testing.assert_allclose(layer.norm2(normed + forwarded).numpy(), left, atol=1e-5)
        if place:
            np.testing.assert_array_equal(entered, found.stations(4, place - 1)[-1])


def test_tiles_are_the_models_patches(model: ViT) -> None:
    image = np.arange(784, dtype=np.uint16).reshape(28, 28).astype(np.uint8)
    cut = model.patches(torch.from_numpy(image.copy())[None, None].float())[0].numpy()
    np.testing.assert_array_equal(tiles(image, 4).reshape(49, 16), cut)


def test_one_image_at_a_time(model: ViT) -> None:
    with pytest.raises(ValueError, match="not 2"):
        walk(model, torch.zeros(2, 1, 28, 28))


def test_of_a_convolutional_tokeniser_the_embedding_reads_the_channels() -> None:
    torch.manual_seed(4)
    config = CCTConfig(side=32, width=24, heads=3, layers=2, hidden=40, stem=4, stages=(4, 4, 4, 4, 6), repeats=(1,) * 5)
    model = CCT(config).eval()
    photograph = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    found = walk(model, photograph)
    with torch.no_grad():
        logits, cells = model(photograph)[0].numpy(), model.convolutions(photograph)[0].flatten(1).T.numpy()
    np.testing.assert_allclose(found.patches, cells, atol=1e-5)
    np.testing.assert_allclose(found.contribution(2, 5).sum() + found.bias[5], found.embedded[2, 5], atol=1e-5)
    np.testing.assert_allclose(found.content(3) + found.positions[3], found.tokens[3], atol=1e-5)
    np.testing.assert_allclose(found.logits, logits, atol=1e-5)
