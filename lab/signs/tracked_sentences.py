"""Tracked sentences to learn from: RWTH-BOSTON-104's files, the signers' scales, and the gloss of each frame."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.signs.tracks import COLUMNS, POOLED, Scale, TrackSentence, Word, about_the_nose
from core.signs.vocabulary import Vocabulary

SPLITS = ("train", "test")


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


def frame_labels(words: Sequence[Word], length: int) -> list[str | None]:
    """The gloss that each of a sentence's frames belongs to, None between glosses."""
    labels: list[str | None] = [None] * length
    for word in words:
        for frame in range(max(0, word.first), min(length, word.last + 1)):
            labels[frame] = word.gloss
    return labels


def of_sentences(sentences: Iterable[Sequence[str]]) -> Vocabulary:
    """The vocabulary of some sentences, in alphabetical order."""
    return Vocabulary(tuple(sorted({gloss for sentence in sentences for gloss in sentence})))
