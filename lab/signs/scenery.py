"""Draws random backgrounds, light and camera settings for synthetic clips."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from lab.signs.render import Floats, Views


def draw_views(walls: Floats, light: float, replace: float, size: int, random: np.random.Generator) -> Views:
    """One row of `Views` for each of the walls (m, side, side, 3).

    Args:
        light: strength of light, colour and camera variations, 1 the most.
        replace: chance that the wall gives way to an abstract picture.
    """
    m = len(walls)
    own = F.interpolate(torch.from_numpy(walls).permute(0, 3, 1, 2), size=(size, size), mode="bilinear", align_corners=False)
    background = own.permute(0, 2, 3, 1).contiguous().numpy()
    replaced = random.random(m) < replace
    for place in np.flatnonzero(replaced):
        background[place] = scene(size, random)

    def spread(width: float, *shape: int) -> Floats:
        return (random.uniform(-width, width, (m, *shape)) * light).astype(np.float32)

    return Views(
        background=background,
        whole=(~replaced).astype(np.float32),
        gain=np.exp(spread(0.18, 3) + spread(0.2, 1)),
        brightness=spread(0.12),
        contrast=np.exp(spread(0.4)),
        gamma=np.exp(spread(0.35)),
        slope=spread(0.3, 2),
        noise=(random.random(m) ** 2 * 0.07 * light).astype(np.float32),
        coarse=random.choice(np.array([1.0, 1.0, 1.0, 0.75, 0.5, 0.4], np.float32), m) if light > 0.5 else np.ones(m, np.float32),
        grey=(random.random(m) < 0.1 * light).astype(np.float32) * np.float32(light > 0.5),
    )


def scene(size: int, random: np.random.Generator) -> NDArray[np.float32]:
    """An abstract picture (size, size, 3): blobs, bars and grain of random colours."""
    base = random.uniform(0.05, 0.95) + random.normal(0, 0.08, 3)
    picture = np.broadcast_to(base, (size, size, 3)).astype(np.float32)
    for cells in (2, 4, 8, 24):
        if random.random() < 0.7:
            coarse = torch.from_numpy(random.normal(0, 0.25 / np.sqrt(cells), (1, 3, cells, cells)).astype(np.float32))
            if random.random() < 0.8:  # most rooms are rather grey
                coarse = 0.2 * coarse + 1.4 * coarse.mean(dim=1, keepdim=True)
            smooth = F.interpolate(coarse, size=(size, size), mode="bilinear", align_corners=False)
            picture = (picture + 1.6 * smooth[0].permute(1, 2, 0).numpy()).astype(np.float32)
    for _ in range(int(random.integers(0, 5))):
        top, left = random.integers(0, size, 2)
        height, width = random.integers(3, size, 2)
        share = np.float32(random.uniform(0.4, 1))
        block = picture[top : top + height, left : left + width]
        block[:] = block * (1 - share) + _colour(random) * share
    return picture.clip(0, 1)


def _colour(random: np.random.Generator) -> NDArray[np.float32]:
    """Some colour, mostly a pale one."""
    grey = random.uniform(0, 1)
    return (grey + random.choice([0.1, 0.1, 0.6]) * random.uniform(-0.5, 0.5, 3)).clip(0, 1).astype(np.float32)
