"""Photographs to train on: garments of ten kinds (D30), and other things.

A photograph's target is a set of outputs, of which any counts as right: a hoodie to learn from may be a long sleeve or a jacket.
The last output is "none of the ten". `core.cli.garment_photographs` reads the files, which takes a decoder of pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional as F

from core.vision.photographs import KINDS

NONE: Final = len(KINDS)
"""The output "none of the ten"."""
SQUARE: Final = 144
"""Side of the square that a photograph is kept as; views of the model's size are cut from it."""
Draw = Callable[[torch.Generator], Tensor]
VALIDATION_SPLIT: Final = "validation"
"""Name of the file of photographs to validate on; the folder's other files are trained on."""
CLASSES_OF_OTHER_KIND: Final[dict[str, frozenset[str]]] = {
    "polo": frozenset({"T-shirt"}),
    "undershirt": frozenset({"T-shirt"}),
    "blouse": frozenset({"Shirt", "Long sleeve"}),
    "hoodie": frozenset({"Long sleeve", "Coat or jacket"}),
    "blazer": frozenset({"Coat or jacket"}),
}
"""Classes that are right for kinds that are none of the ten; to train on only. Other kinds are left out."""


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
        drawn: draws such a picture, (3, SQUARE, SQUARE) in [0, 1]; none are drawn where left out.
    """

    train: Tensor
    validation: Tensor
    drawn: Draw | None = None


def invented(count: int, generator: torch.Generator, drawn: Draw | None = None) -> Tensor:
    """(count, 3, SQUARE, SQUARE) pictures of nothing: noise with grains of all sizes, in turn with drawn ones if given."""
    makers = [_noise if index % 4 == 3 or drawn is None else drawn for index in range(count)]
    return torch.stack([make(generator) for make in makers])


def _noise(generator: torch.Generator) -> Tensor:
    """(3, SQUARE, SQUARE) in [0, 1], in colour or grey."""
    high, wide = (int(2 ** (1 + 6 * float(torch.rand(1, generator=generator)))) for _ in range(2))
    colours = 3 if float(torch.rand(1, generator=generator)) < 0.5 else 1
    noise = torch.rand(1, colours, high, wide, generator=generator)
    smooth = bool(torch.rand(1, generator=generator) < 0.5)
    return F.interpolate(noise, size=(SQUARE, SQUARE), mode="bilinear" if smooth else "nearest")[0].expand(3, -1, -1)
