"""MobileNetV2 for prediction: in evaluation a batch norm is a scale and a shift, which the convolution before it takes over.

`core.models.mobilenet` says what is computed, and trains; this takes its trained weights, and differs by a millionth.
"""

from __future__ import annotations

from copy import deepcopy

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from core.models.iiga import IIGA, FrameEncoder


def folded_iiga(model: IIGA) -> IIGA:
    """A copy whose pictures pass through folded convolutions, for prediction alone; one that reads tracks as it is.

    Args:
        model: in evaluation. Later changes of it are not followed.
    """
    if not isinstance(model.front, FrameEncoder):
        return model
    copied = deepcopy(model).requires_grad_(False)
    for block in copied.modules():
        if isinstance(block, nn.Sequential):
            _fold(block)
    return copied


def _fold(block: nn.Sequential) -> None:
    """Every batch norm of these modules into the convolution before it."""
    for place in range(len(block) - 1):
        convolution, norm = block[place], block[place + 1]
        if isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
            block[place], block[place + 1] = fuse_conv_bn_eval(convolution, norm), nn.Identity()
