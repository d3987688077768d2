"""The compact convolutional transformer: its convolutions are EfficientNet-Lite0's, and its cells lie where patches lie."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from core.models.cct import CCT, KERNELS, STRIDES, CCTConfig, LiteBlock
from lab.training.cct import EPSILON, start_from_imagenet

SMALL = CCTConfig(side=64, width=16, heads=2, layers=2, hidden=24, stem=4, stages=(4, 6, 6, 8, 10), repeats=(1, 2, 1, 1, 2))


@pytest.fixture
def model() -> CCT:
    torch.manual_seed(0)
    return CCT(SMALL).eval()


def images(count: int = 3) -> torch.Tensor:
    return torch.randn(count, 3, 64, 64, generator=torch.Generator().manual_seed(1))


def plain_weights(model: CCT) -> dict[str, torch.Tensor]:
    """Random weights of the same stages with batch normalisation, under the names of the package's file."""
    random = torch.Generator().manual_seed(2)
    weights: dict[str, torch.Tensor] = {}

    def add(convolution: str, norm: str, like: nn.Conv2d) -> None:
        weights[f"{convolution}.weight"] = torch.randn(like.weight.shape, generator=random) * 0.3
        for name in ("weight", "bias", "running_mean"):
            weights[f"{norm}.{name}"] = torch.randn(like.out_channels, generator=random)
        weights[f"{norm}.running_var"] = torch.rand(like.out_channels, generator=random) + 0.1

    add("_conv_stem", "_bn0", model.convolutions.stem)
    for index, block in enumerate(model.convolutions.blocks):
        assert isinstance(block, LiteBlock)
        names = ["_bn1", "_bn2"] if block.expand is None else ["_bn0", "_bn1", "_bn2"]
        parts = [one for one in (block.expand, block.depthwise, block.project) if one is not None]
        kinds = ["_expand_conv", "_depthwise_conv", "_project_conv"][-len(parts) :]
        for kind, norm, part in zip(kinds, names, parts, strict=True):
            add(f"_blocks.{index}.{kind}", f"_blocks.{index}.{norm}", part)
    return weights


def with_batch_norm(x: torch.Tensor, weights: dict[str, torch.Tensor]) -> torch.Tensor:
    """The stages written out: each convolution with "same" padding as TensorFlow has it, then its batch normalisation."""

    def step(x: torch.Tensor, convolution: str, norm: str, stride: int, *, groups: int = 1) -> torch.Tensor:
        filters = weights[f"{convolution}.weight"]
        kernel, size = filters.shape[-1], x.shape[-1]
        missing = max((size // stride - 1) * stride + kernel - size, 0)
        x = F.pad(x, (missing // 2, missing - missing // 2) * 2)
        x = F.conv2d(x, filters, stride=stride, groups=groups)
        mean, var, weight, bias = (weights[f"{norm}.{name}"] for name in ("running_mean", "running_var", "weight", "bias"))
        return F.batch_norm(x, mean, var, weight, bias, eps=EPSILON)

    x = step(x, "_conv_stem", "_bn0", 2).clamp(0, 6)
    strides = [stride if n == 0 else 1 for stride, r in zip(STRIDES, SMALL.repeats, strict=True) for n in range(r)]
    for index, stride in enumerate(strides):
        name = f"_blocks.{index}"
        before = x
        if f"{name}._expand_conv.weight" in weights:
            x = step(x, f"{name}._expand_conv", f"{name}._bn0", 1).clamp(0, 6)
        x = step(x, f"{name}._depthwise_conv", f"{name}._bn1", stride, groups=x.shape[1]).clamp(0, 6)
        x = step(x, f"{name}._project_conv", f"{name}._bn2", 1)
        x = x + before if x.shape == before.shape else x
    return x


def test_started_from_the_file_the_convolutions_are_the_networks_with_its_normalisation(model: CCT, tmp_path: Path) -> None:
    weights = plain_weights(model)
    torch.save(weights, tmp_path / "weights.pth")
    entry = start_from_imagenet(model, tmp_path / "weights.pth")
    assert entry["file"] == "weights.pth" and len(entry["sha256"]) == 64 and "0.1.0" in entry["package"]
    expected = with_batch_norm(images(), weights)
    with torch.no_grad():
        found = model.convolutions(images())
    assert expected.shape == (3, 10, 4, 4) and len(KERNELS) == len(STRIDES)
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(model.patches(images())[:, 6], expected[:, :, 1, 2], atol=1e-3, rtol=1e-3)


def test_a_file_of_other_sizes_is_refused(model: CCT, tmp_path: Path) -> None:
    torch.save({"_conv_stem.weight": torch.zeros(2, 3, 3, 3)}, tmp_path / "other.pth")
    with pytest.raises(ValueError, match="does not hold EfficientNet-Lite0"):
        start_from_imagenet(model, tmp_path / "other.pth")


def test_the_rejection_is_one_more_output(model: CCT) -> None:
    outputs = model.logits_with_rejection(model.features(images()))
    assert outputs.shape == (3, 11)
    torch.testing.assert_close(outputs[:, :10], model(images()), atol=1e-5, rtol=1e-5)


def test_it_is_at_most_a_million_parameters_and_takes_patches_of_sixteen_pixels() -> None:
    assert sum(parameter.numel() for parameter in CCT(CCTConfig(turns=True)).parameters()) <= 1_000_000
    with pytest.raises(ValueError, match="one cell of 16 pixels"):
        CCTConfig(patch=8)


def test_the_mirrored_answer_is_the_mean_of_two_passes_and_not_taken_in_training(model: CCT) -> None:
    plain = CCT(SMALL)
    plain.load_state_dict(model.state_dict())
    mirrored = CCT(replace(SMALL, mirrored=True))
    mirrored.load_state_dict(model.state_dict())
    plain.eval(), mirrored.eval()
    x = images()
    expected = (plain(x) + plain(x.flip(-1))) / 2
    torch.testing.assert_close(mirrored(x), expected, atol=1e-5, rtol=1e-5)
    logits, maps = mirrored(x, return_attention=True)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(maps["layer 1"], plain(x, return_attention=True)[1]["layer 1"], atol=1e-6, rtol=0)
    torch.testing.assert_close(mirrored.head(mirrored.features(x)), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(mirrored.train()(x), plain.train()(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("side", "mirrored"), [(64, False), (128, True), (32, True)])
def test_features_without_a_patch_are_those_of_the_copy_that_lacks_it(side: int, mirrored: bool) -> None:
    torch.manual_seed(3)
    model = CCT(replace(SMALL, side=side, mirrored=mirrored)).eval().double()  # a corner's pixel counts little
    image, behind = torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    grid = side // 16
    with torch.no_grad():
        rows = list(model.features_without(image, behind))
        assert len(rows) == grid
        for row, found in enumerate(rows):
            copies = image.repeat(grid, 1, 1, 1)
            for column, copy in enumerate(copies):
                place = slice(16 * row, 16 * row + 16), slice(16 * column, 16 * column + 16)
                copy[:, place[0], place[1]] = behind[:, place[0], place[1]]
            torch.testing.assert_close(found, model.features(copies), atol=1e-12, rtol=0)
