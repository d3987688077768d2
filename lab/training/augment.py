"""Augmentation of a batch of images by tensor operations; every random number comes from the given generator."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """Kinds and limits of the changes to a training image.

    Attributes:
        flip: share of the images that are mirrored left to right.
        shift: largest move, pixels.
        warp: share of the images that are also turned, stretched and sheared (and so resampled); the others move by whole pixels.
        degrees: largest turn. stretch: largest relative change of height and of width. shear: largest shear.
    """

    flip: float = 0.5
    shift: int = 2
    warp: float = 0.5
    degrees: float = 8.0
    stretch: float = 0.1
    shear: float = 0.08


def uniform(count: int, limit: float, generator: torch.Generator) -> Tensor:
    """(count,) draws from -limit to limit."""
    return (torch.rand(count, generator=generator) * 2 - 1) * limit


def augment(images: Tensor, how: Augmentation, generator: torch.Generator) -> Tensor:
    """(batch, 1, side, side) -> the same shape; pixels from outside the frame are 0, the background."""
    count, side = len(images), images.shape[-1]
    warped = (torch.rand(count, generator=generator) < how.warp).float()
    angle = uniform(count, torch.pi * how.degrees / 180, generator) * warped
    high, wide = (1 + uniform(count, how.stretch, generator) * warped for _ in range(2))
    shear = uniform(count, how.shear, generator) * warped
    mirror = 1 - 2 * (torch.rand(count, generator=generator) < how.flip).float()
    moves = [uniform(count, how.shift + 0.5, generator).clamp(-how.shift, how.shift) for _ in range(2)]
    across, down = (torch.where(warped > 0, move, move.round()) * 2 / side for move in moves)
    cos, sin = angle.cos(), angle.sin()
    rows = [[mirror * wide * cos, mirror * wide * (shear * cos - sin), across], [high * sin, high * (shear * sin + cos), down]]
    grid = _grid(rows, side)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def _grid(rows: list[list[Tensor]], side: int) -> Tensor:
    """(batch, side, side, 2) places to look at, by the two rows of each image's affine matrix."""
    theta = torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)
    return F.affine_grid(theta, [len(theta), 1, side, side], align_corners=False)


def erased(images: Tensor, how: PhotographAugmentation, generator: torch.Generator) -> Tensor:
    """Cover a rectangle in a share `erase` of the images by one random grey level each; (batch, 1, side, side) in and out."""
    count, side = len(images), images.shape[-1]
    where = torch.arange(side)
    inside = []
    for _ in range(2):
        length = 2 + torch.rand(count, 1, generator=generator) * (how.erase_side - 2)
        start = torch.rand(count, 1, generator=generator) * (side - length)
        inside.append((where >= start) & (where < start + length))
    chosen = (torch.rand(count, generator=generator) < how.erase)[:, None, None]
    hole = (inside[0][:, :, None] & inside[1][:, None, :] & chosen)[:, None]
    return torch.where(hole, torch.rand(count, 1, 1, 1, generator=generator), images)


@dataclass(frozen=True, kw_only=True)
class PhotographAugmentation:
    """Limits of the changes to a photograph of a garment, which lies, hangs and is lit in any way.

    Attributes:
        degrees: largest small turn. right_angles: share that is also turned by 90, 180 or 270 degrees.
        nearest, farthest: range of the part of the picture that is seen, a side's share. shift: largest move, a side's share.
        stretch: largest logarithm of the aspect's change. shear: largest shear. tilt: strength of the perspective.
        gamma: largest logarithm of the exponent of the grey levels. contrast: range of the factor around the mean.
        brightness: largest added level. invert: share that is negated.
        tint: largest logarithm of the factor on each colour. erase: share that loses a rectangle. erase_side: its largest side,
            pixels.
    """

    degrees: float = 15.0
    right_angles: float = 0.0
    nearest: float = 0.75
    farthest: float = 1.1
    shift: float = 0.1
    stretch: float = 0.1
    shear: float = 0.08
    tilt: float = 0.15
    gamma: float = 0.4
    contrast: tuple[float, float] = (0.6, 1.4)
    brightness: float = 0.15
    invert: float = 0.05
    tint: float = 0.0
    erase: float = 0.2
    erase_side: int = 12


def photograph_views(photographs: Tensor, how: PhotographAugmentation, side: int, generator: torch.Generator) -> Tensor:
    """Square photographs in [0, 1] seen anew, (batch, colours, s, s) -> (batch, colours, side, side); an edge's pixels go on."""
    count = len(photographs)

    def draw() -> Tensor:
        return torch.rand(count, generator=generator)

    quarters = torch.randint(1, 4, (count,), generator=generator) * (draw() < how.right_angles)
    angle = uniform(count, torch.pi * how.degrees / 180, generator) + quarters * (torch.pi / 2)
    size = how.nearest + (how.farthest - how.nearest) * draw()
    aspect, shear = uniform(count, how.stretch, generator).exp(), uniform(count, how.shear, generator)
    mirror = 1 - 2 * (draw() < 0.5).float()
    across, down = (uniform(count, 2 * how.shift, generator) for _ in range(2))
    cos, sin = angle.cos(), angle.sin()
    rows = [[mirror * size * aspect * cos, size * (shear - sin), across], [mirror * size * sin, size / aspect * cos, down]]
    grid = _grid(rows, side)
    tilt = (torch.rand(count, 1, 1, 2, generator=generator) * 2 - 1) * how.tilt
    grid = grid / (1 + (grid * tilt).sum(dim=-1, keepdim=True))
    seen = F.grid_sample(photographs, grid, mode="bilinear", padding_mode="border", align_corners=False)
    return erased(relit(seen, how, generator), how, generator)


def relit(images: Tensor, how: PhotographAugmentation, generator: torch.Generator) -> Tensor:
    """Other exposure, contrast, brightness and colour of the light, some negated; (batch, colours, side, side) in [0, 1]."""

    def draw(colours: int = 1) -> Tensor:
        return torch.rand(len(images), colours, 1, 1, generator=generator)

    curved = images.clamp(1e-3, 1) ** ((draw() * 2 - 1) * how.gamma).exp()
    mean = curved.mean(dim=(2, 3), keepdim=True)
    low, high = how.contrast
    lit = (curved - mean) * (low + (high - low) * draw()) + mean + (draw() * 2 - 1) * how.brightness
    seen = torch.where(draw() < how.invert, 1 - lit, lit)
    return (seen * ((draw(images.shape[1]) * 2 - 1) * how.tint).exp() if how.tint else seen).clamp(0, 1)
