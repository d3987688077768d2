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
        erase: share of the images that lose a rectangle. erase_side: its largest side, pixels.
    """

    flip: float = 0.5
    shift: int = 2
    warp: float = 0.5
    degrees: float = 8.0
    stretch: float = 0.1
    shear: float = 0.08
    erase: float = 0.0
    erase_side: int = 10


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
    theta = torch.stack(
        [
            torch.stack([mirror * wide * cos, mirror * wide * (shear * cos - sin), across], dim=1),
            torch.stack([high * sin, high * (shear * sin + cos), down], dim=1),
        ],
        dim=1,
    )
    grid = F.affine_grid(theta, [count, 1, side, side], align_corners=False)
    moved = F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    return erased(moved, how, generator) if how.erase else moved


def erased(images: Tensor, how: Augmentation, generator: torch.Generator) -> Tensor:
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
