"""Landmarks of photographed hand signs, each seen several times as a tracker would see it: from slightly different regions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.signs.hands.palms import Floats

VIEWS: Final = 4
MIRRORED: Final = 2
"""The view in which the photo is mirrored."""


@dataclass(frozen=True, kw_only=True)
class PhotoLandmarks:
    """Landmarks of n photos.

    Attributes:
        points: (n, VIEWS, 21, 2) pixels of the continued photo, NaN where no hand was found.
        digits: (n,). signers: (n,).
    """

    points: Floats
    digits: NDArray[np.int64]
    signers: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def found(self) -> NDArray[np.bool_]:
        """(n,) whether a hand was found in a photo's first view."""
        return np.asarray(np.isfinite(self.points[:, 0, 0, 0]))

    def of(self, signers: NDArray[np.int64]) -> PhotoLandmarks:
        """The photos of some signers only."""
        kept = np.isin(self.signers, signers)
        return PhotoLandmarks(points=self.points[kept], digits=self.digits[kept], signers=self.signers[kept])

    def save(self, path: Path) -> None:
        """Write them as .npz."""
        np.savez(path, points=self.points, digits=self.digits, signers=self.signers)


def load(path: Path) -> PhotoLandmarks:
    """Read what `PhotoLandmarks.save` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return PhotoLandmarks(points=arrays["points"], digits=arrays["digits"], signers=arrays["signers"])
