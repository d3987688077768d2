"""MobileNetV2 against the published table of names and shapes, and its block against torch.nn.functional."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from core.models.mobilenet import InvertedResidual, MobileNetV2, divisible
from core.models.parameters import count
from tests.core.models.unsettled import unsettled

BLOCKS = [
    # input, hidden and output channels of features.1 to features.17, as torchvision's published weights have them
    (32, 32, 16),
    (16, 96, 24), (24, 144, 24),
    (24, 144, 32), (32, 192, 32), (32, 192, 32),
    (32, 192, 64), (64, 384, 64), (64, 384, 64), (64, 384, 64),
    (64, 384, 96), (96, 576, 96), (96, 576, 96),
    (96, 576, 160), (160, 960, 160), (160, 960, 160),
    (160, 960, 320),
]  # fmt: skip


def published() -> dict[str, tuple[int, ...]]:
    """Name -> shape of every parameter and running statistic in the published file, its classifier left out."""
    table: dict[str, tuple[int, ...]] = {}

    def convolution(name: str, *shape: int) -> None:
        table[f"{name}.weight"] = shape

    def norm(name: str, channels: int) -> None:
        table.update({f"{name}.{part}": (channels,) for part in ("weight", "bias", "running_mean", "running_var")})
        table[f"{name}.num_batches_tracked"] = ()

    convolution("features.0.0", 32, 3, 3, 3)
    norm("features.0.1", 32)
    for index, (inputs, hidden, outputs) in enumerate(BLOCKS, start=1):
        block = f"features.{index}.conv"
        depthwise = 0
        if index > 1:
            convolution(f"{block}.0.0", hidden, inputs, 1, 1)
            norm(f"{block}.0.1", hidden)
            depthwise = 1
        convolution(f"{block}.{depthwise}.0", hidden, 1, 3, 3)
        norm(f"{block}.{depthwise}.1", hidden)
        convolution(f"{block}.{depthwise + 1}", outputs, hidden, 1, 1)
        norm(f"{block}.{depthwise + 2}", outputs)
    convolution("features.18.0", 1280, 320, 1, 1)
    norm("features.18.1", 1280)
    return table


def test_names_shapes_and_count_are_the_published_ones() -> None:
    model = MobileNetV2()
    assert {name: tuple(value.shape) for name, value in model.state_dict().items()} == published()
    assert count(model.features) == 2_223_872
    literal = dict(model.named_parameters())
    assert literal["features.2.conv.0.0.weight"].shape == (96, 16, 1, 1)
    assert literal["features.14.conv.2.weight"].shape == (160, 576, 1, 1)


@pytest.mark.parametrize(("inputs", "outputs", "stride", "expansion"), [(8, 8, 1, 6), (8, 16, 1, 6), (8, 8, 2, 6), (8, 8, 1, 1)])
def test_a_block_equals_functional(inputs: int, outputs: int, stride: int, expansion: int) -> None:
    """Section 3.3, written with torch.nn.functional."""
    block = unsettled(InvertedResidual, inputs, outputs, stride=stride, expansion=expansion)
    w = block.state_dict()

    def normed(y: Tensor, name: str) -> Tensor:
        statistics = w[f"{name}.running_mean"], w[f"{name}.running_var"]
        return F.batch_norm(y, *statistics, w[f"{name}.weight"], w[f"{name}.bias"])

    x = torch.randn(2, inputs, 9, 7)
    y, place = x, 0
    if expansion > 1:
        y, place = F.relu6(normed(F.conv2d(y, w["conv.0.0.weight"]), "conv.0.1")), 1
    hidden = inputs * expansion
    y = F.conv2d(y, w[f"conv.{place}.0.weight"], stride=stride, padding=1, groups=hidden)
    y = F.relu6(normed(y, f"conv.{place}.1"))
    y = normed(F.conv2d(y, w[f"conv.{place + 1}.weight"]), f"conv.{place + 2}")
    expected = x + y if stride == 1 and inputs == outputs else y
    with torch.no_grad():
        torch.testing.assert_close(block(x), expected, atol=1e-5, rtol=1e-5)


def test_a_narrow_model_on_small_pictures() -> None:
    model = MobileNetV2(width_multiplier=0.35, last_channels=64, stem_stride=1).eval()
    assert model(torch.zeros(2, 3, 40, 48)).shape == (2, 64)
    assert MobileNetV2(width_multiplier=0.5).features[1].conv[1].weight.shape[0] == 8
    assert [divisible(x) for x in (1, 11.2, 12, 27.9, 33.6)] == [8, 16, 16, 32, 32]
    with pytest.raises(ValueError, match="width multiplier above 0"):
        MobileNetV2(width_multiplier=0)
