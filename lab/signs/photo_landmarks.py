"""Landmarks of photographed hand signs, each seen several times as a tracker would see it: from slightly different regions."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from core.signs.hands.palms import Floats
from lab.signs.photo_set import SignedDigits

VIEWS: Final = 4
MIRRORED: Final = 2
"""The view in which the photo is mirrored."""


@dataclass(frozen=True, kw_only=True)
class PhotoLandmarks(SignedDigits):
    """Landmarks of n photos, (n, VIEWS, 21, 2) pixels of the continued photo, NaN where no hand was found."""

    points: Floats

    @property
    def found(self) -> NDArray[np.bool_]:
        """(n,) whether a hand was found in a photo's first view."""
        return np.asarray(np.isfinite(self.points[:, 0, 0, 0]))

    def save(self, path: Path) -> None:
        """Write them as .npz."""
        np.savez(path, **vars(self))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**arrays)
