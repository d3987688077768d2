"""The ViT against a numpy twin; its starts, its shapes, its counts."""

import numpy as np
import pytest
import torch
from torch import Tensor

from core.models.parameters import by_part, count
from core.models.vit import CLASSES, ViT, ViTConfig
from lab.training.vit import NEIGHBOURS, start_local
from tests.core.models import numpy_vit
from tests.core.models.unsettled import unsettled

CONFIGS = [
    ViTConfig(width=24, heads=3, layers=2, hidden=40),
    ViTConfig(patch=7, width=16, heads=1, layers=3, hidden=16),
    ViTConfig(patch=2, width=12, heads=2, layers=1, hidden=8, classes=4),
    ViTConfig(width=96, heads=4, layers=3, hidden=64, start="local"),
]


def started(config: ViTConfig) -> ViT:
    model = ViT(config)
    if config.start == "local":
        start_local(model)
    return model


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"p{c.patch}-{c.width}-{c.start}")
def test_forward_equals_numpy(config: ViTConfig) -> None:
    model = unsettled(started, config)
    x = torch.randn(3, 1, 28, 28)
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    with torch.no_grad():
        logits, maps = model(x, return_attention=True)
        fused = model(x)
    assert list(maps) == [f"layer {i}" for i in range(1, config.layers + 1)]
    for row in range(len(x)):
        expected, expected_maps = numpy_vit.forward(weights, config, x[row, 0].double().numpy())
        np.testing.assert_allclose(logits[row], expected, atol=2e-5, rtol=0)
        np.testing.assert_allclose(fused[row], expected, atol=2e-5, rtol=0)
        for found, wanted in zip(maps.values(), expected_maps, strict=True):
            np.testing.assert_allclose(found[row], wanted, atol=1e-5, rtol=0)


def test_patches_run_by_rows_from_the_top() -> None:
    image = torch.arange(784.0).reshape(1, 1, 28, 28)
    patches = ViT(ViTConfig(layers=1)).patches(image)
    assert patches.shape == (1, 49, 16)
    assert patches[0, 0, :5].tolist() == [0, 1, 2, 3, 28]
    assert patches[0, 1, 0] == 4
    assert patches[0, 7, 0] == 4 * 28


def test_a_local_start_looks_at_one_neighbour_a_head() -> None:
    """In the middle of the picture each head's largest weight lies where its step points."""
    torch.manual_seed(0)
    model = ViT(ViTConfig(width=96, heads=4, layers=3, start="local"))
    start_local(model)
    _, maps = model(torch.randn(64, 1, 28, 28), return_attention=True)
    for layer in range(2):
        mean = maps[f"layer {layer + 1}"].mean(dim=0)[:, 1 + 24, 1:]
        for head in range(4):
            down, right = NEIGHBOURS[(4 * layer + head) % len(NEIGHBOURS)]
            assert int(mean[head].argmax()) == 24 + 7 * down + right


def test_counts_come_from_the_live_model() -> None:
    model = ViT(ViTConfig())
    layer = 4 * (128 * 128 + 128) + (128 * 256 + 256) + (256 * 128 + 128) + 4 * 128
    assert by_part(model)["layers.0"] == layer
    assert count(model) == 6 * layer + (16 * 128 + 128) + 128 + (128 * 10 + 10)
    assert ViTConfig().classes == len(CLASSES)


@pytest.mark.parametrize(
    ("values", "message"), [({"patch": 5}, "divisor of 28"), ({"heads": 5}, "5 equal heads"), ({"layers": 0}, "1 or more")]
)
def test_a_shape_that_cannot_be_is_refused(values: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ViTConfig(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize("x", [torch.zeros(28, 28), torch.zeros(1, 3, 28, 28), torch.zeros(2, 1, 32, 32)])
def test_images_of_another_shape_are_refused(x: Tensor) -> None:
    with pytest.raises(ValueError, match=r"\(batch, 1, 28, 28\)"):
        ViT(CONFIGS[0])(x)
