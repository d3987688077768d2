"""Photographs to train on: garments by kind, other things, and Fashion-MNIST's garments before backgrounds.

A photograph's target is a set of outputs, of which any counts as right (D29): a long sleeve may be a pullover or a shirt. The
last output is "none of the ten". `core.cli.garment_photographs` reads the files, which takes a decoder of pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from core.models.vit import CLASSES

NONE: Final = len(CLASSES)
"""The output "none of the ten"."""
SQUARE: Final = 144
"""Side of the square that a photograph is kept as; views of the model's size are cut from it."""
Draw = Callable[[torch.Generator], Tensor]
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
    """Photographs in colour, uint8.

    Attributes:
        images: (n, 3, SQUARE, SQUARE). prepared: (n, 3, side, side), as the page prepares them.
        targets: (n, 11), True at the outputs that are right.
    """

    images: Tensor
    prepared: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True, kw_only=True)
class OtherThings:
    """Photographs of no garments: squares to train on, (n, 3, SQUARE, SQUARE), and prepared ones held out, (m, 3, side, side).

    Attributes:
        character: draws a picture of a character, (3, SQUARE, SQUARE) in [0, 1]; none are drawn where left out.
    """

    train: Tensor
    validation: Tensor
    character: Draw | None = None


def before_backgrounds(garments: Tensor, backgrounds: Tensor, generator: torch.Generator) -> Tensor:
    """Fashion-MNIST's images, black where nothing is, in any colour and before other pictures, lighter or darker than these.

    Args:
        garments: (n, 1, 28, 28) in [0, 1]. backgrounds: uint8 squares, (m, 3, SQUARE, SQUARE).

    Returns:
        (n, 3, SQUARE, SQUARE) in [0, 1].
    """
    count = len(garments)

    def draw(colours: int = 1) -> Tensor:
        return torch.rand(count, colours, 1, 1, generator=generator)

    large = F.interpolate(garments, size=(SQUARE, SQUARE), mode="bicubic", align_corners=False).clamp(0, 1)
    cover = (large * 6).clamp(0, 1)
    behind = backgrounds[torch.randint(len(backgrounds), (count,), generator=generator)].float() / 255
    depth = draw()  # 0: a plain background, 1: the whole picture's contrast
    negated = torch.where(draw() < 0.5, 1 - large, large) * torch.where(draw() < 0.5, draw(3), torch.ones(1))
    plain = torch.where(draw() < 0.5, draw(), draw(3))
    return cover * negated + (1 - cover) * (plain + (behind - behind.mean(dim=(2, 3), keepdim=True)) * depth).clamp(0, 1)


def invented(count: int, generator: torch.Generator, character: Draw | None = None) -> Tensor:
    """(count, 3, SQUARE, SQUARE) pictures of nothing: noise with grains of all sizes, in turn with drawn characters if given."""
    makers = [_noise if index % 2 or character is None else character for index in range(count)]
    return torch.stack([make(generator) for make in makers])


def _noise(generator: torch.Generator) -> Tensor:
    """(3, SQUARE, SQUARE) in [0, 1], in colour or grey."""
    high, wide = (int(2 ** (1 + 6 * float(torch.rand(1, generator=generator)))) for _ in range(2))
    colours = 3 if float(torch.rand(1, generator=generator)) < 0.5 else 1
    noise = torch.rand(1, colours, high, wide, generator=generator)
    smooth = bool(torch.rand(1, generator=generator) < 0.5)
    return F.interpolate(noise, size=(SQUARE, SQUARE), mode="bilinear" if smooth else "nearest")[0].expand(3, -1, -1)


def nearest(logits: NDArray[np.float64], right: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(n, classes) logits and right classes -> (n,): of several right ones the likeliest, as the page shows one class."""
    return np.asarray(np.where(right, logits, -np.inf).argmax(axis=1))
