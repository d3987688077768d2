"""The compact convolutional transformer: it starts as the ViT it takes its weights from, and its cells lie where patches lie."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from core.models.cct import CCT, CCTConfig
from core.models.vit import ViT, ViTConfig

SMALL = {"width": 16, "heads": 2, "layers": 2, "hidden": 24}
CONFIG = CCTConfig(**SMALL, stem=4, cells=6)


@pytest.fixture
def model() -> CCT:
    torch.manual_seed(0)
    return CCT(CONFIG).eval()


def images(count: int = 3) -> torch.Tensor:
    return torch.randn(count, 1, 28, 28, generator=torch.Generator().manual_seed(1))


def test_with_a_vits_weights_it_answers_as_the_vit(model: CCT) -> None:
    torch.manual_seed(5)
    vit = ViT(ViTConfig(**SMALL)).eval()
    missing, unexpected = model.load_state_dict(vit.state_dict(), strict=False)
    assert not unexpected and {name.split(".")[0] for name in missing} == {"convolutions", "rejection"}
    torch.testing.assert_close(model(images()), vit(images()), atol=1e-5, rtol=0)


def test_a_cell_sees_its_own_patch_and_the_surroundings(model: CCT) -> None:
    """The cell of a patch moves with that patch's pixels, and not with those far away."""
    torch.nn.init.normal_(model.convolutions[-1].weight)  # type: ignore[union-attr, arg-type]
    x = images(1)
    before = model.cells(x)
    changed = x.clone()
    changed[..., 8:12, 16:20] += 3  # patch in row 2 and column 4
    moved = (model.cells(changed) - before).abs().amax(dim=-1).reshape(7, 7) > 1e-6
    assert moved[2, 4] and not moved[6].any() and not moved[:, 0].any()


def test_hidden_patches_keep_their_own_cells(model: CCT) -> None:
    torch.nn.init.normal_(model.convolutions[-1].weight)  # type: ignore[union-attr, arg-type]
    everything = model.tokens(images())
    kept = torch.tensor([[3, 40], [0, 1], [48, 2]])
    some = model.tokens(images(), keep=kept)
    for row, places in enumerate(kept):
        torch.testing.assert_close(some[row], everything[row, [0, *(1 + places).tolist()]], atol=1e-5, rtol=1e-5)


def test_the_rejection_is_one_more_output(model: CCT) -> None:
    features = model.features(images())
    outputs = model.logits_with_rejection(features)
    assert outputs.shape == (3, 11)
    torch.testing.assert_close(outputs[:, :10], model(images()), atol=1e-5, rtol=1e-5)


def test_it_is_at_most_a_million_parameters_and_takes_patches_of_four_pixels() -> None:
    assert sum(parameter.numel() for parameter in CCT().parameters()) <= 1_000_000
    with pytest.raises(ValueError, match="patches of 4 pixels"):
        CCTConfig(patch=7)


def test_the_mirrored_answer_is_the_mean_of_two_passes_and_not_taken_in_training(model: CCT) -> None:
    plain = CCT(CONFIG)
    plain.load_state_dict(model.state_dict())
    mirrored = CCT(replace(CONFIG, mirrored=True))
    mirrored.load_state_dict(model.state_dict())
    plain.eval(), mirrored.eval()
    x = images()
    expected = (plain(x) + plain(x.flip(-1))) / 2
    torch.testing.assert_close(mirrored(x), expected, atol=1e-5, rtol=1e-5)
    logits, maps = mirrored(x, return_attention=True)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(maps["layer 1"], plain(x, return_attention=True)[1]["layer 1"], atol=1e-6, rtol=0)
    torch.testing.assert_close(mirrored.head(mirrored.features(x)), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(mirrored(x.flip(-1)), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(mirrored.train()(x), plain.train()(x), atol=1e-5, rtol=1e-5)
