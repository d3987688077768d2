"""Sentences as tracked hands and nose: reads RWTH-BOSTON-104's files and computes the model's features.

Positions are pixels of the video, 30 frames per second, x to the right, y down.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

COLUMNS = ("left-x", "left-y", "right-x", "right-y", "nose-x", "nose-y")
"""Columns of a sentence's tracks, in order."""
FPS = 30.0
SPLITS = ("train", "test")
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


def read_sentences(folder: Path, split: str) -> list[TrackSentence]:
    """One part of a folder like RWTH-BOSTON-104's.

    It holds sentences_<split>.tsv, hands_condensed.csv and, where glosses' places are known, <split>_words.csv.

    Raises:
        ValueError: for a split that is not there, or files that do not fit each other.
    """
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}: choose {' or '.join(SPLITS)}")
    listed = folder / f"sentences_{split}.tsv"
    hands = folder / "hands_condensed.csv"
    for path in (listed, hands):
        if not path.exists():
            raise ValueError(f"{folder.name} lacks {path.name}: a folder of tracks holds {listed.name} and {hands.name}")
    table = _table(listed, {"video"}, {"speaker", "glosses"}, separator="\t")
    positions = _table(hands, {"video", "frame", *COLUMNS})
    words_file = folder / f"{split}_words.csv"
    words = (
        _table(words_file, {"video", "startframe", "endframe"}, {"word"}) if words_file.exists() else pd.DataFrame({"video": []})
    )
    by_video = {int(video): rows.sort_values("frame") for video, rows in positions.groupby("video")}
    sentences = []
    for row in table.itertuples():
        video = int(row.video)
        if video not in by_video:
            raise ValueError(f"{hands.name} has no frame of video {video}, which {listed.name} names")
        sentences.append(
            TrackSentence(
                video=video,
                speaker=str(row.speaker),
                tracks=by_video[video][list(COLUMNS)].to_numpy(np.float32),
                glosses=tuple(str(row.glosses).split()),
                words=tuple(
                    Word(gloss=str(word.word), first=int(word.startframe), last=int(word.endframe))
                    for word in words[words["video"] == video].itertuples()
                ),
            )
        )
    return sentences


def _table(path: Path, numbers: set[str], texts: Collection[str] = (), *, separator: str = ",") -> pd.DataFrame:
    """A table with these columns of numbers, and these of text; ValueError where the file holds none."""
    try:
        table = pd.read_csv(path, sep=separator)
    except (ValueError, OSError, OverflowError) as error:
        raise ValueError(f"{path.name} is no table of text: columns {', '.join(sorted({*numbers, *texts}))} are right") from error
    if missing := {*numbers, *texts} - set(table.columns):
        raise ValueError(f"{path.name} lacks the columns {', '.join(sorted(missing))}")
    for name in sorted(numbers):
        column = pd.to_numeric(table[name], errors="coerce")
        if not np.isfinite(column.to_numpy(dtype=np.float64)).all():
            raise ValueError(f"{path.name} has a {name} that is no number")
    return table


def about_the_nose(tracks: NDArray[np.float32]) -> NDArray[np.float32]:
    """(T, 6) -> (T, 4): positions of both hands relative to the nose's median, which the tracker's jitter does not move."""
    return tracks[:, :4] - np.tile(np.median(tracks[:, 4:6], axis=0), 2)


def fit_scales(sentences: Iterable[TrackSentence]) -> dict[str, Scale]:
    """One scale per signer, and the pooled one for any other."""
    by_speaker: dict[str, list[NDArray[np.float32]]] = {}
    for sentence in sentences:
        hands = about_the_nose(sentence.tracks)
        for speaker in (sentence.speaker, POOLED):
            by_speaker.setdefault(speaker, []).append(hands)
    return {speaker: _scale(np.concatenate(hands)) for speaker, hands in sorted(by_speaker.items())}


def _scale(hands: NDArray[np.float32]) -> Scale:
    return Scale(mean=tuple(hands.mean(axis=0).round(3).tolist()), std=tuple(hands.std(axis=0).round(3).tolist()))


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


def frame_labels(words: Sequence[Word], length: int) -> list[str | None]:
    """The gloss that each of a sentence's frames belongs to, None between glosses."""
    labels: list[str | None] = [None] * length
    for word in words:
        for frame in range(max(0, word.first), min(length, word.last + 1)):
            labels[frame] = word.gloss
    return labels
