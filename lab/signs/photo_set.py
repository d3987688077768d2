"""Photos of hand signs as arrays, and their separation into hand and background."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

MANIFEST = "manifest.csv"
"""Names the photos of a folder, each with its digit and signer."""
SIDE = 100
"""Height and width of a photo, pixels."""


@dataclass(frozen=True, kw_only=True)
class SignedDigits:
    """Photos of digits, a row of each array a photo.

    Attributes:
        digits: (n,) 0 to 9. signers: (n,) numbers that tell signers apart.
    """

    digits: NDArray[np.int64]
    signers: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.digits)

    def of(self, signers: NDArray[np.int64]) -> Self:
        """The photos of some signers only."""
        kept = np.isin(self.signers, signers)
        return type(self)(**{name: rows[kept] for name, rows in vars(self).items()})


@dataclass(frozen=True, kw_only=True)
class PhotoSet(SignedDigits):
    """Photos as they are, (n, SIDE, SIDE, 3) uint8 RGB."""

    images: NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Layers:
    """Photos taken apart.

    Attributes:
        hands: (n, SIDE, SIDE) float32, 1 on the hand, 0 behind it, in between on its edge.
        backgrounds: (n, SIDE, SIDE, 3) float32, 0 to 1: what the wall looks like without the hand, smooth.
    """

    hands: NDArray[np.float32]
    backgrounds: NDArray[np.float32]


def separate(images: NDArray[np.uint8]) -> Layers:
    """Tell hand from wall in photos of a hand before a plain wall.

    A quadratic surface a colour is fitted to the wall, leaving out what differs from it, three times over; the hand is
    what differs by more than Otsu's threshold. Differences in colour count four times those in brightness, for a palm may be as
    bright as the wall but is never as grey.
    """
    ramp = np.linspace(-1, 1, SIDE, dtype=np.float32)
    x, y = np.meshgrid(ramp, ramp)
    basis = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1).reshape(-1, 6)
    sample = (np.arange(SIDE)[:, None] * SIDE + np.arange(SIDE))[::4, ::4].reshape(-1)  # a surface this smooth needs no more
    border = ((np.abs(x) > 0.8) | (y < -0.8)).reshape(-1)[sample]
    hands = np.empty(images.shape[:3], np.float32)
    backgrounds = np.empty(images.shape, np.float32)
    for place, image in enumerate(images):
        flat = (image.astype(np.float32) / 255).reshape(-1, 3)
        bright = flat[sample].mean(axis=1)
        wall = border & (bright > np.median(bright[border]) - 0.15)
        for _ in range(3):
            kept = sample[wall]
            inner = basis[kept].T @ basis[kept] + 1e-3 * np.eye(6, dtype=np.float32)
            weights = np.linalg.solve(inner, basis[kept].T @ flat[kept])
            difference = _difference(flat[sample], basis[sample] @ weights)
            threshold = _otsu(difference)
            wall = difference < 0.8 * threshold
        surface = basis @ weights
        difference = _difference(flat, surface)
        hands[place] = _softened(1 / (1 + np.exp(-(difference - threshold) / (0.12 * threshold))).reshape(SIDE, SIDE))
        backgrounds[place] = surface.reshape(SIDE, SIDE, 3).clip(0, 1)
    return Layers(hands=hands, backgrounds=backgrounds)


def _difference(colours: NDArray[np.float32], surface: NDArray[np.float32]) -> NDArray[np.float32]:
    """Distance of colours (n, 3) from the wall's, brightness apart from colour."""
    difference = colours - surface
    brightness = difference.mean(axis=1)
    return np.sqrt(brightness**2 + 16 * ((difference - brightness[:, None]) ** 2).mean(axis=1))


def _otsu(values: NDArray[np.float32]) -> float:
    """The threshold that leaves the two sides' variances smallest (Otsu 1979)."""
    counts, edges = np.histogram(values, bins=64)
    middles = (edges[1:] + edges[:-1]) / 2
    below = np.cumsum(counts)
    above = below[-1] - below
    sums = np.cumsum(counts * middles)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = below * above * (sums / below - (sums[-1] - sums) / above) ** 2
    return float(middles[int(np.nanargmax(between[:-1]))])


def _softened(mask: NDArray[np.float32]) -> NDArray[np.float32]:
    """A 3 x 3 mean, which takes off single pixels."""
    padded = np.pad(mask, 1, mode="edge")
    shifted = np.stack([padded[i : i + SIDE, j : j + SIDE] for i in range(3) for j in range(3)])
    return shifted.mean(axis=0, dtype=np.float32)
