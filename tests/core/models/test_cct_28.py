"""The compact convolutional transformer of 28 x 28 grey levels: what its cells see, and what mirroring answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from core.models.cct_28 import CCT28, CCT28Config
from core.models.parameters import count

SMALL = CCT28Config(width=16, heads=2, layers=2, hidden=24, stem=4, stages=(6, 8))


def images(count: int = 3) -> torch.Tensor:
    return torch.randn(count, 1, 28, 28, generator=torch.Generator().manual_seed(1))


def model(config: CCT28Config = SMALL) -> CCT28:
    torch.manual_seed(0)
    return CCT28(config).eval()


@torch.no_grad()
def test_a_cell_lies_where_its_patch_lies_and_sees_its_surroundings() -> None:
    net, image = model(), images(1)
    before = net.patches(image)
    assert before.shape == (1, 49, 8)
    changed = image.clone()
    changed[..., 26:, 26:] += 5.0  # the corner of the last patch
    moved = (net.patches(changed) - before).abs().amax(dim=-1).reshape(7, 7)
    assert moved[6, 6] > 0 and moved[5, 5] > 0 and moved[:3].max() == 0 and moved[:, :3].max() == 0


@torch.no_grad()
def test_mirrored_answers_are_the_mean_over_both_images_with_and_without_maps() -> None:
    plain, mirrored, x = model(), model(replace(SMALL, mirrored=True)), images()
    expected = (plain(x) + plain(x.flip(-1))) / 2
    logits, maps = mirrored(x, return_attention=True)
    for found in (mirrored(x), logits, mirrored.head(mirrored.features(x))):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert maps["layer 2"].shape == (3, 2, 50, 50)
    torch.testing.assert_close(maps["layer 2"], plain(x, return_attention=True)[1]["layer 2"])
    assert not torch.allclose(plain(x), plain(x.flip(-1)), atol=1e-3)


def test_logits_change_with_the_maps_that_come_with_them() -> None:
    logits, maps = model(replace(SMALL, mirrored=True))(images(), return_attention=True)
    for gradient in torch.autograd.grad(logits.sum(), list(maps.values())):
        assert gradient.abs().max() > 0


def test_its_size_is_under_a_million_and_other_shapes_are_refused() -> None:
    assert count(CCT28()) < 1_000_000
    with pytest.raises(ValueError, match="one cell of 4 pixels"):
        CCT28Config(patch=7)
    with pytest.raises(ValueError, match="2 stages"):
        CCT28Config(stages=(8,))
