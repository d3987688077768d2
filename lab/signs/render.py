"""Draws frames from photos of hand signs: the place of each hand, its background, the light and the camera.

Nothing is random here but the noise, which has a seed: the same arguments give the same frames.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from lab.signs.photo_set import Layers, PhotoSet

Floats = NDArray[np.float32]


@dataclass(kw_only=True)
class Hands:
    """One hand per frame.

    Attributes:
        photo: (n,) index of the photo. weight: (n,) how visible it is, 0 to 1.
        place: (n, 2) shift right and down, in frame sizes. scale: (n,) 1 fills the frame with the photo.
        turn: (n,) radians, anticlockwise. shear: (n,) x gained for each y. mirrored: (n,) 1 or -1.
    """

    photo: NDArray[np.int64]
    weight: Floats
    place: Floats
    scale: Floats
    turn: Floats
    shear: Floats
    mirrored: Floats


@dataclass(kw_only=True)
class Views:
    """Background, light and camera, one row per clip (or per frame, for single frames).

    Attributes:
        background: (m, S, S, 3) 0 to 1.
        whole: (m,) 1 where the photo is shown with its own wall, 0 where the hand alone is laid over the background.
        gain: (m, 3) factor a colour. brightness: (m,) added. contrast: (m,) factor about the middle. gamma: (m,) exponent.
        slope: (m, 2) light that grows to the right and down. noise: (m,) standard deviation a pixel, 0 to 1.
        coarse: (m,) 1 as sharp as the frame, 0.4 as if filmed with 40 % of its pixels. grey: (m,) 1 without colour.
    """

    background: Floats
    whole: Floats
    gain: Floats
    brightness: Floats
    contrast: Floats
    gamma: Floats
    slope: Floats
    noise: Floats
    coarse: Floats
    grey: Floats


class Studio:
    """Photos, taken apart once, from which frames are drawn.

    Args:
        size: height and width of a frame.
    """

    def __init__(self, photos: PhotoSet, layers: Layers, *, size: int) -> None:
        self.photos, self.layers, self.size = photos, layers, size
        colours = torch.from_numpy(photos.images).permute(0, 3, 1, 2) / 255.0
        self.pictures = torch.cat([colours, torch.from_numpy(layers.hands)[:, None]], dim=1)

    def draw(self, hands: list[Hands], views: Views, view: NDArray[np.int64], *, seed: int) -> NDArray[np.uint8]:
        """Frames (n, size, size, 3) uint8.

        Args:
            hands: one or more a frame, laid over each other; where weights sum to less than 1 the background shows.
            view: (n,) each frame's row of `views`.
            seed: of the camera's noise.
        """
        background = torch.from_numpy(views.background).permute(0, 3, 1, 2)[view]
        whole = torch.from_numpy(views.whole)[view][:, None, None, None]
        covered, colour = torch.zeros_like(background[:, :1]), torch.zeros_like(background)
        for one in hands:
            shown = np.flatnonzero(one.weight)
            if len(shown):
                picture = self._placed(one, shown)
                weight = torch.from_numpy(one.weight[shown])[:, None, None, None]
                alpha = (picture[:, 3:] * (1 - whole[shown]) + whole[shown]) * weight
                colour[shown] += alpha * picture[:, :3]
                covered[shown] += alpha
        # two hands that overlap share the place
        over = covered.clamp_min(1.0)
        frames = background * (1 - (covered / over)) + colour / over
        return self._filmed(frames, views, view, seed)

    def _placed(self, one: Hands, rows: NDArray[np.int64]) -> Tensor:
        """Photo and hand mask under the affine map of some frames, (len(rows), 4, size, size)."""
        cos, sin = np.cos(one.turn) / one.scale, np.sin(one.turn) / one.scale
        matrix = np.zeros((len(one.photo), 2, 3), np.float32)
        matrix[:, 0, 0], matrix[:, 0, 1] = cos * one.mirrored, (-sin + cos * one.shear) * one.mirrored
        matrix[:, 1, 0], matrix[:, 1, 1] = sin, cos + sin * one.shear
        shift = -2 * one.place[:, :, None]  # grid_sample's frame is 2 wide
        matrix[:, :, 2:] = matrix[:, :, :2] @ shift
        grid = F.affine_grid(torch.from_numpy(matrix[rows]), [len(rows), 4, self.size, self.size], align_corners=False)
        return F.grid_sample(self.pictures[one.photo[rows]], grid, padding_mode="border", align_corners=False)

    def _filmed(self, frames: Tensor, views: Views, view: NDArray[np.int64], seed: int) -> NDArray[np.uint8]:
        def row(values: Floats) -> Tensor:
            return torch.from_numpy(values)[view].reshape(len(view), -1, 1, 1)

        ramp = torch.linspace(-1, 1, self.size)
        slope = torch.from_numpy(views.slope)[view]
        light = 1 + slope[:, :1, None, None] * ramp[None, None, None, :] + slope[:, 1:, None, None] * ramp[None, None, :, None]
        frames = (frames.clamp(0, 1) ** row(views.gamma)) * light * row(views.gain)
        frames = (frames - 0.5) * row(views.contrast) + 0.5 + row(views.brightness)
        grey = row(views.grey)
        frames = frames * (1 - grey) + grey * frames.mean(dim=1, keepdim=True)
        for coarse in np.unique(views.coarse[views.coarse < 1]):
            rows = np.flatnonzero(views.coarse[view] == coarse)
            if len(rows):
                small = F.interpolate(frames[rows], scale_factor=float(coarse), mode="area")
                frames[rows] = F.interpolate(small, size=(self.size, self.size), mode="bilinear", align_corners=False)
        noise = np.random.default_rng(seed).standard_normal(frames.shape, dtype=np.float32)
        frames = frames + torch.from_numpy(noise) * row(views.noise)
        return (frames.clamp(0, 1) * 255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy()
