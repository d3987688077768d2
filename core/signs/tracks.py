"""Sentences as tracked hands and nose: what the model sees of them.

Positions are pixels of the video, 30 frames per second, x to the right, y down.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COLUMNS = ("left-x", "left-y", "right-x", "right-y", "nose-x", "nose-y")
"""Columns of a sentence's tracks, in order."""
FPS = 30.0
STRIDE = 2
"""The model reads every second frame: 15 a second."""
DELTAS = (1, 3)
"""Velocities are differences over this many of the model's frames to either side."""
FEATURES = 4 + 2 + 4 * len(DELTAS)
POOLED = "any"
"""Key of the scale for signers outside the training data."""


@dataclass(frozen=True, kw_only=True)
class Word:
    """A gloss of a sentence and the frames it takes, both ends included."""

    gloss: str
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class TrackSentence:
    """One sentence.

    Attributes:
        video: the corpus's number.
        tracks: (T, 6) float32, columns as `COLUMNS`.
        words: where each gloss lies, in order; empty where the files do not say.
    """

    video: int
    speaker: str
    tracks: NDArray[np.float32]
    glosses: tuple[str, ...]
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Mean and standard deviation of a signer's hands about the nose, pixels, for (left-x, left-y, right-x, right-y)."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


def about_the_nose(tracks: NDArray[np.float32]) -> NDArray[np.float32]:
    """(T, 6) -> (T, 4): positions of both hands relative to the nose's median, which the tracker's jitter does not move."""
    return tracks[:, :4] - np.tile(np.median(tracks[:, 4:6], axis=0), 2)


def normalised(tracks: NDArray[np.float32], scale: Scale) -> NDArray[np.float32]:
    """(T, 6) positions -> (T, 4): both hands about the nose as z-scores of the signer."""
    std = np.maximum(np.array(scale.std, np.float32), np.float32(1e-3))
    return ((about_the_nose(tracks) - np.array(scale.mean, np.float32)) / std).astype(np.float32)


def features(hands: NDArray[np.float32], *, stride: int = STRIDE) -> NDArray[np.float32]:
    """Normalised hands (T, 4) -> (ceil(T / stride), FEATURES), the model's input.

    Both hands, right hand from left, and velocities over 1 and 3 of the model's frames to either side. At the ends a
    velocity looks no further than the sentence goes.
    """
    rows = len(hands) // stride * stride
    # the mean of each `stride` frames halves the tracker's jitter; a remainder stands for itself
    means = [hands[:rows].reshape(-1, stride, 4).mean(axis=1)] if rows else []
    if rows < len(hands):
        means.append(hands[rows:].mean(axis=0, keepdims=True))
    z = np.concatenate(means)
    steps = np.arange(len(z))
    speeds = []
    for delta in DELTAS:
        later, earlier = np.minimum(steps + delta, len(z) - 1), np.maximum(steps - delta, 0)
        speeds.append((z[later] - z[earlier]) * np.float32(2.0 / delta))
    return np.concatenate([z, z[:, 2:4] - z[:, 0:2], *speeds], axis=1).astype(np.float32)


def scale_of(scales: Mapping[str, Scale], speaker: str | None) -> Scale:
    """A signer's scale, or the pooled one."""
    return scales.get(speaker or POOLED, scales[POOLED])
