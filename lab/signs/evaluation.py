"""Scores a recogniser by its WER over tracked sentences, or over clips put together from photos; fits its least probability."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from core.signs.decoding import gloss_spans, greedy
from core.signs.edits import alignment, word_error_rate
from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition
from core.signs.tracks import TrackSentence
from lab.signs.clips import BETWEEN, SCORING, SEED, SENTENCES, Variety, make_clips
from lab.signs.photo_set import PhotoSet, separate
from lab.signs.render import Studio

Progress = Callable[[int, int], None]
"""Called after each sentence with how many are done and how many there are."""


@dataclass(frozen=True)
class Result:
    """All sentences of an evaluation: the references, the answers, and the best paths' with doubtful glosses left in."""

    references: list[tuple[str, ...]]
    answers: list[tuple[str, ...]]
    best: list[tuple[str, ...]]

    def summary(self) -> dict[str, float | int]:
        """samples, wer, wer_best_path (doubtful glosses left in), sentences, words, and the number of each edit."""
        pairs = list(zip(self.references, self.answers, strict=True))
        edits = [step.operation for pair in pairs for step in alignment(*pair)]
        return {
            "samples": len(pairs),
            "wer": round(word_error_rate(self.references, self.answers), 6),
            "wer_best_path": round(word_error_rate(self.references, self.best), 6),
            "sentences": len(pairs),
            "words": sum(map(len, self.references)),
            "substitutions": edits.count("substitution"),
            "deletions": edits.count("deletion"),
            "insertions": edits.count("insertion"),
            "sentences_right": sum(reference == answer for reference, answer in pairs),
        }

    def unseen(self, seen: Collection[str]) -> dict[str, float | int | None]:
        """unseen_sentences, those that are none of `seen`, and wer_unseen over them, None without any."""
        new = [pair for pair in zip(self.references, self.answers, strict=True) if " ".join(pair[0]) not in seen]
        rate = round(word_error_rate(*zip(*new, strict=True)), 6) if new else None
        return {"unseen_sentences": len(new), "wer_unseen": rate}


def evaluate_tracks(
    recogniser: Recogniser, sentences: Sequence[TrackSentence], *, progress: Progress = lambda done, total: None
) -> Result:
    """Score greedy decoding of tracked sentences, without a language model."""
    read = ((one.glosses, recogniser.answer(one.tracks, speaker=one.speaker, attention=False)) for one in sentences)
    return _result(recogniser, read, lambda done: progress(done, len(sentences)))


def evaluate_photos(
    recogniser: Recogniser,
    photos: PhotoSet,
    *,
    count: int = SENTENCES,
    variety: Variety = SCORING,
    progress: Progress = lambda done, total: None,
) -> Result:
    """Score greedy decoding of synthetic sentences of real photos: clips put together from them with a seed."""
    studio = Studio(photos, separate(photos.images), size=recogniser.image_size)
    clips = make_clips(studio, count, seed=SEED, variety=variety)
    read = ((tuple(map(str, clip.digits)), recogniser.answer(clip.frames, attention=False)) for clip in clips)
    return _result(recogniser, read, lambda done: progress(done, count))


def _result(
    recogniser: Recogniser, read: Iterable[tuple[tuple[str, ...], Recognition]], progress: Callable[[int], None]
) -> Result:
    """Sentences as they were read, each beside its reference."""
    found = Result([], [], [])
    for reference, recognition in read:
        found.references.append(reference)
        found.answers.append(recognition.greedy)
        found.best.append(tuple(recogniser.vocabulary.decode(greedy(recognition.log_probabilities))))
        progress(len(found.references))
    return found


def fit_least_probability(recogniser: Recogniser, photos: PhotoSet, *, count: int) -> float:
    """The largest multiple of 0.1 that 99 % of the rightly read glosses reach at their peak, 0 for none.

    Args:
        photos: of signers that the model did not learn from. count: clips put together of them.
    """
    studio = Studio(photos, separate(photos.images), size=recogniser.image_size)
    probabilities = []
    for clip in make_clips(studio, count, seed=SEED + 1, variety=SCORING):
        spans = gloss_spans(recogniser.log_probabilities(clip.frames))
        right = recogniser.vocabulary.encode([str(digit) for digit in range(10)])
        probabilities += [
            span.probability
            for span in spans
            if clip.labels[span.peak] != BETWEEN and right[clip.labels[span.peak]] == span.label
        ]
    if not probabilities:
        return 0.0
    passing = [step / 10 for step in range(10) if np.mean(np.array(probabilities) >= step / 10) >= 0.99]
    return max(passing)
