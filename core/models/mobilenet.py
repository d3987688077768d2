"""MobileNetV2's convolutional part (iiga-equations section 3; Sandler et al. 2018, table 2).

    images (n, 3, H, W) -> 3x3 convolution -> 17 inverted residual blocks -> 1x1 convolution -> mean over places (n, channels)

Modules have the names and shapes of torchvision's `mobilenet_v2`, so that its published weights load as they are:
2,223,872 parameters in `features` at width 1.
"""

from torch import Tensor, nn

from core.messages import BadValue

BLOCKS = (
    # expansion t, output channels c, repeats n, stride s of the first: table 2 of the paper
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
STEM_CHANNELS, LAST_CHANNELS = 32, 1280
IMAGE_MEAN, IMAGE_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of RGB values of 0 to 1 with which the published weights normalise."""


def divisible(channels: float, divisor: int = 8) -> int:
    """The multiple of `divisor` nearest to a channel count, never more than 10 % below it (the authors' rounding)."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


class ConvNormActivation(nn.Sequential):
    """Convolution, batch norm, ReLU6, as modules 0, 1 and 2."""

    def __init__(self, inputs: int, outputs: int, *, kernel: int = 3, stride: int = 1, groups: int = 1) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU6(inplace=True),
        )


class InvertedResidual(nn.Module):
    """Expand by t, filter each channel on its own, project; add the input where shapes allow (section 3.3)."""

    def __init__(self, inputs: int, outputs: int, *, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        expand = [ConvNormActivation(inputs, hidden, kernel=1)] if expansion != 1 else []
        self.adds_input = stride == 1 and inputs == outputs
        self.conv = nn.Sequential(
            *expand,
            ConvNormActivation(hidden, hidden, stride=stride, groups=hidden),
            nn.Conv2d(hidden, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        """(n, inputs, h, w) -> (n, outputs, h / stride, w / stride)."""
        y: Tensor = self.conv(x)
        return x + y if self.adds_input else y


class MobileNetV2(nn.Module):
    """`features` and the mean over places; no classifier.

    Args:
        width_multiplier: scales every block's channels (rounded to multiples of 8).
        last_channels: of the closing 1x1 convolution; the paper keeps 1280 for multipliers below 1.
        stem_stride: 2 in the paper; 1 suits small pictures, which five halvings would leave with one place.

    >>> MobileNetV2()(torch.zeros(1, 3, 224, 224)).shape
    torch.Size([1, 1280])
    """

    def __init__(self, *, width_multiplier: float = 1.0, last_channels: int = LAST_CHANNELS, stem_stride: int = 2) -> None:
        super().__init__()
        if width_multiplier <= 0 or last_channels < 1 or stem_stride not in (1, 2):
            raise BadValue(
                "MobileNetV2 takes a width multiplier above 0, 1 or more last channels and a stem stride of 1 "
                "or 2, not {width_multiplier}, {last_channels} and {stem_stride}",
                width_multiplier=width_multiplier,
                last_channels=last_channels,
                stem_stride=stem_stride,
            )
        channels = divisible(STEM_CHANNELS * width_multiplier)
        layers: list[nn.Module] = [ConvNormActivation(3, channels, stride=stem_stride)]
        for expansion, base, repeats, stride in BLOCKS:
            outputs = divisible(base * width_multiplier)
            for repeat in range(repeats):
                layers.append(InvertedResidual(channels, outputs, stride=stride if repeat == 0 else 1, expansion=expansion))
                channels = outputs
        layers.append(ConvNormActivation(channels, last_channels, kernel=1))
        self.features = nn.Sequential(*layers)
        self.channels = last_channels
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def forward(self, x: Tensor) -> Tensor:
        """(n, 3, H, W), normalised as the published weights expect -> (n, channels)."""
        return self.features(x).mean(dim=(2, 3))  # (n, channels, h, w) -> (n, channels)
