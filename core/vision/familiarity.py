"""Mahalanobis distance of an image's features to those of the training images (Lee et al. 2018, section 2.1).

Each class of the training images has a mean feature vector, and all share one covariance; an image's strangeness is its distance
to the nearest mean. It separates photographs of hands, noise and negatives better than the energy of the logits does, which
depends on ten numbers alone.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RIDGE = 1e-3
"""Added to the covariance's diagonal, so that directions with almost no variance do not dominate the distance."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Familiarity:
    """Class means and shared covariance of the training images' features.

    Attributes:
        means: (classes, width), float32. whitening: (width, width), float32: W with W^T W the inverse of the covariance.
    """

    means: NDArray[np.float32]
    whitening: NDArray[np.float32]

    @classmethod
    def fit(cls, features: NDArray[np.floating], labels: NDArray[np.int64], classes: int) -> Familiarity:
        """From features (n, width) and labels (n,); every class must occur."""
        x = np.asarray(features, dtype=np.float64)
        means = np.stack([x[labels == label].mean(axis=0) for label in range(classes)])
        spread = x - means[labels]
        covariance = spread.T @ spread / len(x) + RIDGE * np.eye(x.shape[1])
        whitening = np.linalg.inv(np.linalg.cholesky(covariance))
        return cls(means=means.astype(np.float32), whitening=whitening.astype(np.float32))

    def distance(self, features: NDArray[np.floating]) -> NDArray[np.float64]:
        """(n, width) -> (n,): distance to the nearest mean, in standard deviations of the shared covariance."""
        w = self.whitening.astype(np.float64)
        gaps = np.asarray(features, dtype=np.float64)[:, None] @ w.T - self.means.astype(np.float64) @ w.T
        return np.sqrt((gaps**2).sum(axis=-1).min(axis=1))

    def to_dict(self) -> dict[str, str]:
        """For a card: float32, little-endian, in base64, rows one after the other."""
        return {name: base64.b64encode(getattr(self, name).astype("<f4").tobytes()).decode() for name in ("means", "whitening")}

    @classmethod
    def from_dict(cls, values: dict[str, Any], width: int) -> Familiarity:
        """From a card.

        Raises:
            ValueError: where the arrays do not fit the model's width.
        """
        arrays = {name: np.frombuffer(base64.b64decode(values[name]), "<f4") for name in ("means", "whitening")}
        return cls(means=arrays["means"].reshape(-1, width), whitening=arrays["whitening"].reshape(width, width))
