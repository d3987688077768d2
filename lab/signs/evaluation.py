"""Scores a recogniser by its WER over tracked sentences, or over clips put together from photos; fits its least probability."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.signs.decoding import gloss_spans, greedy
from core.signs.edits import alignment, word_error_rate
from core.signs.recogniser import Recogniser
from core.signs.tracks import TrackSentence
from lab.signs.clips import BETWEEN, SCORING, SEED, SENTENCES, Variety, make_clips, make_empty_clips
from lab.signs.photo_set import PhotoSet, separate
from lab.signs.render import Studio

Progress = Callable[[int, int], None]
"""Called after each sentence with how many are done and how many there are."""


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One sentence: the reference, the recogniser's answer, and the best path's sentence with doubtful glosses left in."""

    name: str
    reference: tuple[str, ...]
    hypothesis: tuple[str, ...]
    best_path: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Result:
    """All sentences of an evaluation."""

    sentences: tuple[Scored, ...]

    @property
    def wer(self) -> float:
        """Corpus-level word error rate (D20a)."""
        return self.wer_of(self.sentences)

    @staticmethod
    def wer_of(sentences: Sequence[Scored]) -> float:
        """The same over some of the sentences."""
        return word_error_rate([one.reference for one in sentences], [one.hypothesis for one in sentences])

    def summary(self) -> dict[str, float | int]:
        """samples, wer, wer_best_path (doubtful glosses left in), sentences, words, and the number of each edit."""
        edits = [step.operation for one in self.sentences for step in alignment(one.reference, one.hypothesis)]
        return {
            "samples": len(self.sentences),
            "wer": round(self.wer, 6),
            "wer_best_path": round(
                word_error_rate([one.reference for one in self.sentences], [one.best_path for one in self.sentences]), 6
            ),
            "sentences": len(self.sentences),
            "words": sum(len(one.reference) for one in self.sentences),
            "substitutions": edits.count("substitution"),
            "deletions": edits.count("deletion"),
            "insertions": edits.count("insertion"),
            "sentences_right": sum(one.reference == one.hypothesis for one in self.sentences),
        }

    def unseen(self, seen: Collection[str]) -> list[Scored]:
        """The sentences that are none of `seen`."""
        return [one for one in self.sentences if " ".join(one.reference) not in seen]


def _no_progress(done: int, total: int) -> None:
    return None


def evaluate_tracks(recogniser: Recogniser, sentences: Iterable[TrackSentence], *, progress: Progress = _no_progress) -> Result:
    """Score greedy decoding of tracked sentences, without a language model."""
    whole = list(sentences)
    scored = []
    for place, sentence in enumerate(whole, start=1):
        log_probabilities = recogniser.log_probabilities(sentence.tracks, speaker=sentence.speaker)
        scored.append(_scored(recogniser, str(sentence.video), sentence.glosses, log_probabilities))
        progress(place, len(whole))
    return Result(sentences=tuple(scored))


def evaluate_photos(
    recogniser: Recogniser,
    photos: PhotoSet,
    *,
    count: int = SENTENCES,
    seed: int = SEED,
    variety: Variety = SCORING,
    scenes: NDArray[np.float32] | None = None,
    progress: Progress = _no_progress,
) -> Result:
    """Score greedy decoding of synthetic sentences of real photos: clips put together from them with a seed.

    Args:
        scenes: (n, S, S, 3) 0 to 1, what the variety's replaced walls give way to.
    """
    studio = Studio(photos, separate(photos.images), size=recogniser.image_size, scenes=scenes)
    scored = []
    for place, clip in enumerate(make_clips(studio, count, seed=seed, variety=variety), start=1):
        reference = tuple(str(digit) for digit in clip.digits)
        scored.append(
            _scored(recogniser, f"{place} (signer {clip.signer})", reference, recogniser.log_probabilities(clip.frames))
        )
        progress(place, count)
    return Result(sentences=tuple(scored))


def evaluate_empty(
    recogniser: Recogniser, scenes: NDArray[np.float32], *, count: int = 30, seed: int = SEED, progress: Progress = _no_progress
) -> dict[str, int]:
    """Glosses glosses of films that show no hand: how many films, how many of them got a gloss, and how many glosses in all."""
    glosses = []
    for place, frames in enumerate(make_empty_clips(scenes, count, seed=seed), start=1):
        glosses.append(len(recogniser.greedy(recogniser.log_probabilities(frames))))
        progress(place, count)
    return {"samples": count, "films_with_gloss": sum(map(bool, glosses)), "glosses": sum(glosses)}


def _scored(recogniser: Recogniser, name: str, reference: tuple[str, ...], log_probabilities: NDArray[np.floating]) -> Scored:
    return Scored(
        name=name,
        reference=reference,
        hypothesis=tuple(recogniser.greedy(log_probabilities)),
        best_path=tuple(recogniser.vocabulary.decode(greedy(log_probabilities))),
    )


def fit_least_probability(
    recogniser: Recogniser, photos: PhotoSet, *, kept: float = 0.99, count: int = 200, seed: int = SEED + 1
) -> float:
    """The largest multiple of 0.1 that a share `kept` of the rightly read glosses reaches at its peak, 0 for none.

    Args:
        photos: of signers that the model did not learn from. count: clips put together of them.
    """
    studio = Studio(photos, separate(photos.images), size=recogniser.image_size)
    probabilities = []
    for clip in make_clips(studio, count, seed=seed):
        spans = gloss_spans(recogniser.log_probabilities(clip.frames))
        right = recogniser.vocabulary.encode([str(digit) for digit in range(10)])
        probabilities += [
            span.probability
            for span in spans
            if clip.labels[span.peak] != BETWEEN and right[clip.labels[span.peak]] == span.label
        ]
    if not probabilities:
        return 0.0
    passing = [step / 10 for step in range(10) if np.mean(np.array(probabilities) >= step / 10) >= kept]
    return max(passing)
