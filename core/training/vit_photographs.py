"""Photographs to train on: garments by kind, other things, and Fashion-MNIST's garments before backgrounds.

A photograph's target is a set of outputs, of which any counts as right (D29): a long sleeve may be a pullover or a shirt. The
last output is "none of the ten". `core.cli.garment_photographs` reads the files, which takes a decoder of pictures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from core.models.vit import CLASSES
from core.vision.calibration import fit_temperature

NONE: Final = len(CLASSES)
"""The output "none of the ten"."""
SQUARE: Final = 48
"""Side of the square that a photograph is kept as; views of 28 pixels are cut from it."""
VALIDATION_SPLIT: Final = "validation"
"""Name of the file of photographs to validate on; the folder's other files are trained on."""
CLASSES_OF_OTHER_KIND: Final[dict[str, frozenset[int]]] = {
    kind: frozenset(map(CLASSES.index, names))
    for kind, names in {
        "polo": ("T-shirt/top", "Shirt"),
        "undershirt": ("T-shirt/top",),
        "top": ("T-shirt/top",),
        "blouse": ("T-shirt/top", "Shirt", "Pullover"),
        "hoodie": ("Pullover", "Coat"),
        "blazer": ("Coat",),
    }.items()
}
"""Labels that are right for kinds that D29 does not name; to train on only. Other kinds are left out."""


@dataclass(frozen=True, kw_only=True)
class Photographs:
    """Grey photographs in [0, 1].

    Attributes:
        images: (n, 1, SQUARE, SQUARE). prepared: (n, 1, 28, 28), as the page prepares them.
        targets: (n, 11), True at the outputs that are right.
    """

    images: Tensor
    prepared: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True, kw_only=True)
class OtherThings:
    """Photographs of no garments: squares to train on, (n, 1, SQUARE, SQUARE), and prepared ones held out, (m, 1, 28, 28)."""

    train: Tensor
    validation: Tensor


def before_backgrounds(garments: Tensor, backgrounds: Tensor, generator: torch.Generator) -> Tensor:
    """Fashion-MNIST's images, black where nothing is, before other pictures, lighter or darker than these.

    Args:
        garments: (n, 1, 28, 28) in [0, 1]. backgrounds: squares in [0, 1], (m, 1, SQUARE, SQUARE).

    Returns:
        (n, 1, SQUARE, SQUARE).
    """
    count = len(garments)
    large = F.interpolate(garments, size=(SQUARE, SQUARE), mode="bilinear", align_corners=False)
    cover = (large * 6).clamp(0, 1)
    behind = backgrounds[torch.randint(len(backgrounds), (count,), generator=generator)]
    plain = torch.rand(count, 1, 1, 1, generator=generator)
    depth = torch.rand(count, 1, 1, 1, generator=generator)  # 0: a plain background, 1: the whole picture's contrast
    negated = torch.where(torch.rand(count, 1, 1, 1, generator=generator) < 0.5, 1 - large, large)
    return cover * negated + (1 - cover) * (plain + (behind - behind.mean(dim=(2, 3), keepdim=True)) * depth).clamp(0, 1)


def invented(count: int, generator: torch.Generator) -> Tensor:
    """(count, 1, SQUARE, SQUARE) squares of nothing: noise of all sizes of grain, alone or along one axis."""
    squares = []
    for _ in range(count):
        high, wide = (int(2 ** (1 + 4.5 * float(torch.rand(1, generator=generator)))) for _ in range(2))
        noise = torch.rand(1, 1, high, wide, generator=generator)
        smooth = bool(torch.rand(1, generator=generator) < 0.5)
        squares.append(F.interpolate(noise, size=(SQUARE, SQUARE), mode="bilinear" if smooth else "nearest"))
    return torch.cat(squares)


def shared_temperature(parts: Iterable[tuple[NDArray[np.float64], NDArray[np.bool_]]]) -> float:
    """The temperature with the least mean negative log-likelihood over parts of equal weight.

    Args:
        parts: logits (n, classes) and right classes (n, classes); of several right ones the likeliest counts, as the page shows
            one class.
    """
    chosen = []
    for logits, right in parts:
        rows = np.random.default_rng(0).permutation(len(logits))
        label = np.where(right, logits, -np.inf).argmax(axis=1)
        chosen.append((logits[rows], label[rows]))
    most = max(len(labels) for _, labels in chosen)
    logits = np.concatenate([np.resize(part, (most, part.shape[1])) for part, _ in chosen])
    return fit_temperature(logits, np.concatenate([np.resize(labels, most) for _, labels in chosen]))
